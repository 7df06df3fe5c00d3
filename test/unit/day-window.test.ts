import { describe, expect, test } from 'vitest'
import { dayWindow } from '../../api/rewards/day-window.ts'
import { dayStartSec, formatDay } from '../../schemas/eth/time.ts'

/** 2026-11-20 00:00:00 in UTC+8: still the 19th in UTC. */
const NOW_MS = Date.parse('2026-11-19T16:00:00Z')

function windowText(start: string | undefined, end: string | undefined, kind: 'yesterday' | 'month', nowMs = NOW_MS) {
  const window = dayWindow(nowMs, { start_date: start, end_date: end }, kind)
  return window.status === 'refused' ? window.code : `${formatDay(window.from)} ${formatDay(window.to)}`
}

describe('daily figures', () => {
  test.each([
    [undefined, undefined, '2026-11-19 2026-11-20'],
    ['2026-11-18', undefined, '2026-11-18 2026-11-20'],
    ['2026-11-20', undefined, '2026-11-20 2026-11-20'],
    [undefined, '2026-11-18', '2026-11-17 2026-11-18'],
    [undefined, '2026-11-20', '2026-11-19 2026-11-20'],
    ['2026-11-18', '2026-11-18', '2026-11-18 2026-11-18'],
    ['2026-10-20', '2026-11-20', '2026-10-20 2026-11-20'],
    ['2026-10-20', undefined, '2026-10-20 2026-11-20'],
    ['2026-10-19', undefined, '4003'],
    ['2026-10-19', '2026-11-20', '4003'],
    ['2024-02-29', '2024-03-01', '2024-02-29 2024-03-01'],
    ['2026-02-29', undefined, '4001'],
    ['2026-11-1', undefined, '4001'],
    ['', undefined, '4001'],
    ['20261118', '2026-11-19', '4001'],
    ['2026-11-18T00:00:00Z', undefined, '4001'],
    [undefined, 'today', '4001'],
    ['2026-11-21', undefined, '4002'],
    [undefined, '2026-11-21', '4002'],
    ['2026-11-21', 'today', '4001'],
    ['2026-11-19', '2026-11-18', '400'],
  ])('from %s to %s is %s', (start, end, expected) => {
    expect(windowText(start, end, 'yesterday')).toBe(expected)
  })

  test('takes today from UTC+8', () => {
    expect(windowText(undefined, undefined, 'yesterday', NOW_MS - 1)).toBe('2026-11-18 2026-11-19')
  })
})

describe('settlements', () => {
  test.each([
    [undefined, undefined, '2026-10-21 2026-11-21'],
    ['2026-11-18', undefined, '2026-11-18 2026-11-21'],
    ['2026-11-20', undefined, '2026-11-20 2026-11-21'],
    [undefined, '2026-11-18', '2026-10-18 2026-11-18'],
    ['2026-11-18', '2026-11-20', '2026-11-18 2026-11-20'],
    ['2026-10-19', undefined, '4003'],
    ['2026-11-21', undefined, '4002'],
  ])('from %s to %s is %s', (start, end, expected) => {
    expect(windowText(start, end, 'month')).toBe(expected)
  })
})

test('a window of any length begins in 1970 at the earliest', () => {
  const window = dayWindow(NOW_MS, { start_date: '1900-01-01' }, 'yesterday', 'any')
  expect(window).toMatchObject({ status: 'window', from: 0 })
  expect(dayWindow(NOW_MS, { end_date: '1900-01-01' }, 'yesterday', 'any')).toMatchObject({ from: 0, to: 0 })
})

test('a day begins at 16:00 UTC of the date before', () => {
  const window = dayWindow(NOW_MS, {}, 'yesterday')
  const from = window.status === 'window' ? window.from : Number.NaN
  expect(new Date(dayStartSec(from) * 1000).toISOString()).toBe('2026-11-18T16:00:00.000Z')
})
