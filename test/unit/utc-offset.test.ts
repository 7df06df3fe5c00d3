import { expect, test } from 'vitest'
import { formatDay, parseDay } from '../../schemas/eth/time.ts'
import { localDay, parseUtcOffset, quarterHourOf, utcOffsetName } from '../../schemas/eth/utc-offset.ts'

/** Mainnet's. */
const CLOCK = { genesisTimeSec: 1_606_824_023, secondsPerSlot: 12, slotsPerEpoch: 32 }

test.each([
  ['+08:00', 28_800],
  ['+05:45', 20_700],
  ['-03:30', -12_600],
  ['-12:00', -43_200],
  ['+14:00', 50_400],
  ['+00:00', 0],
  ['-00:00', 0],
])('%s is %i seconds', (text, seconds) => {
  expect(parseUtcOffset(text)).toBe(seconds)
})

test.each(['', 'Z', '8', '+8:00', '+08:10', '+08:60', '+14:15', '-12:15', '08:00', '+08:00 '])(
  '"%s" is no offset',
  (text) => {
    expect(parseUtcOffset(text)).toBeUndefined()
  },
)

test.each([
  [28_800, 'UTC+8'],
  [20_700, 'UTC+5:45'],
  [-12_600, 'UTC-3:30'],
  [-43_200, 'UTC-12'],
  [0, 'UTC'],
])('%i seconds are called %s', (seconds, name) => {
  expect(utcOffsetName(seconds)).toBe(name)
})

test('whatever day begins, begins with a quarter of an hour', () => {
  const midnight = Date.UTC(2026, 0, 10) / 1_000
  for (let offsetSec = -43_200; offsetSec <= 50_400; offsetSec += 900)
    expect(quarterHourOf(midnight - offsetSec) - quarterHourOf(midnight - offsetSec - 1)).toBe(1)
})

// Mainnet began at 12:00:23 UTC on 2020-12-01.
test.each([
  ['2020-12-02', 8 * 3_600, 1_199, 8_398, ['2020-12-02']],
  ['2020-12-02', 0, 3_599, 10_798, ['2020-12-02', '2020-12-03']],
  ['2020-12-02', 20_700, 1_874, 9_073, ['2020-12-02', '2020-12-03']],
  ['2020-12-02', -43_200, 7_199, 14_398, ['2020-12-02', '2020-12-03']],
])('%s at %i seconds is slots %i to %i', (date, offsetSec, firstSlot, lastSlot, utc8) => {
  const found = localDay(CLOCK, parseDay(date) as number, offsetSec)
  expect(found).toMatchObject({ firstSlot, lastSlot, lastEpoch: Math.floor(lastSlot / 32) })
  expect(found?.utc8.map(formatDay)).toEqual(utc8)
})

test('the day in which the chain began begins with slot 0, and there is none before', () => {
  const first = localDay(CLOCK, parseDay('2020-12-01') as number, 0)
  expect(first).toMatchObject({ firstSlot: 0, lastSlot: 3_598, lastEpoch: 112 })
  expect(first?.utc8.map(formatDay)).toEqual(['2020-12-01', '2020-12-02'])
  expect(localDay(CLOCK, parseDay('2020-11-30') as number, 0)).toBeUndefined()
})
