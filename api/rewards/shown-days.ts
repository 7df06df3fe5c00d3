import { type DayNumber, epochOf, firstSlotOfDay, parseDay } from '../../schemas/eth/time.ts'
import { localDay } from '../../schemas/eth/utc-offset.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import { isWithheld } from '../../schemas/tables/day-levels.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import type { AccountDay, UnprovenRule } from './account-days.ts'
import { completenessOf, lackingDays } from './completeness.ts'
import { type ExpectedValidator, expectedValidators } from './expected-validators.ts'
import type { ClosedDay, Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import { hasPartOfLocalDay, horizonBy, type LocalWindow } from './local-days.ts'
import type { ValidatorDayRow } from './validator-days.ts'

/** A final day with what is known of it: one that nothing is known of, and should be, is shown as well. */
export interface ShownDay<Row> {
  readonly day: DayNumber
  readonly row: Row | undefined
  readonly completeness: () => Completeness
}

interface Found<Row> {
  readonly rows: ReadonlyMap<DayNumber, Row>
  /** How many validators days lack, where that is known. */
  readonly missing: ReadonlyMap<DayNumber, number>
  readonly validators: readonly ExpectedValidator[]
}

/** Closed days of an account as `expectedDays` or `accountLocalDays` gives them, and the final ones of which epochs or blocks are missing. */
export async function shownAccountDays<Row extends AccountDay>(
  scope: AccountScope,
  horizon: Horizon,
  window: LocalWindow,
  expected: readonly Row[],
): Promise<readonly ShownDay<Row>[]> {
  const rows = new Map(expected.map((row) => [row.day, row]))
  const validators = await expectedValidators(scope, horizon)
  return shownDays(horizonBy(horizon, window.offsetSec), window, { rows, missing: missingOf(expected), validators })
}

/** How many validators each of the days lacks. */
export function missingOf(days: readonly AccountDay[]): ReadonlyMap<DayNumber, number> {
  return new Map(days.map((row) => [row.day, row.missing]))
}

/** Days of several of an account's validators by index: those that it has rows of, which are given, and those that it should have. */
export async function shownValidatorDays(
  scope: AccountScope & UnprovenRule,
  horizon: Horizon,
  window: LocalWindow & { readonly indices: ReadonlySet<number> },
  rows: readonly ValidatorDayRow[],
): Promise<ReadonlyMap<number, readonly ShownDay<ValidatorDayRow>[]>> {
  const by = horizonBy(horizon, window.offsetSec)
  const known = new Map((await expectedValidators(scope, horizon)).map((one) => [one.index, one]))
  const found = Map.groupBy(rows, ({ validator_index }) => validator_index)
  return new Map(
    [...window.indices].map((index) => {
      const own = found.get(index) ?? []
      const validator = known.get(index)
      const validators = validator === undefined ? [] : [validator]
      const missing = missingDays(by, validators, window, own.filter(isServed(scope)))
      return [index, shownDays(by, window, { rows: new Map(own.map((row) => [dayOf(row), row])), missing, validators })]
    }),
  )
}

/** What nothing explains, or is made of a state that no block names, is served only where the operator wants it. */
export function isServed({ servesUnproven }: UnprovenRule): (row: ValidatorDayRow) => boolean {
  return ({ level }) => servesUnproven === true || !isWithheld(level)
}

/** Closed days of a window, one validator missing on each: those that the account has it on, expected by their end, and of which there is no row. */
export function missingDays(
  horizon: Horizon,
  validators: readonly ExpectedValidator[],
  { days, offsetSec }: LocalWindow,
  rows: readonly ValidatorDayRow[],
): ReadonlyMap<DayNumber, number> {
  const found = new Set(rows.map(dayOf))
  const lacking = horizon.closedDays.filter(
    (closed) =>
      days.from <= closed.day &&
      closed.day < days.to &&
      !found.has(closed.day) &&
      isExpected(horizon, validators, closed, offsetSec),
  )
  return new Map(lacking.map(({ day }) => [day, 1]))
}

/** Whether an account has one of the validators on a day by an offset or a part of it, and it is activated by the day's end. */
function isExpected(
  { clock }: Horizon,
  validators: readonly ExpectedValidator[],
  { day, lastEpoch }: Pick<ClosedDay, 'day' | 'lastEpoch'>,
  offsetSec: number,
): boolean {
  const utc8 = localDay(clock, day, offsetSec)?.utc8 ?? []
  return validators.some((one) => one.activation <= BigInt(lastEpoch) && hasPartOfLocalDay(one, utc8))
}

/** By a horizon of the offset. */
function shownDays<Row>(
  horizon: Horizon,
  { days, offsetSec }: LocalWindow,
  { rows, missing, validators }: Found<Row>,
): readonly ShownDay<Row>[] {
  const { clock } = horizon
  const { lacking } = lackingDays(horizon, days, missing, offsetSec)
  const isShown = (day: DayNumber, count: number | null): boolean => {
    if (count !== null) return true
    const lastEpoch = epochOf(clock, firstSlotOfDay(clock, day + 1, offsetSec) - 1)
    return isExpected(horizon, validators, { day, lastEpoch }, offsetSec)
  }
  const rowless = [...lacking].filter(([day, count]) => !rows.has(day) && isShown(day, count)).map(([day]) => day)
  return [...rows.keys(), ...rowless]
    .toSorted((one, other) => one - other)
    .map((day) => ({
      ...{ day, row: rows.get(day) },
      completeness: () => completenessOf(horizon, dayAlone(day), missing, offsetSec),
    }))
}

const dayOf = (row: ValidatorDayRow): DayNumber => parseDay(row.day) as DayNumber
const dayAlone = (day: DayNumber): Days => ({ from: day, to: day + 1 })
