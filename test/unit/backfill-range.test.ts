import { expect, test } from 'vitest'
import { parseBackfillRange } from '../../ingest/backfill/epoch-range.ts'

/** Mainnet: genesis 2020-12-01T12:00:23Z, which is 20:00:23 of that day in UTC+8; the day ends with slot 1198. */
const clock = { genesisTimeSec: 1_606_824_023, secondsPerSlot: 12, slotsPerEpoch: 32 }

test.each<[string, string, string, number, number]>([
  ['epochs', 'epoch:10', 'epoch:20', 10, 20],
  ['slots, with the epochs that they lie in', 'slot:321', 'slot:352', 10, 11],
  ['one slot', 'slot:0', 'slot:0', 0, 0],
  ['a day, from the epoch of its first slot to that of the next day', '2020-12-02', '2020-12-02', 37, 262],
  ['the day of the genesis', '2020-12-01', '2020-12-01', 0, 37],
  ['a date and an epoch', '2020-12-02', 'epoch:40', 37, 40],
])('a range can be %s', (_, from, to, fromEpoch, toEpoch) => {
  expect(parseBackfillRange({ from, to }, clock)).toEqual({ fromEpoch, toEpoch })
})

test.each<[string, string, string, string]>([
  ['a number without its unit', '10', 'epoch:20', '--from is not a slot, an epoch or a date'],
  ['a date that is none', 'epoch:1', '2021-02-30', '--to is not a slot, an epoch or a date'],
  ['a negative epoch', 'epoch:-1', 'epoch:2', '--from is not a slot, an epoch or a date'],
  ['an end before its start', 'epoch:20', 'epoch:10', 'lies after --to'],
  ['a date before the chain', '2020-11-30', 'epoch:10', "before the chain's first day"],
])('%s is refused with a sentence that says why', (_, from, to, message) => {
  expect(() => parseBackfillRange({ from, to }, clock)).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining(message) }),
  )
})
