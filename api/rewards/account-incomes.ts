import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { type DayNumber, firstOfMonth, formatDay } from '../../schemas/eth/time.ts'
import { END_OF_DAYS } from '../../schemas/ownership.ts'
import { IS_PUBLISHED } from '../../schemas/tables/day-levels.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import { type AccountScope, type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import {
  readTogether,
  SEEN_BY_INDICES,
  SEEN_BY_RELATION,
  seenByParams,
  seenInStatements,
} from '../http/small-accounts.ts'
import { activationsOf } from './activations.ts'
import { activatedAt } from './expected-validators.ts'
import type { ClosedDay, Horizon } from './horizon.ts'
import { byPlace, type IncomeRow, incomeSql, ON_ITS_DAYS } from './income-rows.ts'
import { openIncomes } from './open-incomes.ts'
import type { ToldDay } from './open-lacks.ts'

export interface Income {
  readonly elRewardWei: bigint
  readonly clRewardGwei: bigint
}

export const NO_INCOME: Income = { elRewardWei: 0n, clRewardGwei: 0n }

export function addIncome(one: Income, other: Income): Income {
  return {
    elRewardWei: one.elRewardWei + other.elRewardWei,
    clRewardGwei: one.clRewardGwei + other.clRewardGwei,
  }
}

export interface Incomes {
  /** By validator index. */
  readonly incomes: ReadonlyMap<number, Income>
  /** How many validators are not counted on a day, because nothing explains what they have. */
  readonly unproven: ReadonlyMap<DayNumber, number>
  /** Closed days by whose end a validator was activated, and of which it has a whole row that is explained, by index. */
  readonly wholeDays: ReadonlyMap<number, number>
  /** Open days of which it has something that is explained, and on which the account sees it, by index. */
  readonly openDays: ReadonlyMap<number, readonly ToldDay[]>
}

interface ClosedRow extends IncomeRow {
  /** Closed days that are whole, and explained; not those before it is active. */
  readonly whole_days: string
}

interface MonthsRow extends ClosedRow {
  /** Months of which the account has the validator on some of the days. */
  readonly split: readonly DayNumber[]
  /** Rows that were written since the horizon was read, and have other days. */
  readonly moved: string
}

/** First closed day by whose end the validator of a row is activated. */
const ACTIVE_FROM = 'toUInt16(seen.active)'
/** Days that a month has at most. */
const MONTH_DAYS_MAX = 31

// Of a month the lowest bits of days_whole are those of the days before one.
const MONTHS_INCOME = `
  SELECT
    nth, validator_index, sumIf(el, is_inside) AS el_reward_wei, sumIf(cl, is_inside) AS cl_reward_gwei,
    groupArrayArrayIf(unexplained, is_inside) AS unproven, groupArrayIf(month, NOT is_inside) AS split,
    sumIf(bitCount(bitShiftRight(days_whole, least(greatest(active_from - month, 0), ${MONTH_DAYS_MAX}))), is_inside) AS whole_days,
    countIf(version != transform(month, {months:Array(UInt16)}, {versions:Array(UInt64)}, toUInt64(0))) AS moved
  FROM
  (
    SELECT
      seen.nth AS nth, sums.validator_index AS validator_index, sums.month AS month, sums.el AS el, sums.cl AS cl, sums.unexplained AS unexplained,
      sums.days_whole AS days_whole, ${ACTIVE_FROM} AS active_from, sums.version AS version, seen.from_day <= sums.first AND sums.last < seen.to_day AS is_inside
    FROM
    (
      SELECT
        toUInt16(month) AS month, validator_index, total_el_reward_wei AS el, total_cl_reward_gwei AS cl,
        toUInt16(first_day) AS first, toUInt16(last_day) AS last, days_unexplained::Array(UInt16) AS unexplained, days_whole, version
      FROM monthly_rewards FINAL
      WHERE chain = {chain:String} AND month IN {monthDates:Array(Date)} AND validator_index IN ${SEEN_BY_INDICES}
    ) AS sums
    INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = sums.validator_index
    WHERE seen.from_day <= sums.last AND sums.first < seen.to_day
  )
  GROUP BY nth, validator_index`

const daysIncome = (isCounted: string): string => `
  SELECT ${incomeSql('income.el', 'income.cl')}, []::Array(UInt16) AS split,
    countIf(income.is_whole = 1 AND income.is_explained AND ${ACTIVE_FROM} <= toUInt16(income.day)) AS whole_days, 0 AS moved
  FROM
  (
    SELECT day, validator_index, el_reward_wei AS el, cl_reward_gwei AS cl, is_whole, ${IS_PUBLISHED} AS is_explained
    FROM daily_rewards FINAL
    WHERE chain = {chain:String} AND day IN {days:Array(Date)} AND validator_index IN ${SEEN_BY_INDICES}
  ) AS income
  INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = income.validator_index
  WHERE ${ON_ITS_DAYS} AND ${isCounted}
  GROUP BY seen.nth, income.validator_index`
const DAYS_INCOME = daysIncome('1')
// An account that has all of a month counts it by its sums, though another one has a part of it.
const SPLIT_INCOME = daysIncome(`(seen.nth, income.validator_index, toUInt16(toStartOfMonth(income.day))) IN (
      SELECT arrayJoin(arrayZip({splitNth:Array(UInt16)}, {splitIndices:Array(UInt32)}, {splitMonths:Array(UInt16)}))
    )`)

/**
 * Closed days come from their rows (whole or not), open days from the detail, never both: the horizon tells which is which. Rows of
 * closed days are read by month where their sums are there, by day otherwise. A validator's income counts on the days on which the account
 * sees it.
 */
export async function selectIncomes(scope: AccountScope, horizon: Horizon): Promise<Incomes> {
  const { registered } = await seenValidators(scope)
  const incomes = new Map<number, Income>()
  const unproven = new Map<DayNumber, number>()
  const wholeDays = new Map<number, number>()
  const openDays = new Map<number, readonly ToldDay[]>()
  const activations = await activationsOf(scope, horizon)
  for (const some of seenInStatements(registered)) {
    const [closed, open] = await Promise.all([
      readTogether(scope, 'closed incomes', { some, activations }, async (warehouse, items) =>
        byPlace(items, await closedRows(warehouse, horizon, items)),
      ),
      openIncomes(scope, horizon, some),
    ])
    const add = (index: number, income: Income, days: readonly DayNumber[]): void => {
      incomes.set(index, addIncome(incomes.get(index) ?? NO_INCOME, income))
      for (const day of days) unproven.set(day, (unproven.get(day) ?? 0) + 1)
    }
    for (const row of closed) {
      const { validator_index: index } = row
      add(index, { elRewardWei: BigInt(row.el_reward_wei), clRewardGwei: BigInt(row.cl_reward_gwei) }, row.unproven)
      wholeDays.set(index, (wholeDays.get(index) ?? 0) + Number(row.whole_days))
    }
    for (const { index, elRewardWei, clRewardGwei, explained, unproven: days } of open) {
      add(index, { elRewardWei, clRewardGwei }, days)
      openDays.set(index, explained)
    }
  }
  return { incomes, unproven, wholeDays, openDays }
}

interface ActivatedValidators {
  readonly some: readonly SeenValidator[]
  /** Epochs, by index. */
  readonly activations: ReadonlyMap<number, bigint>
}

async function closedRows(
  warehouse: WarehouseReader,
  { chain, summedMonths, closedDays }: Horizon,
  items: readonly ActivatedValidators[],
): Promise<readonly ClosedRow[]> {
  const daysOf = (isIn: (month: DayNumber) => boolean): readonly string[] =>
    closedDays.filter(({ day }) => isIn(firstOfMonth(day))).map(({ day }) => formatDay(day))
  const activeFrom = activeDays(closedDays)
  const activeOf = (index: number, nth: number) => activeFrom(items[nth]?.activations.get(index) ?? FAR_FUTURE_EPOCH)
  const seenBy = (isAsked: (index: number, nth: number) => boolean) =>
    seenByParams(
      items.map(({ some }, nth) => some.filter(({ index }) => isAsked(index, nth))),
      activeOf,
    )
  const mine = { chain, ...seenBy(() => true) }
  const days = daysOf((month) => !summedMonths.has(month))
  const rows = await warehouse.query<MonthsRow>(
    days.length === 0 ? MONTHS_INCOME : `${MONTHS_INCOME} UNION ALL ${DAYS_INCOME}`,
    {
      ...mine,
      months: [...summedMonths.keys()],
      monthDates: [...summedMonths.keys()].map(formatDay),
      versions: [...summedMonths.values()].map(BigInt),
      days,
    },
  )
  if (rows.some(({ moved }) => moved !== '0'))
    return await warehouse.query<ClosedRow>(DAYS_INCOME, { ...mine, days: daysOf(() => true) })
  // A month of which the account has the validator in two parts is there once for each of them.
  const splits = rows.flatMap(({ split, ...of }) => [...new Set(split)].map((month) => ({ month, ...of })))
  const found = await askInParts(splits, NUMBERS_PER_STATEMENT, (some) => {
    const splitMonths = some.map(({ month }) => month)
    const ofMonths = new Set(splitMonths)
    const splitIndices = some.map(({ validator_index }) => validator_index)
    const splitNth = some.map(({ nth }) => nth)
    const isSplit = new Set(some.map(({ nth, validator_index: index }) => `${nth}/${index}`))
    const ofSplits = { splitMonths, splitIndices, splitNth, days: daysOf((month) => ofMonths.has(month)) }
    const seen = seenBy((index, nth) => isSplit.has(`${nth}/${index}`))
    return warehouse.query<ClosedRow>(SPLIT_INCOME, { chain, ...seen, ...ofSplits })
  })
  return [...rows, ...found]
}

/** The first closed day by whose end a validator is active that is activated in an epoch. */
function activeDays(closedDays: readonly ClosedDay[]): (activation: bigint) => bigint {
  const known = new Map<bigint, bigint>()
  return (activation) => {
    const day = known.get(activation) ?? BigInt(closedDays[activatedAt(activation, closedDays)]?.day ?? END_OF_DAYS)
    known.set(activation, day)
    return day
  }
}
