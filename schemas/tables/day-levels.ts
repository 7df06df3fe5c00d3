import { textSql } from './literals.ts'

/**
 * How far a validator's day is proven. `agreed`: anchored, and another node has the same states; `anchored`: nothing of its balance is
 * unexplained, and all its epochs were computed of states whose roots the chain names; `consistent`: nothing is unexplained, and what was
 * not computed so was told by reward endpoints; `rounding`: no more than nodes round, where states were not read; `unanchored`: nothing more
 * is unexplained, but an epoch was computed of a state that no block names; `unexplained`: more, so a flow may pass for income that nobody
 * knows; `partial`: a part of the day was followed, which its balances say nothing of.
 */
export type DayLevel = 'agreed' | 'anchored' | 'consistent' | 'rounding' | 'unanchored' | 'unexplained' | 'partial'

/**
 * Of an epoch: how its figures came about. `consistent`: of states that no block names; `reported`: a node's reward endpoints told them.
 */
export type EpochLevel = 'agreed' | 'anchored' | 'consistent' | 'reported'

/** Whether nothing of the balance is unexplained, and no state is doubtful. */
export function isProvenLevel(level: DayLevel | 'reported'): boolean {
  return level === 'agreed' || level === 'anchored' || level === 'consistent'
}

/** The same of a validator, for whom an epoch that was computed leaves something unexplained or nothing; empty before it was told. */
export function levelOfEpoch({
  level,
  residual_gwei: residual,
}: {
  readonly level: EpochLevel | ''
  readonly residual_gwei: string
}): DayLevel | 'reported' {
  if (level === '' || level === 'reported') return 'reported'
  if (residual !== '0') return 'unexplained'
  return level === 'consistent' ? 'unanchored' : level
}

/** Levels of whole days that are in no figure. */
const WITHHELD = ['unexplained', 'unanchored'] as const satisfies readonly DayLevel[]

export function isWithheld(level: DayLevel): boolean {
  return WITHHELD.some((one) => one === level)
}

/** How many days of validators are whole and not proven to the gwei. */
export interface UnprovenDays {
  readonly chain: string
  readonly level: 'rounding' | (typeof WITHHELD)[number]
  readonly validatorDays: number
}

/** Condition on rows of `daily_rewards`: what is unexplained, or made of a state that no block names, is in no figure. */
export const IS_PUBLISHED = `level NOT IN (${WITHHELD.map(textSql).join(', ')})`

/** Conditions on rows of `epoch_proofs`. */
export const IS_ANCHORED = "level IN ('anchored', 'agreed')"
export const IS_UNANCHORED = "level = 'consistent'"

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
    ${whole} AND ${residual} != 0 AND abs(${residual}) > ${roundingMaxSql(epochs)}, 'unexplained',
    ${ofDay(`countIf(${IS_UNANCHORED})`)} > 0, 'unanchored',
    NOT ${whole}, 'partial',
    ${residual} != 0, 'rounding',
    ${ofDay("countIf(level = 'agreed')")} = ${EPOCH_COUNT}, 'agreed',
    ${ofDay(`countIf(${IS_ANCHORED})`)} = ${EPOCH_COUNT}, 'anchored',
    'consistent')`
}
