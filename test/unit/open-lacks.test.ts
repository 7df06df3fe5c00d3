import { expect, test } from 'vitest'
import type { ExpectedValidator } from '../../api/rewards/expected-validators.ts'
import type { Horizon } from '../../api/rewards/horizon.ts'
import { lacksOfOpenDays, type ToldDay } from '../../api/rewards/open-lacks.ts'
import { parseDay } from '../../schemas/eth/time.ts'

/** Slots of an hour, four an epoch: day 2026-01-02 begins with slot 16 and epoch 4, day 3 with slot 40 and epoch 10. */
const clock = { genesisTimeSec: Date.parse('2026-01-01T00:00:00Z') / 1000, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
const dayOf = (text: string): number => parseDay(text) ?? Number.NaN
const [CLOSED, RUNNING] = [dayOf('2026-01-02'), dayOf('2026-01-03')]
/** Day 3 is not over: its epochs are 10 to 15. */
const horizon: Horizon = {
  chain: 'mainnet',
  clock,
  epoch: 13,
  closedDays: [{ day: CLOSED, lastEpoch: 9, version: '1' }],
  summedMonths: new Map(),
  daysWithoutStart: [],
  openDays: ['2026-01-03'],
  openEpochs: [10, 11, 12, 13],
  exchanges: '',
}
const ALL_DAYS = [{ fromDay: 0, toDay: 65_535 }]

interface Case {
  readonly activation?: number
  readonly intervals?: ExpectedValidator['intervals']
  /** Of the day: as rows of epochs are told. */
  readonly told?: Omit<ToldDay, 'day'>
  readonly horizon?: Partial<Horizon>
}

function lacks({ activation = 0, intervals = ALL_DAYS, told, horizon: change = {} }: Case): boolean {
  const validator = { index: 7, pubkey: '0x07', activation: BigInt(activation), intervals }
  const rows = new Map(told === undefined ? [] : [[7, [{ day: RUNNING, ...told }]]])
  return lacksOfOpenDays({ ...horizon, ...change }, [validator], rows).get(RUNNING) === 1
}

const LATE = { firstEpoch: 12, epochs: 2 }

test.each<readonly [what: string, lacks: boolean, given: Case]>([
  ['every epoch so far', false, { told: { firstEpoch: 10, epochs: 4 } }],
  ['nothing', true, {}],
  [
    'every epoch, and not the execution block of a proposal',
    true,
    { told: { firstEpoch: 10, epochs: 4, lacksBlocks: true } },
  ],
  ['all but one', true, { told: { firstEpoch: 10, epochs: 3 } }],
  ['what came since it was tracked', true, { told: LATE }],
  ['what came since it joined the registry, before it was active', false, { activation: 13, told: LATE }],
  ['what came since it was active', false, { activation: 12, told: LATE }],
  ['what came an epoch after it was active', true, { activation: 11, told: LATE }],
  ['nothing, and is active later', false, { activation: 14 }],
  ['nothing, and was another account’s by then', false, { intervals: [{ fromDay: 0, toDay: RUNNING }] }],
  ['nothing since the account has it', true, { intervals: [{ fromDay: RUNNING, toDay: RUNNING + 1 }] }],
  [
    'what the log has, which lacks an epoch',
    true,
    { told: { firstEpoch: 10, epochs: 3 }, horizon: { openEpochs: [10, 12, 13] } },
  ],
  [
    'what the log has, which begins amid the day',
    false,
    { told: LATE, horizon: { closedDays: [], openEpochs: [12, 13] } },
  ],
  ['what the log has since a gap behind a closed day', true, { told: LATE, horizon: { openEpochs: [12, 13] } }],
  ['nothing of a day that is over, which is told as a whole', false, { horizon: { epoch: 16 } }],
])('a validator that has %s lacks the running day: %s', (_, expected, given) => {
  expect(lacks(given)).toBe(expected)
})

test.each<readonly [what: string, count: number | undefined, firstEpoch: number, epochs: number]>([
  ['all that the log has', undefined, 2, 2],
  ['what came since it was tracked', 1, 3, 1],
])('a validator that has %s of the day in which the log begins: %s lacks', (_, count, firstEpoch, epochs) => {
  const day = dayOf('2026-01-01')
  const begun = { ...horizon, openDays: ['2026-01-01', '2026-01-03'], openEpochs: [2, 3, 10, 11, 12, 13] }
  const validator = { index: 7, pubkey: '0x07', activation: 0n, intervals: ALL_DAYS }
  const rows = [
    { day, firstEpoch, epochs },
    { day: RUNNING, firstEpoch: 10, epochs: 4 },
  ]
  const lacks = lacksOfOpenDays(begun, [validator], new Map([[7, rows]]))
  expect(lacks).toEqual(new Map(count === undefined ? [] : [[day, count]]))
})

test('keys that nobody has looked for are counted, each for itself', () => {
  const key = (pubkey: string) => ({ pubkey, activation: 0n, intervals: ALL_DAYS })
  expect(lacksOfOpenDays(horizon, [key('0x01'), key('0x02')], new Map())).toEqual(new Map([[RUNNING, 2]]))
})
