import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rateAt, splitRevenue } from '../../processors/settlements/settlement.ts'
import { priorityFeesWei } from '../../schemas/eth/priority-fees.ts'
import { transactionColumns } from './execution-columns.ts'

const tips = (rows: readonly (readonly [gasUsed: bigint, priceWei: bigint, succeeded: 0 | 1])[], baseFeeWei: bigint) =>
  priorityFeesWei({
    header: { baseFeePerGasWei: baseFeeWei.toString() },
    columns: transactionColumns(
      rows.map(([gasUsed, priceWei, succeeded]) => ({ gasUsed, priceWei, succeeded: succeeded === 1 })),
    ),
  })

describe('tips', () => {
  it('count failed transactions as well', () => {
    expect(
      tips(
        [
          [21_000n, 3n, 1],
          [50_000n, 2n, 0],
        ],
        1n,
      ),
    ).toBe(21_000n * 2n + 50_000n)
  })

  it('of a block above 2^64 wei are exact', () => {
    const gas = 30_000_000n
    const price = 2n ** 64n + 18_000_000_000_000_000_000n
    expect(tips([[gas, price, 1]], 7n)).toBe(gas * (price - 7n))
  })

  it('are not lowered by what pays less than the base fee, as deposits of a layer above do', () => {
    expect(
      tips(
        [
          [21_000n, 9n, 1],
          [1_000_000n, 0n, 1],
        ],
        7n,
      ),
    ).toBe(42_000n)
  })

  it('of an empty block are zero', () => {
    expect(tips([], 5n)).toBe(0n)
  })
})

describe('settlement', () => {
  it('splits as in the published sample, to the wei', () => {
    const split = splitRevenue(19_723_733_185_782_400n, { numerator: 3n, denominator: 10n })
    expect(split).toEqual({ serviceFeeWei: 5_917_119_955_734_720n, userRewardWei: 13_806_613_230_047_680n })
  })

  it('preserves the sum for every revenue and rate, and rounds the fee down', () => {
    const wei = fc.bigInt({ min: 0n, max: 2n ** 200n })
    const rate = fc.bigInt({ min: 0n, max: 10n ** 18n })
    fc.assert(
      fc.property(wei, rate, (revenueWei, numerator) => {
        const { serviceFeeWei, userRewardWei } = splitRevenue(revenueWei, { numerator, denominator: 10n ** 18n })
        expect(serviceFeeWei + userRewardWei).toBe(revenueWei)
        expect(serviceFeeWei * 10n ** 18n <= revenueWei * numerator).toBe(true)
        expect((serviceFeeWei + 1n) * 10n ** 18n > revenueWei * numerator).toBe(true)
      }),
    )
  })

  it('uses the newest rate that had begun, and 0 before the first', () => {
    const rates = [
      { effectiveFromSec: 200, rate: '0.2', version: 7n },
      { effectiveFromSec: 100, rate: '0.1', version: 3n },
    ]
    expect(rateAt(rates, 99)).toEqual({ rate: '0', versions: 10n })
    expect(rateAt(rates, 100)).toEqual({ rate: '0.1', versions: 10n })
    expect(rateAt(rates, 500)).toEqual({ rate: '0.2', versions: 10n })
  })
})
