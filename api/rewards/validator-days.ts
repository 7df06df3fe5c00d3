import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { formatDay, parseDay } from '../../schemas/eth/time.ts'
import { SUMMED_COLUMNS } from '../../schemas/tables/months.ts'
import type { DailyRewardRow } from '../../schemas/tables/rewards.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import { type AccountScope, isIn, type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import type { Horizon } from './horizon.ts'
import { type Days, SPAN_DAYS, spansOf } from './kept-spans.ts'

const COLUMNS = [
  'day',
  'validator_index',
  ...SUMMED_COLUMNS,
  'blocks_unexplained',
  'balance_start_gwei',
  'balance_end_gwei',
  'level',
] as const satisfies readonly (keyof DailyRewardRow)[]

/** A closed day of a validator, whatever its level. */
export type ValidatorDayRow = Pick<DailyRewardRow, (typeof COLUMNS)[number]>

/**
 * Validators up to which days are read in the order of validators, where each has its days of a month side by side: in the order of days
 * every day would be opened for them. Rows of that order are not made one by FINAL, which the engine reads in the table's own order alone.
 */
export const BY_VALIDATOR_MAX = 100

/** Rows of one span up to which those of all the account's validators are read at once and kept; beyond, and of longer ranges, those asked for. */
const SPAN_ROWS_MAX = 5_000

const spanMemo = new StandingMemo<readonly ValidatorDayRow[]>((rows) => rows.length)

/**
 * Closed days of several of the account's validators, those of each by date: on which it sees the validator.
 * Days that are not whole are left out.
 */
export async function validatorDays(
  scope: AccountScope & { readonly warehouse: WarehouseReader },
  horizon: Horizon,
  { indices, days }: { readonly indices: ReadonlySet<number>; readonly days: Days },
): Promise<readonly ValidatorDayRow[]> {
  const { registered } = await seenValidators(scope)
  if (days.to - days.from > SPAN_DAYS || registered.length * SPAN_DAYS > SPAN_ROWS_MAX) {
    const validators = registered.filter(({ index }) => indices.has(index))
    return selectDays(scope.warehouse, horizon, { validators, days })
  }
  const spans = spansOf(days).toReversed()
  const rows = await Promise.all(
    spans.map((span) =>
      spanMemo.of(scope.standing, JSON.stringify([scope.account, span.from]), () =>
        selectDays(scope.shared, horizon, { validators: registered, days: span }),
      ),
    ),
  )
  const [from, to] = [formatDay(days.from), formatDay(days.to)]
  return rows.flat().filter((row) => from <= row.day && row.day < to && indices.has(row.validator_index))
}

const OF_VALIDATORS = `chain = {chain:String} AND day >= {from:Date} AND day < {to:Date} AND validator_index IN {indices:Array(UInt32)}`
export const DAYS_BY_DAY = `
  SELECT ${COLUMNS.join(', ')} FROM daily_rewards FINAL
  WHERE ${OF_VALIDATORS} AND is_whole = 1
  ORDER BY day, validator_index`
export const DAYS_BY_VALIDATOR = `
  SELECT ${COLUMNS.join(', ')} FROM (
    SELECT ${COLUMNS.join(', ')}, is_whole FROM daily_rewards
    WHERE ${OF_VALIDATORS}
    ORDER BY version DESC LIMIT 1 BY day, validator_index
  )
  WHERE is_whole = 1
  ORDER BY day, validator_index`

async function selectDays(
  warehouse: WarehouseReader,
  { chain, closedDays }: Horizon,
  { validators, days }: { readonly validators: readonly SeenValidator[]; readonly days: Days },
): Promise<readonly ValidatorDayRow[]> {
  const intervals = new Map(validators.map((validator) => [validator.index, validator.intervals]))
  const window = { chain, from: formatDay(days.from), to: formatDay(days.to) }
  const sql = intervals.size > BY_VALIDATOR_MAX ? DAYS_BY_DAY : DAYS_BY_VALIDATOR
  const rows = await askInParts([...intervals.keys()], NUMBERS_PER_STATEMENT, (indices) =>
    warehouse.query<ValidatorDayRow>(sql, { ...window, indices }),
  )
  // Here and not in the statement: joins take several times as long as reading the rows.
  const closed = new Set(closedDays.map(({ day }) => day))
  return rows.filter((row) => {
    const day = parseDay(row.day)
    return day !== undefined && closed.has(day) && intervals.get(row.validator_index)?.some((seen) => isIn(seen, day))
  })
}
