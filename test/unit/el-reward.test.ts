import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { executionRevenue, priorityFeesWei } from '../../processors/rewards/el-reward.ts'
import { initialSlashingPenalty } from '../../processors/rewards/slashing.ts'
import { rateAt, splitRevenue } from '../../processors/settlements/settlement.ts'
import type { CoinbaseTransfer, ExecutionBlockHeader } from '../../schemas/events/execution-block.ts'

const BUILDER = `0x${'b1'.repeat(20)}`
const PROPOSER = `0x${'a1'.repeat(20)}`
const TIPS_WEI = 5_000n

const header = (coinbaseTransfers: readonly CoinbaseTransfer[], coinbase = BUILDER): ExecutionBlockHeader => ({
  number: 7,
  hash: `0x${'11'.repeat(32)}`,
  parentHash: `0x${'10'.repeat(32)}`,
  timestampSec: 1_700_000_000,
  coinbase,
  extraData: '0x',
  baseFeePerGasWei: '1000000000',
  gasUsed: 21_000,
  coinbaseTransfers: [...coinbaseTransfers],
  transferLogs: [],
})

const transfer = (overrides: Partial<CoinbaseTransfer>): CoinbaseTransfer => ({
  transactionIndex: 2,
  transactionHash: `0x${'22'.repeat(32)}`,
  to: PROPOSER,
  valueWei: '9000',
  succeeded: true,
  ...overrides,
})

const tips = (rows: readonly (readonly [gasUsed: bigint, priceWei: bigint, succeeded: 0 | 1])[], baseFeeWei: bigint) =>
  priorityFeesWei({
    header: { ...header([]), baseFeePerGasWei: baseFeeWei.toString() },
    columns: {
      type: Uint8Array.from(rows, () => 2),
      succeeded: Uint8Array.from(rows, ([, , succeeded]) => succeeded),
      gasUsed: BigUint64Array.from(rows, ([gasUsed]) => gasUsed),
      effectiveGasPriceWei: BigUint64Array.from(rows, ([, price]) => price),
    },
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
    const price = 18_000_000_000_000_000_000n
    expect(tips([[gas, price, 1]], 7n)).toBe(gas * (price - 7n))
  })

  it('of an empty block are zero', () => {
    expect(tips([], 5n)).toBe(0n)
  })
})

describe('execution revenue', () => {
  it('pays the proposer the value of the builder’s last transaction, never the tips as well', () => {
    expect(executionRevenue(header([transfer({})]), 3, TIPS_WEI)).toEqual({
      class: 'builder_payment',
      revenueWei: 9_000n,
      claimedWei: 9_000n,
      recipient: PROPOSER,
    })
  })

  it('leaves the tips to the coinbase of a block without a payment', () => {
    expect(executionRevenue(header([], PROPOSER), 3, TIPS_WEI)).toEqual({
      class: 'local',
      revenueWei: TIPS_WEI,
      claimedWei: TIPS_WEI,
      recipient: PROPOSER,
    })
  })

  it('takes a payment of 1 wei for what it is', () => {
    expect(executionRevenue(header([transfer({ valueWei: '1' })]), 3, TIPS_WEI).revenueWei).toBe(1n)
  })

  it('counts nothing for a payment that failed, and keeps what it claimed', () => {
    expect(executionRevenue(header([transfer({ succeeded: false })]), 3, TIPS_WEI)).toMatchObject({
      class: 'unexplained',
      revenueWei: 0n,
      claimedWei: 9_000n,
    })
  })

  it.each([
    ['is not the last transaction', transfer({ transactionIndex: 1 })],
    ['goes to the coinbase itself', transfer({ to: BUILDER })],
    ['creates a contract', transfer({ to: null })],
    ['has no value', transfer({ valueWei: '0' })],
  ])('is local when the coinbase’s transfer %s', (_, only) => {
    expect(executionRevenue(header([only]), 3, TIPS_WEI)).toMatchObject({ class: 'local', revenueWei: TIPS_WEI })
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

it('floors the initial slashing penalty', () => {
  expect(initialSlashingPenalty(31_999_999_999n, 4096)).toBe(7_812_499n)
})
