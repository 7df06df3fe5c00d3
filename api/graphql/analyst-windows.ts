import { type DayNumber, firstOfMonth, formatDay, parseDay } from '../../schemas/eth/time.ts'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import type { Days } from '../rewards/kept-spans.ts'

/** Nodes of a page whose query does not say how many. */
export const FIRST_DEFAULT = 10
/** Days of a window whose days, blocks or settlements are listed. */
export const WINDOW_DAYS_MAX_GRAPHQL = 366
/** Of a list of months, and of one that does not say which. */
export const MONTHS_MAX = 120
const MONTHS_DEFAULT = 12

interface MonthWindow extends Days {
  readonly status: 'window'
}

interface MonthArguments {
  readonly from?: string | null | undefined
  readonly to?: string | null | undefined
}

/** The days of months `[from, to)`, by default this month and the eleven before it; refused where they are none, or are to come. */
export function monthWindow({ from, to }: MonthArguments, today: DayNumber): MonthWindow | Refusal {
  const next = addMonths(firstOfMonth(today), 1)
  const behind = to == null ? next : parseMonth(to)
  if (behind === undefined) return refuse('400', 'to is not YYYY-MM')
  const first = from == null ? addMonths(behind, -MONTHS_DEFAULT) : parseMonth(from)
  if (first === undefined) return refuse('400', 'from is not YYYY-MM')
  if (first >= next) return refuse('4002', 'from')
  if (behind > next) return refuse('4002', 'to')
  if (first > behind) return refuse('400', 'from is after to')
  if (addMonths(first, MONTHS_MAX) < behind)
    return refuse('400', `from and to are more than ${MONTHS_MAX} months apart: ask for fewer`)
  return { status: 'window', from: Math.max(0, first), to: Math.max(0, behind) }
}

/** The days of the month that begins with a day. */
export function daysOfMonth(start: DayNumber): Days {
  return { from: start, to: addMonths(start, 1) }
}

/** How many months lie in the days. */
export function monthsIn({ from, to }: Days): number {
  let months = 0
  for (let day = firstOfMonth(from); day < to; day = addMonths(day, 1)) months++
  return months
}

function parseMonth(text: string): DayNumber | undefined {
  return parseDay(`${text}-01`)
}

function addMonths(first: DayNumber, months: number): DayNumber {
  const [year = 0, month = 0] = formatDay(first).split('-').map(Number)
  return Date.UTC(year, month - 1 + months, 1) / 86_400_000
}
