import type { BitArray } from '@chainsafe/ssz'
import { SYNC_COMMITTEE_SIZE } from '@lodestar/params'
import type { capella } from '@lodestar/types'
import type { SyncRewards } from './history.ts'

/** What a block's sync aggregate is worth, in gwei. */
export interface SyncWorth {
  /** Per seat of the committee. */
  readonly seatGwei: number
  /** Members whose balance a whole committee's penalties could exhaust, with what they hold when the aggregate is applied. */
  readonly scarce: ReadonlyMap<number, number>
}

export interface SyncFacts {
  /** Validator index by position; a validator may have several. */
  readonly committee: Uint32Array
  /** Gwei per position and slot. */
  readonly rewardGwei: number
  /** Balances before the block. */
  readonly balances: { get(index: number): number }
  readonly withdrawals: readonly capella.Withdrawal[]
}

/** What the aggregate of a block is worth, from the state before the block. */
export function syncWorthOf(facts: SyncFacts): SyncWorth {
  const { committee, rewardGwei, balances, withdrawals } = facts
  const withdrawn = new Map<number, number>()
  for (const { validatorIndex, amount } of withdrawals)
    withdrawn.set(validatorIndex, (withdrawn.get(validatorIndex) ?? 0) + Number(amount))
  const scarce = new Map<number, number>()
  for (const member of new Set(committee)) {
    const balance = balances.get(member) - (withdrawn.get(member) ?? 0)
    if (balance < SYNC_COMMITTEE_SIZE * rewardGwei) scarce.set(member, balance)
  }
  return { seatGwei: rewardGwei, scarce }
}

/**
 * The change of balance that one block's sync aggregate brings to each committee member (consensus-specs altair,
 * process_sync_aggregate). A member that has been withdrawn while in the committee has nothing to lose: its penalties stop at a
 * balance of zero, which `computeSyncCommitteeRewards` of the state transition library does not see.
 */
export function syncRewardsOf({ seatGwei, scarce }: SyncWorth, committee: Uint32Array, bits: BitArray): SyncRewards {
  const rewards = new Map<number, number>()
  for (let i = 0; i < SYNC_COMMITTEE_SIZE; i++) {
    const member = committee[i] as number
    const before = rewards.get(member) ?? 0
    const change = bits.get(i) ? seatGwei : -seatGwei
    const floor = scarce.get(member)
    rewards.set(member, floor === undefined ? before + change : Math.max(-floor, before + change))
  }
  return rewards
}
