import { type DayNumber, firstOfMonth, formatDay, parseDay } from '../../schemas/eth/time.ts'
import type { Days } from '../rewards/kept-spans.ts'

/** Nodes of a page whose query does not say how many. */
export const FIRST_DEFAULT = 10
/** Days of a window whose days, blocks or settlements are listed. */
export const WINDOW_DAYS_MAX_GRAPHQL = 366
/** Of a list of months, and of one that does not say which. */
export const MONTHS_MAX = 120
const MONTHS_DEFAULT = 12

interface MonthArguments {
  readonly from?: string | null | undefined
  readonly to?: string | null | undefined
}

/** The days of months `[from, to)`, by default this month and the eleven before it; a sentence where they are none. */
export function monthWindow({ from, to }: MonthArguments, today: DayNumber): Days | string {
  const behind = to == null ? addMonths(firstOfMonth(today), 1) : parseMonth(to)
  if (behind === undefined) return 'to is not YYYY-MM'
  const first = from == null ? addMonths(behind, -MONTHS_DEFAULT) : parseMonth(from)
  if (first === undefined) return 'from is not YYYY-MM'
  if (first > behind) return 'from is after to'
  if (addMonths(first, MONTHS_MAX) < behind)
    return `from and to are more than ${MONTHS_MAX} months apart: ask for fewer`
  return { from: Math.max(0, first), to: Math.max(0, behind) }
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
