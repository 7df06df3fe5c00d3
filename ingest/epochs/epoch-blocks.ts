import type { BeaconBlock, BeaconChain, FinalChain } from '../../infra/ports/beacon-source.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { CreditedDeposit, Slashing, Withdrawal } from '../../schemas/events/balance-effects.ts'
import type { FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import { creditedToNewValidator, type HandledDeposit, handledDeposits, toCreditedDeposit } from './credited-deposits.ts'
import { NOT_ASKED, toText } from './proposer-rewards.ts'
import { missingRow } from './registry-rows.ts'
import { forkEpoch, slashingPenaltyQuotient } from './spec.ts'
import type { TrackedSet } from './tracked-validators.ts'

/** What an epoch's parts are made from. */
export interface EpochInput {
  /** What is final by the checkpoint of the run. */
  readonly final: FinalChain
  readonly chain: BeaconChain
  readonly epoch: number
  readonly tracked: TrackedSet
}

/** What names a block, as events have it. */
export function namedBlock(block: BeaconBlock) {
  const { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber, feeRecipient } = block
  return { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber, feeRecipient }
}

/** The epoch's blocks; what the proposer earned is asked for tracked proposers only, and unknown (null) of the others. */
export async function finalizedBlocks(
  { final }: EpochInput,
  blocks: readonly BeaconBlock[],
  isTracked: (index: number) => boolean,
): Promise<readonly FinalizedBlock[]> {
  return Promise.all(
    blocks.map(async (block) => {
      const isOwn = isTracked(block.proposerIndex)
      return { ...namedBlock(block), ...(isOwn ? toText(await final.proposerReward(block.root)) : NOT_ASKED) }
    }),
  )
}

export function trackedWithdrawals(
  blocks: readonly BeaconBlock[],
  isTracked: (index: number) => boolean,
): Withdrawal[] {
  return blocks.flatMap(({ slot, withdrawals }) =>
    withdrawals
      .filter(({ validatorIndex }) => isTracked(validatorIndex))
      .map(({ index, validatorIndex, amountGwei }) => ({
        slot,
        index,
        validatorIndex,
        amountGwei: String(amountGwei),
      })),
  )
}

/** Tracked validators that the blocks slashed: those of the accused whom the block's state change has marked. */
export async function trackedSlashings(
  { final, chain, epoch }: EpochInput,
  blocks: readonly BeaconBlock[],
  isTracked: (index: number) => boolean,
): Promise<Slashing[]> {
  const penaltyQuotient = slashingPenaltyQuotient(chain.spec, epoch)
  const found: Slashing[] = []
  for (const { slot, accusedIndices } of blocks) {
    const accused = Uint32Array.from(accusedIndices.filter(isTracked))
    if (accused.length === 0) continue
    const [before, after] = await Promise.all([final.validators(slot - 1, accused), final.validators(slot, accused)])
    accused.forEach((validatorIndex, i) => {
      if (after.validatorIndex[i] !== validatorIndex) throw missingRow(`validators after slot ${slot}`, validatorIndex)
      if (after.slashed[i] !== 1 || before.slashed[i] === 1) return
      // The effective balance changes only between epochs: the block's is that of its post-state.
      const effectiveBalanceGwei = (BigInt(after.effectiveBalanceEth[i] as number) * 1_000_000_000n).toString()
      found.push({ slot, validatorIndex, effectiveBalanceGwei, penaltyQuotient })
    })
  }
  return found
}

/** Deposits to tracked validators that the transition into the epoch credited. */
export async function creditedDeposits(
  { final, chain, epoch, tracked }: EpochInput,
  blocks: readonly BeaconBlock[],
): Promise<CreditedDeposit[]> {
  // The queue exists since Electra; the upgrade itself credits nothing.
  if (epoch === 0 || epoch - 1 < forkEpoch(chain.spec, 'ELECTRA') || tracked.pubkeys.size === 0) return []
  const slot = firstSlotOfEpoch(chain.clock, epoch)
  const queue = await final.pendingDeposits(slot - 1)
  if (!queue.some(({ pubkey }) => tracked.pubkeys.has(pubkey))) return []
  const handled = handledDeposits(queue, await final.pendingDeposits(slot))
  const byIndex = new Map<number, HandledDeposit[]>()
  for (const entry of handled) {
    const index = tracked.pubkeys.indexOf(entry.deposit.pubkey)
    if (index !== undefined) byIndex.set(index, [...(byIndex.get(index) ?? []), entry])
  }
  const indices = Uint32Array.from(byIndex.keys()).sort()
  if (indices.length === 0) return []
  const [before, after] = await Promise.all([final.balances(slot - 1, indices), final.balances(slot, indices)])
  return [...indices].flatMap((index, i) => {
    const entries = byIndex.get(index) ?? []
    if (before.validatorIndex[i] === index) return entries.map((entry) => toCreditedDeposit(entry, index, slot))
    if (after.validatorIndex[i] !== index) return [] // still unknown: its deposit was dropped for a bad signature
    const firstBalanceGwei = (after.balanceGwei[i] as bigint) + withdrawnIn(blocks, slot, index)
    return creditedToNewValidator(entries, firstBalanceGwei).map((entry) => toCreditedDeposit(entry, index, slot))
  })
}

/** What the block of the slot has withdrawn from the validator, gwei. */
function withdrawnIn(blocks: readonly BeaconBlock[], slot: number, validatorIndex: number): bigint {
  const withdrawals = blocks.find((block) => block.slot === slot)?.withdrawals ?? []
  return withdrawals
    .filter((withdrawal) => withdrawal.validatorIndex === validatorIndex)
    .reduce((sum, { amountGwei }) => sum + amountGwei, 0n)
}
