import { type DayNumber, dayOfInstant } from '../../schemas/eth/time.ts'
import { WINDOW_DAYS_MAX } from './day-window.ts'
import type { Horizon } from './horizon.ts'

/** UTC+8 days `[from, to)`. */
export interface Days {
  readonly from: DayNumber
  readonly to: DayNumber
}

/** Days of which rows are read and kept at once: no question that is answered from them is about more, so two hold all it needs. */
export const SPAN_DAYS = WINDOW_DAYS_MAX

/** The spans that some days lie in, the newest first. Equal days lie in equal spans, whatever is asked. */
export function spansOf({ from, to }: Days): readonly Days[] {
  if (from >= to) return []
  const [first, last] = [Math.floor(from / SPAN_DAYS), Math.floor((to - 1) / SPAN_DAYS)]
  return Array.from({ length: last - first + 1 }, (_, i) => ({
    from: (last - i) * SPAN_DAYS,
    to: (last - i + 1) * SPAN_DAYS,
  }))
}

/** Days that a report reads at once of accounts whose days are not kept: as many as an answer of a year does. */
const REPORT_SPAN_DAYS = 366

/** Those of some days on which the chain was there, by any offset: further west than UTC+8 it may have begun a date earlier. */
export function withinLife({ from, to }: Days, { clock }: Pick<Horizon, 'clock'>): Days {
  return { from: Math.max(from, dayOfInstant(clock.genesisTimeSec) - 1), to }
}

/** Those that are closed, or lie before one that is, in spans that follow on each other, the oldest first. */
export function reportSpansOf(days: Days, horizon: Horizon): readonly Days[] {
  const { from, to } = withinLife(days, horizon)
  const behind = Math.min(to, (horizon.closedDays.at(-1)?.day ?? from - 1) + 1)
  const count = Math.max(0, Math.ceil((behind - from) / REPORT_SPAN_DAYS))
  return Array.from({ length: count }, (_, i) => {
    const start = from + i * REPORT_SPAN_DAYS
    return { from: start, to: Math.min(start + REPORT_SPAN_DAYS, behind) }
  })
}
