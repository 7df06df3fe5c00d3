import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import type { ExecutionBlockRow } from '../../schemas/tables/execution.ts'
import type { DailyRewardRow, FinalizedBlockRow, ValidatorEpochRow } from '../../schemas/tables/rewards.ts'
import { ACCOUNT_VALIDATORS } from '../http/select-accounts.ts'

/**
 * Closed days of `[from, to)` of several validators, by validator and date: those on which the account sees the validator. Days
 * that are not whole are left out.
 */
export function selectValidatorDays(
  warehouse: WarehouseReader,
  query: {
    readonly chain: string
    readonly account: string
    readonly indices: readonly number[]
    readonly from: DayNumber
    readonly to: DayNumber
  },
): Promise<DailyRewardRow[]> {
  const { chain, account, indices } = query
  return warehouse.query<DailyRewardRow>(
    `SELECT rewards.*
     FROM
     (
       SELECT * FROM daily_rewards FINAL
       WHERE chain = {chain:String} AND day >= {from:Date} AND day < {to:Date}
         AND is_whole = 1
         AND day IN (SELECT day FROM closed_days WHERE chain = {chain:String})
         AND validator_index IN {indices:Array(UInt32)}
     ) AS rewards
     INNER JOIN (${ACCOUNT_VALIDATORS}) AS mine ON mine.validator_index = rewards.validator_index
     WHERE mine.from_day <= rewards.day AND rewards.day < mine.to_day
     ORDER BY validator_index, day`,
    { chain, account, indices, from: formatDay(query.from), to: formatDay(query.to) },
  )
}

export interface EpochRange {
  readonly chain: string
  readonly indices: readonly number[]
  readonly fromEpoch: number
  readonly toEpoch: number
}

/** Epochs of `[fromEpoch, toEpoch)` of several validators on the given days, by validator and epoch. */
export function selectValidatorEpochs(
  warehouse: WarehouseReader,
  range: EpochRange & { readonly days: readonly string[] },
): Promise<ValidatorEpochRow[]> {
  // The range lets the sort key skip what the days alone could not.
  return warehouse.query<ValidatorEpochRow>(
    `SELECT * FROM validator_epochs FINAL
     WHERE chain = {chain:String} AND epoch >= {fromEpoch:UInt32} AND epoch < {toEpoch:UInt32}
       AND day IN {days:Array(Date)}
       AND validator_index IN {indices:Array(UInt32)}
     ORDER BY validator_index, epoch`,
    { ...range },
  )
}

/** A finalized block; the execution fields are empty while its execution block is not known. */
export interface ProposalRow extends FinalizedBlockRow {
  readonly revenue_wei: string
  readonly claimed_wei: string
  readonly revenue_class: ExecutionBlockRow['revenue_class'] | ''
  readonly recipient: string
}

/** Finalized blocks of slots `[fromSlot, toSlot)` by several proposers, by slot. */
export function selectProposals(
  warehouse: WarehouseReader,
  range: {
    readonly chain: string
    readonly indices: readonly number[]
    readonly fromSlot: number
    readonly toSlot: number
  },
): Promise<ProposalRow[]> {
  const own = `chain = {chain:String} AND slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64}
    AND proposer_index IN {indices:Array(UInt32)}`
  return warehouse.query<ProposalRow>(
    `SELECT proposals.*, blocks.revenue_wei AS revenue_wei, blocks.claimed_wei AS claimed_wei,
            toString(blocks.revenue_class) AS revenue_class,
            blocks.recipient_text AS recipient
     FROM (SELECT * FROM finalized_blocks FINAL WHERE ${own}) AS proposals
     LEFT JOIN
     (
       SELECT block_hash, revenue_wei, claimed_wei, revenue_class, toString(recipient) AS recipient_text
       FROM execution_blocks FINAL
       WHERE chain = {chain:String}
         AND block_hash IN (SELECT execution_block_hash FROM finalized_blocks WHERE ${own})
     ) AS blocks ON proposals.execution_block_hash = blocks.block_hash
     ORDER BY slot`,
    { ...range },
  )
}
