import { GraphQLError } from 'graphql/index.js'
import { dayWindow, WINDOW_DAYS_MAX, type WindowDefault } from '../rewards/day-window.ts'
import type { Days } from '../rewards/kept-spans.ts'
import { refusalError } from './refusals.ts'

export interface WindowArguments {
  readonly from?: string | null
  readonly to?: string | null
}

interface WindowRule {
  readonly whenAbsent?: WindowDefault
  readonly daysMax?: number | 'any'
}

/**
 * The days that a field's `from` and `to` ask for at an instant (Unix milliseconds), by the rules of REST's `start_date` and `end_date`. Throws a
 * GraphQLError with REST's code that names the arguments of GraphQL, and the field's own limit.
 */
export function askedDays(
  { from, to }: WindowArguments,
  nowMs: number,
  { whenAbsent = 'yesterday', daysMax = WINDOW_DAYS_MAX }: WindowRule = {},
): Days {
  const query = { start_date: from ?? undefined, end_date: to ?? undefined }
  const window = dayWindow(nowMs, query, whenAbsent, daysMax)
  if (window.status !== 'refused') return { from: window.from, to: window.to }
  const { code } = window
  const detail = window.detail?.replace('start_date', 'from').replace('end_date', to == null ? 'today' : 'to')
  // The text that REST has for the code tells another limit.
  if (code === '4003')
    throw new GraphQLError(`${detail}, at most ${daysMax} can be asked for: ask for a shorter window`, {
      extensions: { code },
    })
  throw refusalError(code, code === '400' ? `${detail}: exchange them` : detail)
}
