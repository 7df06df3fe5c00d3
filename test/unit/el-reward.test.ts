import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { paymentEvidence, priorityFeesWei } from '../../processors/rewards/el-reward.ts'
import { rateAt, splitRevenue } from '../../processors/settlements/settlement.ts'
import type { ExecutionBlockData, WholeExecutionBlock } from '../../schemas/events/execution-block.ts'
import { type GivenTransaction, transactionColumns } from './execution-columns.ts'

const BUILDER = `0x${'b1'.repeat(20)}`
const PROPOSER = `0x${'a1'.repeat(20)}`

const header = (coinbase = BUILDER): WholeExecutionBlock['header'] => ({
  chain: 'mainnet',
  number: 7,
  hash: `0x${'11'.repeat(32)}`,
  parentHash: `0x${'10'.repeat(32)}`,
  timestampSec: 1_700_000_000,
  coinbase,
  extraData: '0x',
  baseFeePerGasWei: '1000000000',
  gasUsed: 21_000,
  logParts: 0,
  logsCheck: 'receipts',
  hasOutcomes: true,
})

const PAYMENT: GivenTransaction = { sender: BUILDER, recipient: PROPOSER, valueWei: 9_000n }

/** A block of somebody's two transactions, and those given. */
const blockOf = (last: readonly GivenTransaction[], coinbase = BUILDER): ExecutionBlockData => ({
  header: header(coinbase),
  columns: transactionColumns([{ valueWei: 3n }, { valueWei: 4n }, ...last]),
})

const tips = (rows: readonly (readonly [gasUsed: bigint, priceWei: bigint, succeeded: 0 | 1])[], baseFeeWei: bigint) =>
  priorityFeesWei({
    header: { ...header(), baseFeePerGasWei: baseFeeWei.toString() },
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

describe('evidence of a payment', () => {
  it('is what the coinbase sent somebody in the last transaction', () => {
    expect(paymentEvidence(blockOf([PAYMENT]))).toEqual({ recipient: PROPOSER, valueWei: 9_000n, succeeded: true })
  })

  it.each([1n, 2n ** 64n + 1n])('of %s wei is taken for what it is', (valueWei) => {
    expect(paymentEvidence(blockOf([{ ...PAYMENT, valueWei }]))?.valueWei).toBe(valueWei)
  })

  it('says whether it failed', () => {
    expect(paymentEvidence(blockOf([{ ...PAYMENT, succeeded: false }]))).toMatchObject({ succeeded: false })
  })

  it.each([
    ['is not the last transaction', [PAYMENT, {}]],
    ['goes to the coinbase itself', [{ ...PAYMENT, recipient: BUILDER }]],
    ['creates a contract', [{ ...PAYMENT, recipient: null }]],
    ['has no value', [{ ...PAYMENT, valueWei: 0n }]],
    ['is somebody else’s', [{ ...PAYMENT, sender: PROPOSER }]],
  ])('is none when the transfer %s', (_, last) => {
    expect(paymentEvidence(blockOf(last))).toBeUndefined()
  })

  it('is none in an empty block', () => {
    expect(paymentEvidence({ header: header(), columns: transactionColumns([]) })).toBeUndefined()
  })

  it('is found in a block of version 1 by the transfers that it names', () => {
    const { logParts: _, ...fields } = header()
    const { type, succeeded, gasUsed, effectiveGasPriceWei } = transactionColumns([{}, {}, {}])
    const transfer = { transactionHash: `0x${'22'.repeat(32)}`, to: PROPOSER, succeeded: true }
    const earlier = (transactionIndex: number): ExecutionBlockData => ({
      header: fields,
      columns: { type, succeeded, gasUsed, effectiveGasPriceWei },
      earlier: { coinbaseTransfers: [{ ...transfer, transactionIndex, valueWei: '9000' }], transferLogs: [] },
    })
    expect(paymentEvidence(earlier(2))).toEqual({ recipient: PROPOSER, valueWei: 9_000n, succeeded: true })
    expect(paymentEvidence(earlier(1))).toBeUndefined()
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
