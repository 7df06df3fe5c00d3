import type { BeaconBlock, SyncRewards, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { EpochBlocksColumns, FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import type { EpochInput } from './epoch-blocks.ts'
import { missingRow, positionIn } from './registry-rows.ts'
import { proposerGwei } from './told-residuals.ts'

/**
 * No seat earns or loses more than this in a block, gwei: the participant reward is sqrt(total active balance in gwei) / 8192
 * on mainnet's preset, 42,400 if every ether there is were staked.
 */
const SEAT_REWARD_MAX_GWEI = 50_000n
/**
 * No member earns or loses more than this in a block of whatever preset, gwei: what all seats together get of an epoch is
 * 2 x sqrt(total active balance in gwei), which is less if every ether there is were staked. Some nodes have told balances.
 */
const MEMBER_REWARD_MAX_GWEI = 1_000_000_000n

/** Members of a sync committee that are tracked. */
export interface TrackedMembers {
  /** Ascending; the same array for a period, as sources keep what they make of it. */
  readonly indices: Uint32Array
  /** Positions in the committee by validator: a validator may have several seats. */
  readonly seats: ReadonlyMap<number, readonly number[]>
}

/** The tracked members of a committee, given as a validator per seat. */
export function trackedMembers(committee: Uint32Array, tracked: ReadonlySet<number>): TrackedMembers {
  const seats = new Map<number, number[]>()
  committee.forEach((index, seat) => {
    if (!tracked.has(index)) return
    const own = seats.get(index)
    if (own === undefined) seats.set(index, [seat])
    else own.push(seat)
  })
  return { indices: Uint32Array.from(seats.keys()).sort(), seats }
}

interface SyncInput extends EpochInput {
  readonly blocks: readonly BeaconBlock[]
  readonly members: TrackedMembers
  readonly states: Promise<ValidatorStates>
  readonly rewarded: Promise<readonly FinalizedBlock[]>
}

/**
 * Sync committee rewards of the tracked members in the epoch's blocks (consensus-specs, altair: process_sync_aggregate). A seat
 * that signed gains the participant reward, one that did not loses as much; the reward follows from the total active balance,
 * which changes between epochs only. So one block's rewards tell those of all, by the bits of their aggregates.
 * A balance stops at zero: where a member's may have come near it, every block is asked about.
 * Throws AppErrors of node faults; `node_malformed` when the rewards asked for do not follow from the bits.
 */
export async function syncColumns(input: SyncInput): Promise<EpochBlocksColumns> {
  const { final, blocks, members, states, rewarded } = input
  const nets = blocks.map((block) => netSeats(block, members))
  const telling = nets.findIndex((net) => net.some((seats) => seats !== 0))
  if (members.indices.length === 0) return toColumns(input, [])
  if (isAnyScarce(await states, await rewarded, members)) return toColumns(input, await rewardsOfEveryBlock(input))
  // Without a telling block every member's seats cancel out in all of them.
  const rewardGwei =
    telling === -1
      ? 0n
      : participantReward(
          await final.syncRewards((blocks[telling] as BeaconBlock).root, members.indices),
          members,
          nets[telling] as readonly number[],
        )
  if (rewardGwei > SEAT_REWARD_MAX_GWEI) return toColumns(input, await rewardsOfEveryBlock(input))
  return toColumns(
    input,
    nets.map((net) => computed(members, net, rewardGwei)),
  )
}

/** By member: seats that signed less seats that did not. */
function netSeats({ slot, syncBits }: BeaconBlock, { indices, seats }: TrackedMembers): readonly number[] {
  const nets: number[] = []
  for (const index of indices) {
    let net = 0
    for (const seat of seats.get(index) ?? []) {
      const byte = syncBits[seat >> 3]
      if (byte === undefined) {
        throw new AppError(
          'node_inconsistent',
          `the block of slot ${slot} has fewer sync bits than the committee has seats`,
        )
      }
      net += (byte & (1 << (seat & 7))) === 0 ? -1 : 1
    }
    nets.push(net)
  }
  return nets
}

/**
 * Whether a member's balance may have been too small, at some block of the epoch, for what it had to lose there. Within an
 * epoch it only grows by proposals and by the committee itself, so it never was smaller than at the end less all of that.
 * (Before Electra a deposit in a block could lift it too: a member that was topped up from nothing shows as a residual.)
 */
function isAnyScarce(
  { validatorIndex, balanceGwei }: ValidatorStates,
  blocks: readonly FinalizedBlock[],
  { seats }: TrackedMembers,
): boolean {
  const proposedGwei = new Map<number, bigint>()
  for (const block of blocks) {
    if (!seats.has(block.proposerIndex)) continue
    const before = proposedGwei.get(block.proposerIndex) ?? 0n
    proposedGwei.set(block.proposerIndex, before + proposerGwei(block))
  }
  const seatGwei = BigInt(blocks.length + 1) * SEAT_REWARD_MAX_GWEI
  return [...seats].some(([index, own]) => {
    const at = positionIn(validatorIndex, index)
    const gwei = at === undefined ? 0n : (balanceGwei[at] as bigint)
    return gwei < BigInt(own.length) * seatGwei + (proposedGwei.get(index) ?? 0n)
  })
}

/** What a seat earns, from one block's rewards, each of which must follow from the bits. Nodes may leave zeros out. */
function participantReward(rows: SyncRewards, { indices }: TrackedMembers, net: readonly number[]): bigint {
  const given = new Map(Array.from(rows.validatorIndex, (index, i) => [index, rows.syncGwei[i] as bigint]))
  const first = net.findIndex((seats) => seats !== 0)
  const firstGwei = given.get(indices[first] as number)
  if (firstGwei === undefined) throw missingRow('sync committee rewards', indices[first] as number)
  const rewardGwei = firstGwei / BigInt(net[first] as number)
  indices.forEach((index, i) => {
    const seats = net[i] as number
    const gwei = given.get(index)
    if (gwei === undefined && seats !== 0) throw missingRow('sync committee rewards', index)
    if (rewardGwei >= 0n && (gwei ?? 0n) === BigInt(seats) * rewardGwei) return
    throw new AppError(
      'node_malformed',
      `the sync committee reward of validator ${index} does not follow from its seats`,
      {
        retryable: true,
      },
    )
  })
  return rewardGwei
}

function computed({ indices }: TrackedMembers, net: readonly number[], rewardGwei: bigint): SyncRewards {
  const syncGwei = new BigInt64Array(net.length)
  net.forEach((seats, i) => {
    syncGwei[i] = BigInt(seats) * rewardGwei
  })
  return { validatorIndex: indices, syncGwei }
}

/**
 * What the node says of every block. A member without a row is malformed, unless its reward can be zero: some nodes leave
 * those out. It can with several seats, which may cancel out, and with an empty balance, which cannot lose more.
 */
async function rewardsOfEveryBlock({ final, blocks, members, states }: SyncInput): Promise<readonly SyncRewards[]> {
  const rewards = await Promise.all(blocks.map((block) => final.syncRewards(block.root, members.indices)))
  const { validatorIndex, balanceGwei } = await states
  const empty = new Set(validatorIndex.filter((_, i) => balanceGwei[i] === 0n))
  for (const reward of rewards) {
    refuseBalances(reward)
    if (reward.validatorIndex.length === members.indices.length) continue
    const known = new Set(reward.validatorIndex)
    for (const [index, seats] of members.seats) {
      if (!known.has(index) && seats.length === 1 && !empty.has(index))
        throw missingRow('sync committee rewards', index)
    }
  }
  return rewards
}

function refuseBalances({ validatorIndex, syncGwei }: SyncRewards): void {
  const at = syncGwei.findIndex((gwei) => gwei > MEMBER_REWARD_MAX_GWEI || gwei < -MEMBER_REWARD_MAX_GWEI)
  if (at === -1) return
  throw new AppError(
    'node_malformed',
    `the sync committee reward of validator ${validatorIndex[at]} is ${syncGwei[at]} gwei, which none is`,
    { retryable: true },
  )
}

/** Rows of the blocks' rewards one after the other; no rewards at all are no rows. */
function toColumns({ chain, epoch, blocks }: SyncInput, rewards: readonly SyncRewards[]): EpochBlocksColumns {
  const rows = rewards.reduce((sum, { validatorIndex }) => sum + validatorIndex.length, 0)
  const columns = {
    slotOffset: new Uint8Array(rows),
    validatorIndex: new Uint32Array(rows),
    syncGwei: new BigInt64Array(rows),
  }
  const firstSlot = firstSlotOfEpoch(chain.clock, epoch)
  let at = 0
  rewards.forEach(({ validatorIndex, syncGwei }, i) => {
    columns.slotOffset.fill((blocks[i] as BeaconBlock).slot - firstSlot, at, at + validatorIndex.length)
    columns.validatorIndex.set(validatorIndex, at)
    columns.syncGwei.set(syncGwei, at)
    at += validatorIndex.length
  })
  return columns
}
