import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  dayOfSlot,
  firstSlotOfDay,
  formatDay,
  formatLocalTime,
  parseDay,
  slotAt,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, parseEth, parseRate } from '../../schemas/eth/units.ts'

const mainnet = { genesisTimeSec: 1_606_824_023, secondsPerSlot: 12, slotsPerEpoch: 32 }

describe('amounts as text', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000000000000000001'],
    [19_723_733_185_782_400n, '0.0197237331857824'],
    [10n ** 18n, '1'],
    [-1_500_000_000_000_000_000n, '-1.5'],
    [123_456_789n * 10n ** 18n + 10n, '123456789.00000000000000001'],
  ])('writes %s wei as %s ETH', (wei, text) => {
    expect(formatEthFromWei(wei)).toBe(text)
  })

  it('writes gwei with nine decimals at most', () => {
    expect(formatEthFromGwei(32_000_000_001n)).toBe('32.000000001')
    expect(formatEthFromGwei(-7n)).toBe('-0.000000007')
  })

  it('loses nothing: the text reads back as the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt(), (wei) => {
        const text = formatEthFromWei(wei)
        const [whole, fraction = ''] = text.replace('-', '').split('.')
        const back = BigInt(`${whole}${fraction.padEnd(18, '0')}`)
        expect(text.startsWith('-') ? -back : back).toBe(wei)
        expect(fraction.endsWith('0')).toBe(false)
      }),
    )
  })
})

describe('fee rates', () => {
  it.each([
    ['0.3', 3n, 10n],
    ['1', 1n, 1n],
    ['0', 0n, 1n],
    ['1.000', 1000n, 1000n],
  ])('reads %s exactly', (text, numerator, denominator) => {
    expect(parseRate(text)).toEqual({ numerator, denominator })
  })

  it.each(['', '.5', '0.', '2', '1.1', '-0.1', '0,5', '1e-1', ' 0.1', `0.${'1'.repeat(19)}`])('refuses %j', (text) => {
    expect(parseRate(text)).toBeUndefined()
  })
})

describe('the UTC+8 calendar', () => {
  it('puts the first day boundaries of mainnet where slots 1199 and 8399 begin', () => {
    const day = parseDay('2020-12-02') as number
    expect(firstSlotOfDay(mainnet, day)).toBe(1199)
    expect(firstSlotOfDay(mainnet, day + 1)).toBe(8399)
    expect(1199 % 32).toBe(15)
    expect(firstSlotOfDay(mainnet, day - 1)).toBe(0)
  })

  it.each([
    [1_655_733_600, 600],
    [1_742_213_400, 1150],
    [1_695_902_400, 1200],
  ])('finds the first boundary of a chain that began at %i in slot %i', (genesisTimeSec, slot) => {
    const clock = { ...mainnet, genesisTimeSec }
    expect(firstSlotOfDay(clock, dayOfSlot(clock, 0) + 1)).toBe(slot)
  })

  it('gives every slot exactly one day, and days exactly their slots', () => {
    fc.assert(
      fc.property(
        fc.nat(20_000_000),
        fc.integer({ min: 1_000_000_000, max: 2_000_000_000 }),
        (slot, genesisTimeSec) => {
          const clock = { ...mainnet, genesisTimeSec }
          const day = dayOfSlot(clock, slot)
          expect(firstSlotOfDay(clock, day)).toBeLessThanOrEqual(slot)
          expect(firstSlotOfDay(clock, day + 1)).toBeGreaterThan(slot)
          expect(slotAt(clock, slotTimeSec(clock, slot))).toBe(slot)
          expect(slotAt(clock, slotTimeSec(clock, slot) + 11)).toBe(slot)
        },
      ),
    )
  })

  it('reads only calendar dates in the one form', () => {
    expect(formatDay(parseDay('2026-02-28') as number)).toBe('2026-02-28')
    for (const text of ['2026-02-29', '2026-13-01', '2026-1-01', '20260101', '2026-01-01T00:00:00Z', '', 'yesterday']) {
      expect(parseDay(text), text).toBeUndefined()
    }
  })

  it('shows block times in UTC+8', () => {
    expect(formatLocalTime(1_606_824_023)).toBe('2020-12-01 20:00:23')
  })
})

it.each([
  ['-1.5', -1_500_000_000_000_000_000n],
  ['+0.000000000000000001', 1n],
  ['0', 0n],
  ['123456789', 123_456_789n * 10n ** 18n],
])('reads %s ETH to the wei', (text, wei) => {
  expect(parseEth(text)).toBe(wei)
})

it.each(['', '1.', '.5', '1e18', '0x1', '--1', ' 1', '0.0000000000000000001', '1234567890123'])(
  'reads %j as no amount',
  (text) => {
    expect(parseEth(text)).toBeUndefined()
  },
)
