import { parseRate, type Rate, type Wei } from '../../schemas/eth/units.ts'
import { RATE_UNSET } from '../../schemas/tables/settlements.ts'

export interface FeeRate {
  readonly effectiveFromSec: number
  readonly rate: string
  readonly version: bigint
}

/**
 * The rate in force at an instant: the newest one that had begun. `versions` sums all rates of the account, so it grows with
 * every correction, whatever instant a block's row once said.
 */
export function rateAt(
  rates: readonly FeeRate[],
  unixSec: number,
): { readonly rate: string; readonly versions: bigint } {
  let newest: FeeRate | undefined
  let versions = 0n
  for (const rate of rates) {
    versions += rate.version
    if (rate.effectiveFromSec > unixSec) continue
    if (newest === undefined || rate.effectiveFromSec > newest.effectiveFromSec) newest = rate
  }
  return { rate: newest?.rate ?? RATE_UNSET, versions }
}

/** fee = floor(revenue * rate), user = revenue - fee: the two always sum to the revenue, to the wei. */
export function splitRevenue(
  revenueWei: Wei,
  rate: Rate,
): { readonly serviceFeeWei: Wei; readonly userRewardWei: Wei } {
  const serviceFeeWei = (revenueWei * rate.numerator) / rate.denominator
  return { serviceFeeWei, userRewardWei: revenueWei - serviceFeeWei }
}

/** Parses a rate that the log vouches for. */
export function knownRate(text: string): Rate {
  const rate = parseRate(text)
  if (rate === undefined) throw new Error(`fee rate ${text} in the warehouse is not a decimal fraction between 0 and 1`)
  return rate
}
