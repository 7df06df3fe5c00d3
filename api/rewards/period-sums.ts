import { type DayNumber, firstOfMonth, formatDay } from '../../schemas/eth/time.ts'
import { IS_FIGURE, SUMMED_COLUMNS } from '../../schemas/tables/months.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope, SeenValidator } from '../http/seen-validators.ts'
import { SEEN_BY_INDICES, SEEN_BY_RELATION, seenByParams, seenInStatements } from '../http/small-accounts.ts'
import type { Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import type { ValidatorDayRow } from './validator-days.ts'

const COLUMNS = [...SUMMED_COLUMNS, 'days', 'days_rounded'] as const

/** Sums over figures of validators' days: amounts are gwei, `el_reward_wei` is wei, the others are numbers of what they are called. */
export type PeriodSums = Readonly<Record<(typeof COLUMNS)[number], bigint>>

/** Sums of one period: of one validator, or of all. */
export interface Period {
  /** The day, or the first one of the month. */
  readonly start: DayNumber
  readonly index: number | undefined
  /** Validators with a day in the sums; of days and months of all. */
  readonly validators: number
  readonly sums: PeriodSums
}

export interface PeriodsAsked {
  readonly validators: readonly SeenValidator[]
  readonly days: Days
  readonly by: 'day' | 'month'
  /** Whether each validator has sums of its own. */
  readonly each: boolean
}

export const NO_SUMS = Object.fromEntries(COLUMNS.map((column) => [column, 0n])) as PeriodSums

export function addSums(one: PeriodSums, other: PeriodSums): PeriodSums {
  return Object.fromEntries(COLUMNS.map((column) => [column, one[column] + other[column]])) as PeriodSums
}

/** The sums of one validator's day. */
export function sumsOfDay(row: ValidatorDayRow): PeriodSums {
  return {
    ...(Object.fromEntries(SUMMED_COLUMNS.map((column) => [column, BigInt(row[column])])) as PeriodSums),
    days: 1n,
    days_rounded: row.level === 'rounding' ? 1n : 0n,
  }
}

export function sumPeriods(periods: readonly Period[]): PeriodSums {
  return periods.reduce((sum, { sums }) => addSums(sum, sums), NO_SUMS)
}

type PeriodRow = Readonly<Record<(typeof COLUMNS)[number], string | number>> & {
  readonly start: DayNumber
  readonly validator_index: number
  readonly validators: string
  /** Months of validators of which the account has some of the days. */
  readonly split: readonly (readonly [index: number, month: DayNumber])[]
  readonly moved: string
}

const keyOf = (each: boolean): string => (each ? 'figures.validator_index' : 'toUInt32(0)')

// Rows of months stand for all their days: a month that is in the window as a whole, of a validator that the account has on all days.
const monthsSql = (each: boolean): string => `
  SELECT
    start, key AS validator_index, uniqExactIf(index, is_inside AND of_days > 0) AS validators,
    groupArrayIf((index, start), NOT is_inside) AS split,
    countIf(version != transform(start, {months:Array(UInt16)}, {versions:Array(UInt64)}, toUInt64(0))) AS moved,
    ${COLUMNS.map((column) => `sumIf(of_${column}, is_inside) AS ${column}`).join(', ')}
  FROM
  (
    SELECT
      toUInt16(figures.month) AS start, ${keyOf(each)} AS key, figures.validator_index AS index, figures.version AS version,
      seen.from_day <= toUInt16(figures.first_day) AND toUInt16(figures.last_day) < seen.to_day AS is_inside,
      ${COLUMNS.map((column) => `figures.${column} AS of_${column}`).join(', ')}
    FROM
    (
      SELECT month, validator_index, first_day, last_day, version, ${COLUMNS.join(', ')} FROM monthly_rewards FINAL
      WHERE chain = {chain:String} AND month IN {monthDates:Array(Date)} AND validator_index IN ${SEEN_BY_INDICES}
    ) AS figures
    INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = figures.validator_index
    WHERE seen.from_day <= toUInt16(figures.last_day) AND toUInt16(figures.first_day) < seen.to_day
  )
  GROUP BY start, key`

const daysSql = (each: boolean, start: string, where: string): string => `
  SELECT
    ${start} AS start, ${keyOf(each)} AS validator_index, uniqExact(figures.validator_index) AS validators,
    []::Array(Tuple(UInt32, UInt16)) AS split, 0 AS moved,
    ${SUMMED_COLUMNS.map((column) => `sum(figures.${column}) AS ${column}`).join(', ')},
    count() AS days, countIf(figures.level = 'rounding') AS days_rounded
  FROM
  (
    SELECT day, validator_index, level, ${SUMMED_COLUMNS.join(', ')} FROM daily_rewards FINAL
    WHERE chain = {chain:String} AND day IN {days:Array(Date)} AND validator_index IN ${SEEN_BY_INDICES}
      AND ${IS_FIGURE} AND ${where}
  ) AS figures
  INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = figures.validator_index
  WHERE seen.from_day <= toUInt16(figures.day) AND toUInt16(figures.day) < seen.to_day
  GROUP BY start, validator_index`

const DAY = 'toUInt16(figures.day)'
const MONTH = 'toUInt16(toStartOfMonth(figures.day))'
const IS_SPLIT = `(validator_index, toUInt16(toStartOfMonth(day))) IN (
      SELECT arrayJoin(arrayZip({splitIndices:Array(UInt32)}, {splitMonths:Array(UInt16)}))
    )`

type Asking = AccountScope & Pick<PeriodsAsked, 'validators' | 'each'> & { readonly reader: AccountScope['shared'] }

/**
 * Sums of closed days in the window on which the account sees these validators, by day or month, ascending. Whole months are read from
 * their rows, as totals are; what is left of a window by day.
 */
export async function periodSums(
  scope: AccountScope & { readonly warehouse: AccountScope['shared'] },
  horizon: Horizon,
  { validators, days, by, each }: PeriodsAsked,
): Promise<readonly Period[]> {
  const found = new Map<string, Period>()
  for (const some of seenInStatements(validators)) {
    const asking: Asking = { ...scope, reader: scope.warehouse, validators: some, each }
    const rows = await (by === 'day' ? selectDays(asking, horizon, days, DAY) : selectMonths(asking, horizon, days))
    for (const row of rows) {
      const period = toPeriod(row, each)
      const key = `${period.start}/${period.index}`
      const known = found.get(key)
      found.set(key, known === undefined ? period : joinPeriods(known, period))
    }
  }
  return [...found.values()]
    .filter(({ sums }) => sums.days > 0n)
    .toSorted((one, other) => one.start - other.start || (one.index ?? 0) - (other.index ?? 0))
}

async function selectMonths(asking: Asking, horizon: Horizon, { from, to }: Days): Promise<readonly PeriodRow[]> {
  const closed = horizon.closedDays.map(({ day }) => day)
  const isIn = (day: DayNumber): boolean => from <= day && day < to
  const cut = new Set(closed.filter((day) => !isIn(day)).map(firstOfMonth))
  const months = [...horizon.summedMonths].filter(
    ([month]) => !cut.has(month) && closed.some((day) => firstOfMonth(day) === month),
  )
  const isWhole = new Set(months.map(([month]) => month))
  const window = closed.filter(isIn)
  const rest = window.filter((day) => !isWhole.has(firstOfMonth(day)))
  const sql = monthsSql(asking.each)
  const rows =
    months.length === 0
      ? []
      : await asking.reader.query<PeriodRow>(sql, {
          chain: horizon.chain,
          months: months.map(([month]) => month),
          monthDates: months.map(([month]) => formatDay(month)),
          versions: months.map(([, version]) => BigInt(version)),
          ...seenByParams([asking.validators]),
        })
  // Rows that were written since the horizon was read have other days.
  if (rows.some(({ moved }) => moved !== '0')) return await readDays(asking, horizon, window, MONTH)
  // A month of which the account has the validator in two parts is there once for each of them.
  const splits = new Map(rows.flatMap(({ split }) => split.map((one) => [one.join('/'), one])))
  const found = await askInParts([...splits.values()], NUMBERS_PER_STATEMENT, (some) => {
    const months = new Set(some.map(([, month]) => month))
    const days = window.filter((day) => months.has(firstOfMonth(day)))
    return readDays(asking, horizon, days, MONTH, some)
  })
  return [...rows, ...(await readDays(asking, horizon, rest, MONTH)), ...found]
}

function selectDays(
  asking: Asking,
  horizon: Horizon,
  { from, to }: Days,
  start: string,
): Promise<readonly PeriodRow[]> {
  const days = horizon.closedDays.map(({ day }) => day).filter((day) => from <= day && day < to)
  return readDays(asking, horizon, days, start)
}

async function readDays(
  { reader, validators, each }: Asking,
  { chain }: Horizon,
  days: readonly DayNumber[],
  start: string,
  splits?: readonly (readonly [index: number, month: DayNumber])[],
): Promise<readonly PeriodRow[]> {
  if (days.length === 0) return []
  return await reader.query<PeriodRow>(daysSql(each, start, splits === undefined ? '1' : IS_SPLIT), {
    chain,
    days: days.map(formatDay),
    ...seenByParams([validators]),
    splitIndices: splits?.map(([index]) => index) ?? [],
    splitMonths: splits?.map(([, month]) => month) ?? [],
  })
}

function toPeriod(row: PeriodRow, each: boolean): Period {
  return {
    start: row.start,
    index: each ? row.validator_index : undefined,
    validators: Number(row.validators),
    sums: Object.fromEntries(COLUMNS.map((column) => [column, BigInt(row[column])])) as PeriodSums,
  }
}

/** Of different validators, or of different days of one: a validator of two parts of a month is counted with each. */
function joinPeriods(one: Period, other: Period): Period {
  return { ...one, validators: one.validators + other.validators, sums: addSums(one.sums, other.sums) }
}
