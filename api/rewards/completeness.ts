import {
  DAY_OFFSET_SEC,
  type DayNumber,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  formatDay,
} from '../../schemas/eth/time.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import type { ListPage } from '../http/cursor.ts'
import { answerList } from '../http/operation.ts'
import { dayOfHorizon, type Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'

/**
 * What the figures of some days cover: days that are not final yet, and final days of which something is missing. `missing` says how
 * many validators of the account a day lacks, where that is known. Days are by the offset, as those of the horizon are.
 */
export function completenessOf(
  horizon: Horizon | undefined,
  { from, to }: Days,
  missing: ReadonlyMap<DayNumber, number> = new Map(),
  offsetSec = DAY_OFFSET_SEC,
): Completeness {
  if (horizon === undefined) {
    return {
      state: 'not_final',
      final_through: null,
      not_final_from: from < to ? formatDay(from) : null,
      incomplete: [],
    }
  }
  const { closedDays } = horizon
  const { lacking, notFinalFrom } = lackingDays(horizon, { from, to }, missing, offsetSec)
  const incomplete: { start_date: string; end_date: string; validators_missing: number | null }[] = []
  for (const [day, validators] of lacking) {
    const name = formatDay(day)
    const last = incomplete.at(-1)
    const next = formatDay(day + 1)
    if (last?.end_date === name && last.validators_missing === validators) last.end_date = next
    else incomplete.push({ start_date: name, end_date: next, validators_missing: validators })
  }
  const newest = closedDays.at(-1)
  const isFinal = notFinalFrom === undefined && closedDays.length > 0
  return {
    state: incomplete.length > 0 ? 'incomplete' : isFinal ? 'complete' : 'not_final',
    final_through: newest === undefined ? null : formatDay(newest.day),
    not_final_from: notFinalFrom === undefined ? null : formatDay(notFinalFrom),
    incomplete,
  }
}

interface LackingDays {
  /** Validators that each of the final days lacks; null where epochs or blocks of the day itself are missing. Ascending. */
  readonly lacking: ReadonlyMap<DayNumber, number | null>
  /** First day of the window that is not final yet. */
  readonly notFinalFrom: DayNumber | undefined
}

/** Final days of a window of which something is missing: what `completenessOf` tells, by day. */
export function lackingDays(
  horizon: Horizon,
  { from, to }: Days,
  missing: ReadonlyMap<DayNumber, number>,
  offsetSec: number,
): LackingDays {
  const { clock, epoch, closedDays, daysWithoutStart } = horizon
  const closed = new Set(closedDays.flatMap(({ day }) => (from <= day && day < to ? [day] : [])))
  const lacking = new Map<DayNumber, number | null>()
  for (let day = from; day < to; day++) {
    const lastSlot = firstSlotOfDay(clock, day + 1, offsetSec) - 1
    if (lastSlot < 0) continue // the chain began later
    const known = missing.get(day) ?? (closed.has(day) ? 0 : null)
    if (known === 0) continue
    // By whatever offset, a day is closed with the UTC+8 day that it ends in.
    const closingSlot = firstSlotOfDay(clock, dayOfSlot(clock, lastSlot) + 1)
    if (known === null && epochOf(clock, closingSlot) > epoch) return { lacking, notFinalFrom: day }
    if (known === null && daysWithoutStart.includes(day)) continue
    lacking.set(day, known)
  }
  return { lacking, notFinalFrom: undefined }
}

/**
 * Days that totals are over: from the first one that is closed, or that they lack something of, to the last one, or to the last final one behind it
 * that is not closed yet.
 */
function daysOfTotals(horizon: Horizon | undefined, missing: ReadonlyMap<DayNumber, number>): Days {
  const [first, last] = [horizon?.closedDays[0], horizon?.closedDays.at(-1)]
  const ends =
    horizon === undefined || first === undefined || last === undefined
      ? []
      : [first.day, last.day, dayOfHorizon(horizon) - 1]
  const days = [...ends, ...missing.keys()]
  return days.length === 0 ? { from: 0, to: 0 } : { from: Math.min(...days), to: Math.max(...days) + 1 }
}

/** What an account's totals cover; `missing` says how many of its validators are not counted on a day. */
export function completenessOfTotals(
  horizon: Horizon | undefined,
  missing: ReadonlyMap<DayNumber, number> = new Map(),
): Completeness {
  return completenessOf(horizon, daysOfTotals(horizon, missing), missing)
}

/** The envelope of a page of figures with what they cover. */
export function answerFigures<Data>(data: Data, page: ListPage<unknown>, completeness: Completeness) {
  const { status, envelope } = answerList(data, page)
  return { status, envelope: { ...envelope, completeness } } as const
}
