import type { DayNumber } from '../../schemas/eth/time.ts'

/** What statements tell of a validator that an account sees. */
export interface IncomeRow {
  /** Of the accounts that are asked for together. */
  readonly nth: number
  readonly validator_index: number
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  /** Days on which what it has is not explained: they are in no sum. */
  readonly unproven: readonly DayNumber[]
}

/** The columns of an `IncomeRow`, of rows `income` of validators and days that were joined with who sees them, `seen`. */
export const incomeSql = (el: string, cl: string): string => `
  seen.nth AS nth, income.validator_index AS validator_index, sumIf(${el}, income.is_explained) AS el_reward_wei,
  sumIf(${cl}, income.is_explained) AS cl_reward_gwei, groupArrayIf(toUInt16(income.day), NOT income.is_explained) AS unproven`

/** Condition on these rows. */
export const ON_ITS_DAYS = `seen.from_day <= toUInt16(income.day) AND toUInt16(income.day) < seen.to_day`

/** Of rows of several accounts, those of each. */
export function byPlace<Row extends Pick<IncomeRow, 'nth'>>(
  accounts: readonly unknown[],
  rows: readonly Row[],
): readonly Row[][] {
  return accounts.map((_, nth) => rows.filter((row) => row.nth === nth))
}
