import { describe, expect, it } from 'vitest'
import { completenessOf, completenessOfTotals } from '../../api/rewards/completeness.ts'
import type { Horizon } from '../../api/rewards/horizon.ts'
import { horizonBy } from '../../api/rewards/local-days.ts'
import { parseDay } from '../../schemas/eth/time.ts'

/** Slots of an hour, four an epoch: a day is 24 slots, and day 2026-01-02 begins with slot 16 (UTC+8). */
const clock = { genesisTimeSec: Date.parse('2026-01-01T00:00:00Z') / 1000, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
const closed = (...days: string[]) => days.map((day) => ({ day: parseDay(day) ?? 0, lastEpoch: 0, version: '1' }))
const horizon: Horizon = {
  chain: 'mainnet',
  clock,
  /** Through slot 115: day 6 has begun with slot 112. */
  epoch: 28,
  closedDays: closed('2026-01-03', '2026-01-05'),
  summedMonths: new Map(),
  daysWithoutStart: [],
  openDays: ['2026-01-02', '2026-01-04', '2026-01-06'],
  openEpochs: [],
  exchanges: '',
}
const days = (from: string, to: string) => ({ from: parseDay(from) ?? 0, to: parseDay(to) ?? 0 })

describe('a client can tell apart', () => {
  it('days that are all there, whether or not anything was earned', () => {
    expect(completenessOf(horizon, days('2026-01-05', '2026-01-06'))).toEqual({
      state: 'complete',
      final_through: '2026-01-05',
      not_final_from: null,
      incomplete: [],
    })
  })

  it('days that are still to come', () => {
    expect(completenessOf(horizon, days('2026-01-05', '2026-01-09'))).toMatchObject({
      state: 'not_final',
      not_final_from: '2026-01-06',
      incomplete: [],
    })
    expect(completenessOf(undefined, days('2026-01-05', '2026-01-09'))).toMatchObject({
      state: 'not_final',
      final_through: null,
      not_final_from: '2026-01-05',
    })
  })

  it('final days of which epochs, blocks or validators are missing, joined where they are alike', () => {
    const missing = new Map([[parseDay('2026-01-05') ?? 0, 2]])
    expect(completenessOf(horizon, days('2025-12-01', '2026-01-08'), missing)).toEqual({
      state: 'incomplete',
      final_through: '2026-01-05',
      not_final_from: '2026-01-06',
      incomplete: [
        { start_date: '2026-01-01', end_date: '2026-01-03', validators_missing: null },
        { start_date: '2026-01-04', end_date: '2026-01-05', validators_missing: null },
        { start_date: '2026-01-05', end_date: '2026-01-06', validators_missing: 2 },
      ],
    })
  })
})

describe('the day in which the chain began', () => {
  const asked = days('2026-01-01', '2026-01-04')
  const day = parseDay('2026-01-01') ?? 0
  const late = { ...horizon, closedDays: closed('2026-01-02', '2026-01-03') }
  const begun = { ...late, daysWithoutStart: [day] }

  it('is as any other once it is closed', () => {
    const whole = { ...late, closedDays: closed('2026-01-01', '2026-01-02', '2026-01-03') }
    expect(completenessOf(whole, asked)).toMatchObject({ state: 'complete', incomplete: [] })
  })

  it('is not called missing where nothing tells what it began with', () => {
    expect(completenessOf(begun, asked)).toMatchObject({ state: 'complete', incomplete: [] })
  })

  it('nor are days by another offset that lie in it', () => {
    // In UTC, 2026-01-01 has 8 slots of the next day of UTC+8, which is closed, and 2026-01-02 none of the first one but that before it.
    const both = (one: Horizon) => completenessOf(horizonBy(one, 0), days('2026-01-01', '2026-01-03'), new Map(), 0)
    expect(both(begun)).toMatchObject({ state: 'complete', incomplete: [] })
    const named = { start_date: '2026-01-01', end_date: '2026-01-02', validators_missing: null }
    expect(both(late).incomplete).toEqual([named])
    expect(both({ ...begun, closedDays: closed('2026-01-03', '2026-01-04') }).incomplete).toEqual([
      { ...named, end_date: '2026-01-03' },
    ])
  })

  it('lacks epochs where the log begins in its middle, and what it lacks of validators', () => {
    const first = { start_date: '2026-01-01', end_date: '2026-01-02' }
    expect(completenessOf(late, asked).incomplete).toEqual([{ ...first, validators_missing: null }])
    const missing = new Map([[day, 2]])
    expect(completenessOf(begun, asked, missing).incomplete).toEqual([{ ...first, validators_missing: 2 }])
  })

  it('is not final before it is over', () => {
    const running = { ...late, closedDays: [], epoch: 2, openEpochs: [0, 1, 2] }
    expect(completenessOf(running, asked)).toMatchObject({ state: 'not_final', not_final_from: '2026-01-01' })
  })
})

it('waits, by another offset, for the UTC+8 day in which a day ends', () => {
  const utc = { ...horizon, closedDays: closed('2026-01-03', '2026-01-04') }
  const asked = days('2026-01-03', '2026-01-06')
  // The last slot of 2026-01-05 is 119, and that of the UTC+8 day that it ends in 135.
  for (const epoch of [30, 33])
    expect(completenessOf({ ...utc, epoch }, asked, new Map(), 0)).toEqual({
      state: 'not_final',
      final_through: '2026-01-04',
      not_final_from: '2026-01-05',
      incomplete: [],
    })
  expect(completenessOf({ ...utc, epoch: 34 }, asked, new Map(), 0)).toMatchObject({
    state: 'incomplete',
    not_final_from: null,
    incomplete: [{ start_date: '2026-01-05', end_date: '2026-01-06', validators_missing: null }],
  })
})

it('is about the days from the first closed one on that are over where totals are asked for', () => {
  expect(completenessOfTotals(horizon)).toMatchObject({
    state: 'incomplete',
    incomplete: [{ start_date: '2026-01-04', end_date: '2026-01-05', validators_missing: null }],
  })
  const whole = { ...horizon, closedDays: closed('2026-01-03', '2026-01-04', '2026-01-05') }
  expect(completenessOfTotals(whole).state).toBe('complete')
  // Two days behind the last closed one are over: one is open, of the other there is nothing.
  const behind = { ...horizon, epoch: horizon.epoch + 12, closedDays: closed('2026-01-03', '2026-01-04', '2026-01-05') }
  expect(completenessOfTotals(behind)).toMatchObject({
    state: 'incomplete',
    not_final_from: null,
    incomplete: [{ start_date: '2026-01-06', end_date: '2026-01-08', validators_missing: null }],
  })
  expect(completenessOfTotals(undefined).state).toBe('not_final')
})

it('is about every day that totals lack something of, before the first closed one too', () => {
  const whole = { ...horizon, closedDays: closed('2026-01-03', '2026-01-04', '2026-01-05') }
  const missing = new Map([[parseDay('2026-01-02') ?? 0, 3]])
  expect(completenessOfTotals(whole, missing).incomplete).toEqual([
    { start_date: '2026-01-02', end_date: '2026-01-03', validators_missing: 3 },
  ])
})
