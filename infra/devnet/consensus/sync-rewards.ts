import type { BitArray } from '@chainsafe/ssz'
import { SYNC_COMMITTEE_SIZE } from '@lodestar/params'
import type { capella } from '@lodestar/types'
import type { SyncRewards } from './history.ts'

export interface SyncFacts {
  readonly bits: BitArray
  /** Validator index by position; a validator may have several. */
  readonly committee: Uint32Array
  /** Gwei per position and slot. */
  readonly rewardGwei: number
  /** Balances before the block. */
  readonly balances: { get(index: number): number }
  readonly withdrawals: readonly capella.Withdrawal[]
}

/** Members whose balance a whole committee's penalties could exhaust, with what they hold when the aggregate is applied. */
function scarceBalances(facts: SyncFacts): Map<number, number> {
  const withdrawn = new Map<number, number>()
  for (const { validatorIndex, amount } of facts.withdrawals)
    withdrawn.set(validatorIndex, (withdrawn.get(validatorIndex) ?? 0) + Number(amount))
  const scarce = new Map<number, number>()
  for (const member of facts.committee) {
    const balance = facts.balances.get(member) - (withdrawn.get(member) ?? 0)
    if (balance < SYNC_COMMITTEE_SIZE * facts.rewardGwei) scarce.set(member, balance)
  }
  return scarce
}

/**
 * The change of balance that one block's sync aggregate brings to each committee member, computed when asked for
 * (consensus-specs altair, process_sync_aggregate). A member that has been withdrawn while in the committee has nothing to lose:
 * its penalties stop at a balance of zero, which `computeSyncCommitteeRewards` of the state transition library does not see.
 */
export function syncRewardsOf(facts: SyncFacts): () => SyncRewards {
  const { bits, committee, rewardGwei } = facts
  const scarce = scarceBalances(facts)
  return () => {
    const rewards = new Map<number, number>()
    for (let i = 0; i < SYNC_COMMITTEE_SIZE; i++) {
      const member = committee[i] as number
      const before = rewards.get(member) ?? 0
      const change = bits.get(i) ? rewardGwei : -rewardGwei
      const floor = scarce.get(member)
      rewards.set(member, floor === undefined ? before + change : Math.max(-floor, before + change))
    }
    return rewards
  }
}
