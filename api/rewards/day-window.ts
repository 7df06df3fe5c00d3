import { DAY_OFFSET_SEC, type DayNumber, dayOfInstant, parseDay } from '../../schemas/eth/time.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'

/** The specification's "about one month" of settled rewards. */
export const WINDOW_DAYS_MAX = 31
/** The warehouse's dates begin in 1970, and no chain is older. */
const FIRST_DAY: DayNumber = 0

/** Days `[from, to)` in UTC+8; empty when they are equal. */
export interface DayWindow {
  readonly status: 'window'
  readonly from: DayNumber
  readonly to: DayNumber
}

export interface DateQuery {
  readonly start_date?: string | undefined
  readonly end_date?: string | undefined
}

/** What a query without dates means: `yesterday` (daily figures), or the `month` that ends with today (settlements). */
export type WindowDefault = 'yesterday' | 'month'

/**
 * The UTC+8 days that a query asks for at the instant `nowMs` (Unix milliseconds).
 * With only a start, `yesterday` ends before today and `month` with today; with only an end, `yesterday` is the one day before
 * it and `month` the 31 days before it. The length that counts for 4003, if it has a maximum, is that from the start to the end as
 * asked, or to today.
 */
export function dayWindow(
  nowMs: number,
  query: DateQuery,
  whenAbsent: WindowDefault,
  daysMax: number | 'any' = WINDOW_DAYS_MAX,
): DayWindow | Refusal {
  const today = dayOfInstant(nowMs / 1000)
  const start = query.start_date === undefined ? undefined : parseDay(query.start_date)
  const end = query.end_date === undefined ? undefined : parseDay(query.end_date)
  if (query.start_date !== undefined && start === undefined) return refuse('4001', 'start_date is not YYYY-MM-DD')
  if (query.end_date !== undefined && end === undefined) return refuse('4001', 'end_date is not YYYY-MM-DD')
  if (start !== undefined && start > today) return refuse('4002', 'start_date')
  if (end !== undefined && end > today) return refuse('4002', 'end_date')

  if (start !== undefined) {
    const asked = end ?? today
    if (start > asked) return refuse('400', 'start_date is after end_date')
    if (daysMax !== 'any' && asked - start > daysMax)
      return refuse('4003', `start_date and end_date are ${asked - start} days apart`)
    return windowOf(start, end ?? defaultEnd(today, whenAbsent))
  }
  const to = end ?? defaultEnd(today, whenAbsent)
  return windowOf(to - (whenAbsent === 'yesterday' ? 1 : WINDOW_DAYS_MAX), to)
}

function windowOf(from: DayNumber, to: DayNumber): DayWindow {
  return { status: 'window', from: Math.max(from, FIRST_DAY), to: Math.max(to, FIRST_DAY) }
}

/** The instant that has the date in UTC+8 which this one has by an offset: both in milliseconds. */
export function nowBy(nowMs: number, offsetSec: number): number {
  return nowMs + (offsetSec - DAY_OFFSET_SEC) * 1_000
}

export const OFFSET_REFUSAL = 'utc_offset is not ±HH:MM at a quarter of an hour, from -12:00 to +14:00'

/** Days before today are whole; settlements of today exist already. */
function defaultEnd(today: DayNumber, whenAbsent: WindowDefault): DayNumber {
  return whenAbsent === 'yesterday' ? today : today + 1
}
