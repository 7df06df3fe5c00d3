import type { FinalChain, ProposerReward } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import type { EpochInput } from './epoch-blocks.ts'
import { positionIn } from './registry-rows.ts'
import { proposerGwei, type ToldFigures } from './told-residuals.ts'

/** What a proposer has earned is asked so often more where it does not explain the balance. */
const ASKED_AGAIN = 2

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

/** The epoch's blocks as they were told, and of each validator what is left of the change of its balance without them. */
export interface ToldProposals extends ToldFigures {
  readonly blocks: readonly FinalizedBlock[]
  /** As `unexplainedChanges` tells it. */
  readonly changes: BigInt64Array
}

/**
 * The epoch's blocks, with what their proposers earned asked again where it does not explain how the proposer's balance changed:
 * nothing commits to a reward. What stays unexplained is taken and told, since a consolidation changes a balance too; `verify` shows it.
 * Throws AppErrors of node faults.
 */
export async function provenBlocks(
  { final, epoch }: Pick<EpochInput, 'final' | 'epoch'>,
  figures: ToldProposals,
  log: Log,
): Promise<readonly FinalizedBlock[]> {
  const { validatorIndex } = figures.states
  const changes = new Map<number, bigint>()
  for (const proposer of provableProposers(figures)) {
    const at = positionIn(validatorIndex, proposer)
    if (at !== undefined) changes.set(proposer, figures.changes[at] as bigint)
  }
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
function provableProposers({ blocks, states, effects }: ToldProposals): ReadonlySet<number> {
  const proposers = new Set(
    blocks.filter((block) => block.attestationsGwei !== null).map((block) => block.proposerIndex),
  )
  for (const index of proposers) {
    const at = positionIn(states.validatorIndex, index)
    if (at !== undefined && states.slashed[at] === 1) proposers.delete(index)
  }
  for (const { validatorIndex, kind } of effects) if (kind === 'returned_from_queue') proposers.delete(validatorIndex)
  return proposers
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
