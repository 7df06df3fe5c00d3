import type { DayNumber } from '../../schemas/eth/time.ts'
import { WINDOW_DAYS_MAX } from './day-window.ts'

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
