import { blockRevenuesSql, CLAIMED_CLASSES_SQL } from './block-revenues.ts'
import { newestToldSql } from './day-levels.ts'
import { NO_EXECUTION_BLOCK } from './execution.ts'
import { IS_SLASHING, IS_WITHDRAWAL } from './rewards.ts'

/** Condition on rows of `validator_epochs`: at the epoch's end the validator has duties, and earns or loses by them. */
const IS_ACTIVE = 'activation_epoch <= epoch AND epoch < exit_epoch'

/** Which day a row of the detail is of. */
interface DaysOfRows {
  /** By the slot, an expression. */
  readonly dayOf: (slot: string) => string
  /** Condition on `finalized_blocks AS f` that takes in the days' blocks, those of a UTC+8 day all or none. */
  readonly blocks: string
}

const UTC8_DAYS: DaysOfRows = {
  dayOf: () => 'day',
  blocks: 'f.slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64} AND has({days:Array(Date)}, f.day)',
}

/**
 * Days by another offset from UTC. More parameters: `genesis` UInt64 and `offset_sec` Int32, seconds, `slot_sec` and `epoch_slots` UInt32,
 * and `utc8_days` Array(Date), all that the days lie in.
 */
export const LOCAL_DAYS: DaysOfRows = {
  dayOf: (slot) =>
    `toDate(toUInt16(intDiv({genesis:UInt64} + ${slot} * {slot_sec:UInt32} + {offset_sec:Int32}, 86400)))`,
  blocks: 'has({utc8_days:Array(Date)}, f.day)',
}

/**
 * Income and flows of validators by UTC+8 day, summed from the detail: one row per validator and day of which a transition is
 * known. It is the one place where a day's figure is made: closing a day stores it, `verify` compares it with what is stored, and
 * totals sum it over the days that are not closed yet.
 *
 * Parameters: `chain` String, `days` Array(Date), and the epochs and slots that the days lie in, `first_epoch`, `first_transition` and
 * `last_transition` UInt32, `first_slot` and `last_slot` UInt64, inclusive; the first epoch may begin before the days. `validators` makes a condition on a column of indices, if
 * not all are wanted; `epochs` is a subquery of epochs, where some in between do not count (a closed day has all of its own, an open one
 * may have gaps). A day is told by the columns `day` of the detail: the epoch's first slot for what its transition
 * credits, the slot of a block for the rest.
 */
export function validatorDaysSql(
  validators?: (index: string) => string,
  epochs?: string,
  days: DaysOfRows = UTC8_DAYS,
): string {
  return daysSql(
    { validators, epochs, days },
    {
      columns:
        'x.revenue AS revenue, x.blocks AS blocks, x.blocks_unexplained AS blocks_unexplained, x.unexplained AS unexplained,',
      versions: 'e.versions + x.versions',
      join: `LEFT JOIN (${dayRevenuesSql(validators, epochs, days)}
  ) AS x ON x.day = e.day AND x.validator_index = e.validator_index`,
    },
  )
}

/** The same without revenue: a statement that has it takes several times as long to begin. */
export function consensusDaysSql(validators: (index: string) => string, epochs: string): string {
  return daysSql({ validators, epochs, days: UTC8_DAYS }, { columns: '', versions: 'e.versions', join: '' })
}

interface AskedDays {
  readonly validators: ((index: string) => string) | undefined
  readonly epochs: string | undefined
  readonly days: DaysOfRows
}

function daysSql(
  { validators, epochs, days: { dayOf } }: AskedDays,
  revenue: { readonly columns: string; readonly versions: string; readonly join: string },
): string {
  const day = { epoch: dayOf('epoch * {epoch_slots:UInt32}'), slot: dayOf('slot') }
  const conditions = `${countedIn(epochs)} ${validators === undefined ? '' : `AND ${validators('validator_index')}`}`
  return `
  SELECT
    e.day AS day, e.validator_index AS validator_index,
    e.source AS source, e.target AS target, e.head AS head, e.inactivity AS inactivity,
    l.sync AS sync, l.proposer AS proposer, l.slashing_penalty AS slashing_penalty,
    ${CREDITED} + ${ENTERED} AS cl_reward,
    l.deposits AS deposits, l.withdrawals AS withdrawals, l.returned AS returned, l.moved AS moved,
    l.consolidated_in AS consolidated_in, l.consolidated_out AS consolidated_out,
    l.deposits + l.withdrawals + l.returned + l.moved + l.consolidated_in + l.consolidated_out AS flows,
    ${revenue.columns}
    e.first_epoch AS first_epoch, e.epochs AS epochs, e.active_epochs AS active_epochs,
    e.effective_balance_epochs AS effective_balance_epochs, l.first_deposit_epoch AS first_deposit_epoch,
    ${revenue.versions} AS versions
  FROM (${transitionsSql(day.epoch, conditions)}
  ) AS e
  LEFT JOIN (${entriesSql(day.slot, conditions)}
  ) AS l ON l.day = e.day AND l.validator_index = e.validator_index
  ${revenue.join}`
}

/** What the two parts of the detail say of a validator's income on a day, gwei: `e` of `transitionsSql`, `l` of `entriesSql`. */
const CREDITED = 'e.source + e.target + e.head + e.inactivity'
const ENTERED = 'l.sync + l.proposer + l.slashing_penalty'

/** What transitions credit, by day and validator. `day` is that of an epoch, an expression, and so are further conditions. */
const transitionsSql = (day: string, conditions: string): string => `
    SELECT
      ${day} AS day, validator_index, sum(source_gwei) AS source, sum(target_gwei) AS target, sum(head_gwei) AS head,
      sum(inactivity_gwei) AS inactivity, min(epoch) AS first_epoch, count() AS epochs, countIf(${IS_ACTIVE}) AS active_epochs,
      sumIf(effective_balance_gwei, ${IS_ACTIVE}) AS effective_balance_epochs, sum(version) AS versions
    FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
      AND ${isAsked(day)} ${conditions}
    GROUP BY ${day}, validator_index`

/** What blocks and queues change, by the day of the slot, likewise. */
const entriesSql = (day: string, conditions: string): string => `
    SELECT
      ${day} AS day, validator_index,
      sumIf(amount_gwei, kind = 'sync') AS sync, sumIf(amount_gwei, kind = 'proposer') AS proposer,
      sumIf(amount_gwei, ${IS_SLASHING}) AS slashing_penalty,
      sumIf(amount_gwei, kind = 'deposit') AS deposits, sumIf(amount_gwei, ${IS_WITHDRAWAL}) AS withdrawals,
      sumIf(amount_gwei, kind = 'returned_from_queue') AS returned, sumIf(amount_gwei, kind = 'moved_to_queue') AS moved,
      sumIf(amount_gwei, kind = 'consolidation_in') AS consolidated_in,
      sumIf(amount_gwei, kind = 'consolidation_out') AS consolidated_out,
      minIf(epoch, kind = 'deposit') AS first_deposit_epoch
    FROM ledger_entries FINAL
    WHERE chain = {chain:String} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
      AND version IN (${newestToldSql('epoch BETWEEN {first_epoch:UInt32} AND {last_transition:UInt32}')})
      AND ${isAsked(day)} ${conditions}
    GROUP BY ${day}, validator_index`

/**
 * Parts of `consensusDaysSql` of all validators, whose sums over epochs, and over both kinds of rows, are its rows: as words (six each),
 * the day's number, the validator's index, what it earned (gwei, 64 bits), and of the transitions' rows the first epoch and how many
 * there are; of others, which count only where there are such, zeros. Parameters as there.
 */
export function consensusPartsSql(epochs: string): string {
  const counted = countedIn(epochs)
  const row = (of: string, gwei: string, rest: string): string =>
    `SELECT toUInt32(toUInt16(${of}.day)), ${of}.validator_index, toInt64(${gwei}), ${rest}`
  return `
  ${row('e', CREDITED, 'toUInt32(e.first_epoch), toUInt32(e.epochs)')} FROM (${transitionsSql('day', counted)}) AS e
  UNION ALL
  ${row('l', ENTERED, 'toUInt32(0), toUInt32(0)')} FROM (${entriesSql('day', counted)}) AS l
  WHERE ${ENTERED} != 0`
}

/**
 * What the blocks of proposers paid, by UTC+8 day: the part of `validatorDaysSql` that is revenue, with its parameters. A block counts on a
 * day of which the proposer has a row there. `blocks_unread` are those whose execution block is not there: what they paid is in no sum yet.
 */
export function dayRevenuesSql(
  validators?: (index: string) => string,
  epochs?: string,
  { dayOf, blocks }: DaysOfRows = UTC8_DAYS,
): string {
  const day = dayOf('slot')
  const mine = validators === undefined ? '' : `AND ${validators('f.proposer_index')}`
  return `
    SELECT
      ${day} AS day, proposer_index AS validator_index, sum(revenue_wei) AS revenue, toUInt32(count()) AS blocks,
      toUInt32(countIf(revenue_class IN ${CLAIMED_CLASSES_SQL})) AS blocks_unexplained,
      toUInt32(countIf(revenue_class = '' AND block_hash != '${NO_EXECUTION_BLOCK}')) AS blocks_unread,
      sumIf(claimed_wei, revenue_class IN ${CLAIMED_CLASSES_SQL}) AS unexplained, sum(version) AS versions
    FROM (${blockRevenuesSql(`f.chain = {chain:String} AND ${blocks} ${mine}`)})
    WHERE ${isAsked(day)} ${countedIn(epochs)}
    GROUP BY ${day}, proposer_index`
}

const isAsked = (day: string): string => `has({days:Array(Date)}, ${day})`
const countedIn = (epochs: string | undefined): string => (epochs === undefined ? '' : `AND epoch IN (${epochs})`)
