import type {
  AttestationRewards,
  FinalChain,
  ProposerReward,
  ValidatorStates,
} from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { EffectLists } from '../../schemas/events/balance-effects.ts'
import type { EpochBlocksColumns, EpochBlocksHeader, FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import type { EpochInput } from './epoch-blocks.ts'

/** What a proposer has earned is asked so often more where it does not explain the balance. */
const ASKED_AGAIN = 2

/** What an epoch did to balances. */
export interface EpochFigures extends Pick<EpochBlocksHeader, 'blocks'>, EffectLists {
  readonly states: ValidatorStates
  readonly attestations: AttestationRewards | undefined
  readonly sync: EpochBlocksColumns
}

/** Parts of a proposer's reward where nobody asked for them. */
export const NOT_ASKED = {
  attestationsGwei: null,
  syncAggregateGwei: null,
  proposerSlashingsGwei: null,
  attesterSlashingsGwei: null,
} as const

/** The parts of a proposer's reward as events have them. */
export function toText(reward: ProposerReward) {
  return {
    attestationsGwei: reward.attestationsGwei.toString(),
    syncAggregateGwei: reward.syncAggregateGwei.toString(),
    proposerSlashingsGwei: reward.proposerSlashingsGwei.toString(),
    attesterSlashingsGwei: reward.attesterSlashingsGwei.toString(),
  }
}

/** All that a proposer earned with a block, gwei. */
export function proposerGwei(block: FinalizedBlock): bigint {
  const { attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei } = block
  const parts = [attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei]
  return parts.reduce((sum, part) => sum + BigInt(part ?? 0), 0n)
}

/**
 * The epoch's blocks, with what their proposers earned asked again where it does not explain how the proposer's balance changed:
 * nothing commits to a reward, and one question about balances proves those of all proposers of the epoch. What stays unexplained
 * is taken and told, since a consolidation changes a balance too; `verify` shows it. Throws AppErrors of node faults.
 */
export async function provenBlocks(
  { final, chain, epoch }: EpochInput,
  figures: EpochFigures,
  log: Log,
): Promise<readonly FinalizedBlock[]> {
  const proposers = provableProposers(figures)
  if (proposers.length === 0) return figures.blocks
  // The state of slot 0 is that of the genesis: nobody has proposed it.
  const before = await final.balances(Math.max(0, firstSlotOfEpoch(chain.clock, epoch) - 1), proposers)
  const changes = new Map<number, bigint>()
  before.validatorIndex.forEach((index, i) => {
    const at = figures.states.validatorIndex.indexOf(index)
    const change = (figures.states.balanceGwei[at] ?? 0n) - (before.balanceGwei[i] as bigint)
    if (at !== -1) changes.set(index, change - knownGwei(figures, index))
  })
  let blocks: readonly FinalizedBlock[] = figures.blocks
  const wrong = unexplained(blocks, changes)
  let left = wrong
  for (let asked = 0; asked < ASKED_AGAIN && left.size > 0; asked++) {
    blocks = await askedAgain(final, blocks, left)
    left = unexplained(blocks, changes)
  }
  if (wrong.size === 0) return blocks
  const what = `what a node told of the rewards of ${wrong.size} proposers in epoch ${epoch} did not explain their balances: asked again`
  const [[index, gwei] = []] = left
  if (index === undefined) log.warn({ epoch }, what)
  else
    log.warn(
      { epoch },
      `${what}, and of ${left.size} it does not (validator ${index}: ${gwei} gwei), which \`epochline verify\` shows`,
    )
  return blocks
}

/** Tracked proposers that nothing else befell: of slashed validators the penalties of later epochs are not known here. */
function provableProposers({ blocks, states, deposits }: EpochFigures): Uint32Array {
  const proposers = new Set(
    blocks.filter((block) => block.attestationsGwei !== null).map((block) => block.proposerIndex),
  )
  states.validatorIndex.forEach((index, i) => {
    if (states.slashed[i] === 1) proposers.delete(index)
  })
  for (const { validatorIndex, kind } of deposits) if (kind === 'returned_from_queue') proposers.delete(validatorIndex)
  return Uint32Array.from(proposers).sort()
}

/** All that changed the validator's balance in the epoch besides its proposals, gwei. */
function knownGwei({ attestations, sync, withdrawals, deposits }: EpochFigures, index: number): bigint {
  let gwei = 0n
  const at = attestations?.validatorIndex.indexOf(index) ?? -1
  if (attestations !== undefined && at !== -1) {
    const { sourceGwei, targetGwei, headGwei, inactivityGwei } = attestations
    for (const part of [sourceGwei, targetGwei, headGwei, inactivityGwei]) gwei += part[at] as bigint
  }
  sync.validatorIndex.forEach((member, i) => {
    if (member === index) gwei += sync.syncGwei[i] as bigint
  })
  for (const { validatorIndex, amountGwei } of withdrawals) if (validatorIndex === index) gwei -= BigInt(amountGwei)
  for (const { validatorIndex, amountGwei } of deposits) if (validatorIndex === index) gwei += BigInt(amountGwei)
  return gwei
}

/** By proposer, what is left of the change of its balance, where something is. */
function unexplained(
  blocks: readonly FinalizedBlock[],
  changes: ReadonlyMap<number, bigint>,
): ReadonlyMap<number, bigint> {
  const left = new Map(changes)
  for (const block of blocks) {
    const gwei = left.get(block.proposerIndex)
    if (gwei !== undefined) left.set(block.proposerIndex, gwei - proposerGwei(block))
  }
  return new Map([...left].filter(([, gwei]) => gwei !== 0n))
}

function askedAgain(
  final: FinalChain,
  blocks: readonly FinalizedBlock[],
  proposers: ReadonlyMap<number, bigint>,
): Promise<readonly FinalizedBlock[]> {
  return Promise.all(
    blocks.map(async (block) => {
      return proposers.has(block.proposerIndex)
        ? { ...block, ...toText(await final.proposerReward(block.root)) }
        : block
    }),
  )
}
