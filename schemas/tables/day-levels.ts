/**
 * How far a validator's day is proven. `anchored`: nothing of its balance is unexplained, and all its epochs were computed of states whose
 * roots the chain names; `consistent`: nothing is unexplained; `rounding`: no more than nodes round, where states were not read;
 * `unexplained`: more, so a flow may pass for income that nobody knows; `partial`: a part of the day was followed, which its balances say
 * nothing of.
 */
export type DayLevel = 'anchored' | 'consistent' | 'rounding' | 'unexplained' | 'partial'

/** Of an epoch: how its figures came about. */
export type EpochLevel = 'anchored' | 'consistent' | 'reported'

/** Whether nothing of the balance is unexplained. */
export function isProvenLevel(level: DayLevel): boolean {
  return level === 'anchored' || level === 'consistent'
}

/** How many days of validators are whole and not proven to the gwei. */
export interface UnprovenDays {
  readonly chain: string
  readonly level: Extract<DayLevel, 'rounding' | 'unexplained'>
  readonly validatorDays: number
}

/** Condition on rows of `daily_rewards`: what is unexplained is in no figure. */
export const IS_EXPLAINED = "level != 'unexplained'"

/** What a node's rounded rewards leave unexplained of a validator and epoch at most, gwei: head, source, target and inactivity, one each. */
export const ROUNDING_GWEI_MAX = 4

/**
 * Versions of the newest blocks events of a chain's epochs, under a condition on them: rows that another event told of the same epoch do
 * not count, in the ledger and among residuals. Parameter: `chain` String.
 */
export function newestToldSql(epochs: string): string {
  return `SELECT version FROM epoch_proofs FINAL WHERE chain = {chain:String} AND ${epochs}`
}

const EPOCHS_OF_DAY = 'epoch BETWEEN {first_epoch:UInt32} AND {last_transition:UInt32}'
const ofDay = (sum: string): string =>
  `(SELECT ${sum} FROM epoch_proofs FINAL WHERE chain = {chain:String} AND ${EPOCHS_OF_DAY})`
const EPOCH_COUNT = 'toInt64({last_transition:UInt32} - {first_epoch:UInt32} + 1)'

/** Grows whenever anything is told of a day's epochs anew. Parameters as of `dayLevelSql`. */
export const DAY_TOLD_VERSION = ofDay('sum(version)')

/** How much of a validator's day nodes may have rounded away, of which `epochs` epochs are known. Parameters as of `dayLevelSql`. */
export function roundingMaxSql(epochs: string): string {
  return `${ROUNDING_GWEI_MAX} * least(toInt64(${epochs}), ${EPOCH_COUNT} - ${ofDay("toInt64(countIf(level != 'reported'))")})`
}

/**
 * The level of a validator's day, given the names of columns: what is unexplained of its balance, in how many epochs it is known, and
 * whether the day is whole. Closing a day stores it, and `verify` makes it again.
 *
 * Parameters: `chain` String, and `first_epoch` and `last_transition` UInt32, inclusive, the epochs with a slot in the day.
 */
export function dayLevelSql(columns: {
  readonly index: string
  readonly residual: string
  readonly epochs: string
  readonly whole: string
}): string {
  const { index, residual, epochs, whole } = columns
  return `multiIf(
    ${index} IN (
      SELECT validator_index FROM epoch_residuals FINAL
      WHERE chain = {chain:String} AND ${EPOCHS_OF_DAY} AND residual_gwei != 0 AND version IN (${newestToldSql(EPOCHS_OF_DAY)})
    ), 'unexplained',
    NOT ${whole}, 'partial',
    ${residual} = 0, if(${ofDay("countIf(level = 'anchored')")} = ${EPOCH_COUNT}, 'anchored', 'consistent'),
    abs(${residual}) <= ${roundingMaxSql(epochs)}, 'rounding',
    'unexplained')`
}
