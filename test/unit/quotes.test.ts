import { describe, expect, test } from 'vitest'
import { networkOf } from '../../api/http/client.ts'
import { dutiesYield, formatYield, measuredYield } from '../../schemas/eth/yield.ts'
import { STRATEGIES, STRATEGY_DEFAULT, strategyOf, validatorsOfAmount } from '../../schemas/strategies.ts'

const [SOLO] = STRATEGIES
const MAINNET = { secondsPerSlot: 12, slotsPerEpoch: 32 }
const YEAR_DAYS = 365.25

describe('an amount', () => {
  test.each([
    ['32000000000', 1],
    ['3200000000000', 100],
    ['32000000000000000000', 1],
    ['3200000000000000000000', 100],
    ['3232000000000', undefined],
    ['3232000000000000000000', undefined],
    ['31999999999', undefined],
    ['32', undefined],
    ['0', undefined],
    ['', undefined],
  ])('of %s is for %s validators', (amount, count) => {
    expect(validatorsOfAmount(SOLO, amount)).toBe(count)
  })
})

test('each strategy is found by its id, and its weights are those of its routes', () => {
  expect(strategyOf(STRATEGY_DEFAULT)).toBe(SOLO)
  expect(strategyOf('64x')).toBeUndefined()
  for (const { id, routes, weights } of STRATEGIES) {
    expect(strategyOf(id)).toMatchObject({ id })
    expect(weights).toHaveLength(routes.length)
    expect(weights.reduce((sum, weight) => sum + Number.parseFloat(weight), 0)).toBe(100)
  }
})

describe('a yield', () => {
  test.each([
    [277n, '2.77%'],
    [0n, '0.00%'],
    [5n, '0.05%'],
    [12_345n, '123.45%'],
    [-5n, '-0.05%'],
    [-123n, '-1.23%'],
  ])('of %d hundredths of a percent is %s', (points, text) => {
    expect(formatYield(points)).toBe(text)
  })

  test.each([
    // 36M ETH staked, everybody votes: 337 gwei an increment and epoch, of which 54 of 64 for votes; brpi * 82181.25 / 1e9 = 2.77 %.
    [337n * 32n * 54n, 32n * 64n * 1_000_000_000n, 277n],
    [347n * 32n * 54n, 32n * 64n * 1_000_000_000n, 285n], // 34M
    [320n * 32n * 54n, 32n * 64n * 1_000_000_000n, 263n], // 40M
  ])('of votes worth %d is that of all duties', (rewardGwei, effectiveBalanceGwei, points) => {
    expect(dutiesYield(MAINNET, { rewardGwei, effectiveBalanceGwei })).toBe(points)
  })

  test('is rounded half up, losses too', () => {
    const year = (points: number) => BigInt(Math.round(points * 1e9)) // on a stake that makes a hundredth of a percent 1e9
    const stake = BigInt(1e9 * 10_000 * YEAR_DAYS)
    for (const [points, rounded] of [
      [1.5, 2n],
      [1.4999, 1n],
      [-1.5, -1n],
      [-1.5001, -2n],
      [-2, -2n],
      [0, 0n],
    ] as const) {
      expect(measuredYield(year(points), stake), String(points)).toBe(rounded)
    }
  })
})

describe('a client', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('of %s is one of %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
