import type { FinalChain } from '../../infra/ports/beacon-source.ts'
import { type ChainClock, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { Joiners } from '../epochs/joiners.ts'
import { checkRegistryRows } from '../epochs/registry-rows.ts'
import type { LoggedEpochs } from './logged-epochs.ts'
import { unlessLacking } from './range-plan.ts'

interface Registry {
  readonly final: FinalChain
  readonly clock: ChainClock
  /** Of a state in which all validators are that are asked about. */
  readonly newestSlot: number
}

/**
 * Which of some epochs (ascending) lack nothing: at their end, the validators that the log has no rows of had not joined the registry. Indices are
 * given in order, so the lowest of them joins before the others. Where no node can tell, the epoch is not among them. A node is asked log2 of the
 * epochs times for each validator that is the lowest. Throws AppError `node_malformed` for an answer without a validator that must be in it.
 */
export async function epochsBeforeJoining(
  registry: Registry,
  { firstWithoutRow, stale }: Pick<LoggedEpochs, 'firstWithoutRow' | 'stale'>,
  epochsAscending: readonly number[],
): Promise<ReadonlySet<number>> {
  const found = new Set<number>()
  const fresh = epochsAscending.filter((epoch) => !stale.has(epoch))
  for (const [index, epochs] of Map.groupBy(fresh, firstWithoutRow)) {
    if (index === undefined) continue
    const joiners = new Joiners(Uint32Array.of(index), (set) => registry.final.validators(registry.newestSlot, set))
    let [before, behind] = [0, epochs.length]
    while (before < behind) {
      const middle = (before + behind) >>> 1
      if (await isBeforeJoining(registry, joiners, index, epochs[middle] as number)) before = middle + 1
      else behind = middle
    }
    for (const epoch of epochs.slice(0, before)) found.add(epoch)
  }
  return found
}

async function isBeforeJoining({ final, clock }: Registry, joiners: Joiners, index: number, epoch: number) {
  const slot = lastSlotOfEpoch(clock, epoch)
  const set = Uint32Array.of(index)
  const states = await unlessLacking(() => final.validators(slot, set))
  if (typeof states === 'string') return false
  const what = `validators of slot ${slot}`
  await checkRegistryRows(states, set, { what, slot, clock, eligibleSince: (from) => joiners.eligibleSince(from) })
  return states.validatorIndex.length === 0
}
