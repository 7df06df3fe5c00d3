import type { FinalChain } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { type EpochRange, epochsOf, refuseUnfinal, stretchesOf } from './epoch-range.ts'
import { type HistoryOptions, openHistory } from './history.ts'
import { countUpTo, loggedEpochs } from './logged-epochs.ts'

/** Epochs side by side of which the log lacks something; those that can be read by different means are gaps of their own. */
export interface EpochGap extends EpochRange {
  /** At most so many of the tracked validators in one of them; undefined where the log has nothing of them, or cannot be read. */
  readonly lacking: number | undefined
  /** Whether the log has all of them as computed of states, or none. */
  readonly isComputed: boolean
}

/**
 * What the log lacks of the epochs of a range, or of those between the first and the last one that it has, for validators that are tracked:
 * from the epoch on in which each became active, or is told of. Without it nothing of a backfill is read. Throws as `backfill` does.
 */
export async function findGaps(
  options: HistoryOptions,
  range: EpochRange | undefined,
  signal: AbortSignal,
): Promise<{ readonly searched: EpochRange; readonly gaps: readonly EpochGap[] }> {
  const { chain, checkpoint, indices } = await openHistory(options, signal)
  if (range !== undefined) refuseUnfinal(range.toEpoch, checkpoint.epoch)
  const final = { fromEpoch: 0, toEpoch: checkpoint.epoch - 1 }
  const logged = await loggedEpochs({ ...options, clock: chain.clock, signal }, range ?? final, indices)
  const searched = range ?? logged.told
  if (searched === undefined) throw new AppError('usage', `The log has no epoch of ${options.chain} yet.`)
  // The log does not tell since when they are active.
  const untold = await activeSince(options.beacon.finalChain(checkpoint), {
    slot: firstSlotOfEpoch(chain.clock, checkpoint.epoch),
    indices: logged.untold,
  })
  const lackingIn = (epoch: number) => {
    const told = logged.stale.has(epoch) ? undefined : logged.lackingIn(epoch)
    return told === undefined ? undefined : told + countUpTo(untold, epoch)
  }
  const stretches = stretchesOf(epochsOf(searched).filter((epoch) => lackingIn(epoch) !== 0))
  const told = { lackingIn, isComputed: (epoch: number) => logged.computed.has(epoch) }
  const gaps = stretches.flatMap(({ from, to }) => gapsBetween(from, to, told))
  return { searched, gaps }
}

/** The epochs since which validators are active, ascending, by the registry of a state. */
async function activeSince(
  final: FinalChain,
  { slot, indices }: { readonly slot: number; readonly indices: Uint32Array },
): Promise<Float64Array> {
  if (indices.length === 0) return new Float64Array()
  const { activationEpoch } = await final.validators(slot, indices)
  return Float64Array.from(activationEpoch, Number).sort()
}

interface Told {
  readonly lackingIn: (epoch: number) => number | undefined
  readonly isComputed: (epoch: number) => boolean
}

/** Of epochs that all lack something, those that lack everything apart from those that lack validators, and those that were computed from both. */
function gapsBetween(from: number, to: number, told: Told): readonly EpochGap[] {
  const gaps: EpochGap[] = []
  for (let epoch = from; epoch <= to; epoch++) {
    const lacking = told.lackingIn(epoch)
    const isComputed = told.isComputed(epoch)
    const last = gaps.at(-1)
    const isLike = last?.isComputed === isComputed && (last.lacking === undefined) === (lacking === undefined)
    if (last === undefined || !isLike) gaps.push({ fromEpoch: epoch, toEpoch: epoch, lacking, isComputed })
    else {
      const most = lacking === undefined ? undefined : Math.max(lacking, last.lacking ?? 0)
      gaps[gaps.length - 1] = { ...last, toEpoch: epoch, lacking: most }
    }
  }
  return gaps
}
