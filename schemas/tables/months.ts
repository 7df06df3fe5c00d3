import { IS_PUBLISHED } from './day-levels.ts'
import type { DailyRewardRow } from './rewards.ts'

/** Columns of `daily_rewards` that months add up under the same names. */
export const SUMMED_COLUMNS = [
  'source_gwei',
  'target_gwei',
  'head_gwei',
  'inactivity_gwei',
  'sync_gwei',
  'proposer_gwei',
  'slashing_penalty_gwei',
  'cl_reward_gwei',
  'el_reward_wei',
  'blocks',
  'deposits_gwei',
  'withdrawals_gwei',
  'returned_from_queue_gwei',
  'moved_to_queue_gwei',
  'consolidations_in_gwei',
  'consolidations_out_gwei',
  'residual_gwei',
  'active_epochs',
  'effective_balance_epochs_gwei',
] as const satisfies readonly (keyof DailyRewardRow)[]

/** Condition on rows of `daily_rewards` that are figures of a day: the others are counted at most in totals. */
export const IS_FIGURE = `(is_whole = 1 AND ${IS_PUBLISHED})`

interface MonthSum {
  /** Of `monthly_rewards`. */
  readonly column: string
  /** Of one validator's rows of `daily_rewards` of the month. */
  readonly sql: string
}

/** How a validator's month is made of its closed days, column by column. Closing a day stores it, and `verify` makes it again. */
export const MONTH_SUMS: readonly MonthSum[] = [
  { column: 'days', sql: `toUInt8(countIf(${IS_FIGURE}))` },
  { column: 'days_whole', sql: `groupBitOr(bitShiftLeft(toUInt32(${IS_FIGURE}), toUInt8(toDayOfMonth(day) - 1)))` },
  { column: 'days_rounded', sql: `toUInt8(countIf(${IS_FIGURE} AND level = 'rounding'))` },
  ...SUMMED_COLUMNS.map((column) => ({ column, sql: `sumIf(${column}, ${IS_FIGURE})` })),
  { column: 'balance_start_gwei', sql: `argMinIf(balance_start_gwei, day, ${IS_FIGURE})` },
  { column: 'balance_end_gwei', sql: `argMaxIf(balance_end_gwei, day, ${IS_FIGURE})` },
  { column: 'total_cl_reward_gwei', sql: `sumIf(cl_reward_gwei, ${IS_PUBLISHED})` },
  { column: 'total_el_reward_wei', sql: `sumIf(el_reward_wei, ${IS_PUBLISHED})` },
  { column: 'first_day', sql: 'min(day)' },
  { column: 'last_day', sql: 'max(day)' },
  { column: 'days_unexplained', sql: `arraySort(groupArrayIf(day, NOT ${IS_PUBLISHED}))` },
]
