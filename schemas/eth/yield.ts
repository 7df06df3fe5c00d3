import type { ChainClock } from './time.ts'
import type { Gwei } from './units.ts'

/** A yearly yield in hundredths of a percent, rounded half up: 277n is 2.77 %. */
export type BasisPoints = bigint

/** 365.25 days. */
const YEAR_SEC = 31_557_600n
const DAY_SEC = 86_400n
const BASIS_POINTS = 10_000n

/** `income` of `base`, both of one unit and in `periodSec` seconds, as a yearly yield. `base` is above 0. */
function annualised(income: bigint, base: bigint, periodSec: bigint): BasisPoints {
  return dividedHalfUp(income * YEAR_SEC * BASIS_POINTS, base * periodSec)
}

/** What validators earned on days, on what was staked: both sums over validators and days. */
export function measuredYield(income: bigint, stakedOverDays: bigint): BasisPoints {
  return annualised(income, stakedOverDays, DAY_SEC)
}

/** Of the 64 parts of a base reward those for timely votes of source, target and head; sync committees get 2, proposals 8. */
const VOTES_WEIGHT = 54n
const ALL_WEIGHTS = 64n

/**
 * The yield of a validator that does every duty, with its share of sync committees and proposals, by what one that voted in time for all
 * was paid for an epoch. Votes are paid by how many others vote, so this is what the chain pays at the moment.
 * ethereum/consensus-specs:specs/altair/beacon-chain.md (incentivization weights, get_flag_index_deltas).
 */
export function dutiesYield(
  { secondsPerSlot, slotsPerEpoch }: Pick<ChainClock, 'secondsPerSlot' | 'slotsPerEpoch'>,
  voter: { readonly rewardGwei: Gwei; readonly effectiveBalanceGwei: Gwei },
): BasisPoints {
  const epochSec = BigInt(secondsPerSlot * slotsPerEpoch)
  return annualised(voter.rewardGwei * ALL_WEIGHTS, voter.effectiveBalanceGwei * VOTES_WEIGHT, epochSec)
}

/** "2.77%" */
export function formatYield(points: BasisPoints): string {
  const digits = (points < 0n ? -points : points).toString().padStart(3, '0')
  return `${points < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}%`
}

function dividedHalfUp(numerator: bigint, denominator: bigint): bigint {
  const doubled = 2n * numerator + denominator
  const quotient = doubled / (2n * denominator)
  // Division of bigints cuts towards zero.
  return doubled < 0n && doubled % (2n * denominator) !== 0n ? quotient - 1n : quotient
}
