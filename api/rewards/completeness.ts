import { DAY_OFFSET_SEC, type DayNumber, epochOf, firstSlotOfDay, formatDay } from '../../schemas/eth/time.ts'
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
  const { clock, epoch, closedDays } = horizon
  const closed = new Set(closedDays.map(({ day }) => day))
  const incomplete: { start_date: string; end_date: string; validators_missing: number | null }[] = []
  let notFinalFrom: string | null = null
  for (let day = from; day < to; day++) {
    const name = formatDay(day)
    const nextSlot = firstSlotOfDay(clock, day + 1, offsetSec)
    if (nextSlot === 0) continue // the chain began later
    const lacking = missing.get(day) ?? (closed.has(day) ? 0 : null)
    if (lacking === 0) continue
    if (lacking === null && epochOf(clock, nextSlot) > epoch) {
      notFinalFrom = name
      break
    }
    const last = incomplete.at(-1)
    const next = formatDay(day + 1)
    if (last?.end_date === name && last.validators_missing === lacking) last.end_date = next
    else incomplete.push({ start_date: name, end_date: next, validators_missing: lacking })
  }
  const newest = closedDays.at(-1)
  const isFinal = notFinalFrom === null && closedDays.length > 0
  return {
    state: incomplete.length > 0 ? 'incomplete' : isFinal ? 'complete' : 'not_final',
    final_through: newest === undefined ? null : formatDay(newest.day),
    not_final_from: notFinalFrom,
    incomplete,
  }
}

/**
 * Days that totals are over: from the first one that is closed, or that they lack something of, to the last one, or to the last final one behind it
 * that is not closed yet.
 */
export function daysOfTotals(horizon: Horizon | undefined, missing: ReadonlyMap<DayNumber, number> = new Map()): Days {
  const [first, last] = [horizon?.closedDays[0], horizon?.closedDays.at(-1)]
  const ends =
    horizon === undefined || first === undefined || last === undefined
      ? []
      : [first.day, last.day, dayOfHorizon(horizon) - 1]
  const days = [...ends, ...missing.keys()]
  return days.length === 0 ? { from: 0, to: 0 } : { from: Math.min(...days), to: Math.max(...days) + 1 }
}

/** The envelope of a page of figures with what they cover. */
export function answerFigures<Data>(data: Data, page: ListPage<unknown>, completeness: Completeness) {
  const { status, envelope } = answerList(data, page)
  return { status, envelope: { ...envelope, completeness } } as const
}
