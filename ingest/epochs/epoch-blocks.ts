import type {
  BeaconBlock,
  BeaconChain,
  BeaconSource,
  SyncRewards,
  ValidatorStates,
} from '../../infra/ports/beacon-source.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type {
  CreditedDeposit,
  EpochBlocksColumns,
  FinalizedBlock,
  Slashing,
  Withdrawal,
} from '../../schemas/events/beacon-epoch.ts'
import { creditedToNewValidator, type HandledDeposit, handledDeposits, toCreditedDeposit } from './credited-deposits.ts'
import { missingRow } from './registry-rows.ts'
import { forkEpoch, slashingPenaltyQuotient } from './spec.ts'
import type { TrackedSet } from './tracked-validators.ts'

/** What an epoch's parts are made from. */
export interface EpochInput {
  readonly beacon: BeaconSource
  readonly chain: BeaconChain
  readonly epoch: number
  readonly tracked: TrackedSet
}

export async function finalizedBlocks(
  { beacon }: EpochInput,
  blocks: readonly BeaconBlock[],
): Promise<readonly FinalizedBlock[]> {
  return Promise.all(
    blocks.map(async (block) => {
      const reward = await beacon.proposerReward(block.root)
      const { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber, feeRecipient } = block
      return {
        slot,
        root,
        parentRoot,
        proposerIndex,
        executionBlockHash,
        executionBlockNumber,
        feeRecipient,
        attestationsGwei: reward.attestationsGwei.toString(),
        syncAggregateGwei: reward.syncAggregateGwei.toString(),
        proposerSlashingsGwei: reward.proposerSlashingsGwei.toString(),
        attesterSlashingsGwei: reward.attesterSlashingsGwei.toString(),
      }
    }),
  )
}

/** Members of a sync committee that are tracked. */
export interface TrackedMembers {
  /** Ascending; the same array for a period, as sources keep what they make of it. */
  readonly indices: Uint32Array
  readonly seats: ReadonlyMap<number, number>
}

/**
 * Sync committee rewards of the tracked members. A member without a row is malformed, unless its reward can be zero: some
 * nodes leave those out. It can with several seats, which may cancel out, and with an empty balance, which cannot lose more.
 */
export async function syncColumns(
  { beacon, chain, epoch }: EpochInput,
  blocks: readonly BeaconBlock[],
  members: TrackedMembers,
  states: Promise<ValidatorStates>,
): Promise<EpochBlocksColumns> {
  if (members.indices.length === 0) return joinSync([], 0)
  const rewards = await Promise.all(blocks.map((block) => beacon.syncRewards(block.root, members.indices)))
  const { validatorIndex, balanceGwei } = await states
  const empty = new Set(validatorIndex.filter((_, i) => balanceGwei[i] === 0n))
  for (const reward of rewards) {
    if (reward.validatorIndex.length === members.indices.length) continue
    const known = new Set(reward.validatorIndex)
    for (const [index, seats] of members.seats) {
      if (!known.has(index) && seats === 1 && !empty.has(index)) throw missingRow('sync committee rewards', index)
    }
  }
  const firstSlot = firstSlotOfEpoch(chain.clock, epoch)
  return joinSync(
    rewards.map((reward, i) => ({ reward, offset: (blocks[i] as BeaconBlock).slot - firstSlot })),
    rewards.reduce((sum, reward) => sum + reward.validatorIndex.length, 0),
  )
}

function joinSync(parts: readonly { reward: SyncRewards; offset: number }[], rows: number): EpochBlocksColumns {
  const columns = {
    slotOffset: new Uint8Array(rows),
    validatorIndex: new Uint32Array(rows),
    syncGwei: new BigInt64Array(rows),
  }
  let at = 0
  for (const { reward, offset } of parts) {
    columns.slotOffset.fill(offset, at, at + reward.validatorIndex.length)
    columns.validatorIndex.set(reward.validatorIndex, at)
    columns.syncGwei.set(reward.syncGwei, at)
    at += reward.validatorIndex.length
  }
  return columns
}

export function trackedWithdrawals(
  blocks: readonly BeaconBlock[],
  isTracked: (index: number) => boolean,
): Withdrawal[] {
  return blocks.flatMap(({ slot, withdrawals }) =>
    withdrawals
      .filter(({ validatorIndex }) => isTracked(validatorIndex))
      .map(({ amountGwei, ...withdrawal }) => ({ slot, ...withdrawal, amountGwei: amountGwei.toString() })),
  )
}

/** Tracked validators that the blocks slashed: those of the accused whom the block's state change has marked. */
export async function trackedSlashings(
  { beacon, chain, epoch }: EpochInput,
  blocks: readonly BeaconBlock[],
  isTracked: (index: number) => boolean,
): Promise<Slashing[]> {
  const penaltyQuotient = slashingPenaltyQuotient(chain.spec, epoch)
  const found: Slashing[] = []
  for (const { slot, accusedIndices } of blocks) {
    const accused = Uint32Array.from(accusedIndices.filter(isTracked))
    if (accused.length === 0) continue
    const [before, after] = await Promise.all([beacon.validators(slot - 1, accused), beacon.validators(slot, accused)])
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
  { beacon, chain, epoch, tracked }: EpochInput,
  blocks: readonly BeaconBlock[],
): Promise<CreditedDeposit[]> {
  // The queue exists since Electra; the upgrade itself credits nothing.
  if (epoch === 0 || epoch - 1 < forkEpoch(chain.spec, 'ELECTRA') || tracked.pubkeys.size === 0) return []
  const slot = firstSlotOfEpoch(chain.clock, epoch)
  const queue = await beacon.pendingDeposits(slot - 1)
  if (!queue.some(({ pubkey }) => tracked.pubkeys.has(pubkey))) return []
  const handled = handledDeposits(queue, await beacon.pendingDeposits(slot))
  const byIndex = new Map<number, HandledDeposit[]>()
  for (const entry of handled) {
    const index = tracked.pubkeys.has(entry.deposit.pubkey) ? tracked.indexOf.get(entry.deposit.pubkey) : undefined
    if (index !== undefined) byIndex.set(index, [...(byIndex.get(index) ?? []), entry])
  }
  const indices = Uint32Array.from(byIndex.keys()).sort()
  if (indices.length === 0) return []
  const [before, after] = await Promise.all([beacon.balances(slot - 1, indices), beacon.balances(slot, indices)])
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
