import type { ChainClock } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'

/** A year of 365.25 days. */
const YEAR_SEC = 31_557_600n
const PLACES = 8

/**
 * Reward over effective balance and time, as a rate of a year: decimal text with eight places, rounded toward zero.
 * `effectiveBalanceEpochsGwei` is the sum of effective balances over epochs in which they earned (docs/decisions/0056); undefined without any.
 */
export function formatApr(
  rewardWei: bigint,
  effectiveBalanceEpochsGwei: bigint,
  { secondsPerSlot, slotsPerEpoch }: Pick<ChainClock, 'secondsPerSlot' | 'slotsPerEpoch'>,
): string | undefined {
  if (effectiveBalanceEpochsGwei <= 0n) return undefined
  const capitalWeiSec = toWei(effectiveBalanceEpochsGwei) * BigInt(secondsPerSlot * slotsPerEpoch)
  return formatRatio(rewardWei * YEAR_SEC, capitalWeiSec, PLACES)
}

/** A fraction as decimal text with so many places, rounded toward zero. */
export function formatRatio(numerator: bigint, denominator: bigint, places: number): string {
  const scaled = (numerator * 10n ** BigInt(places)) / denominator
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, '0')
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`
}
