import { blockRevenuesSql, PROVEN_CLASSES_SQL } from './block-revenues.ts'

/** Sort keys: the columns that tell one row from another. */
export const SETTLEMENT_TABLES = { settlements: ['chain', 'account', 'slot'] } as const

/** The rate of an account that no fee rate was set for. */
export const RATE_UNSET = '0'

/** Rates have at most 18 decimal places: times this they are integers. */
const RATE_UNIT = "toUInt256('1000000000000000000')"

/** The service's share of a revenue in wei at a rate, both SQL: rounded down. */
export function serviceFeeSql(revenue: string, rate: string): string {
  return `intDiv(${revenue} * toUInt256(toDecimal256(${rate}, 18) * ${RATE_UNIT}), ${RATE_UNIT})`
}

/** Conditions on rows that have an account, of `{account:String}`: whether what was settled of their UTC+8 day is kept by a lock. */
const KEPT_THROUGH = '(SELECT max(through) FROM settlement_locks FINAL WHERE account = {account:String})'
const IS_KEPT = `toDate(time + 28800) <= ${KEPT_THROUGH}`

/** What a block's record has that is served, of whatever table. */
const SERVED_COLUMNS = `chain, account, slot, block_number, validator_index, pubkey, time, fee_address, revenue_class, revenue_wei,
    fee_rate, service_fee_wei, user_reward_wei`

/**
 * The records of blocks that an account is served: of days whose settlements a lock keeps those that it has kept, and what follows from
 * blocks now of all others. What blocks of kept days prove otherwise is in `settlement_corrections`. `where` is a condition on columns that both tables
 * have; parameter: `account` String.
 */
export function servedSettlementsSql(where: string): string {
  return `
  SELECT ${SERVED_COLUMNS}, version FROM settlements FINAL
  WHERE account = {account:String} AND NOT (${IS_KEPT}) AND ${where}
  UNION ALL
  SELECT ${SERVED_COLUMNS}, settled_version AS version FROM locked_settlements FINAL
  WHERE account = {account:String} AND ${IS_KEPT} AND ${where}
    AND lock_id IN (SELECT lock_id FROM settlement_locks WHERE account = {account:String})`
}

export interface DueBlocks {
  /** A condition on `finalized_blocks AS f`, as `blockRevenuesSql` takes it. */
  readonly blocks: string
  /** Which of these blocks are wanted: a condition on the columns of their revenues. */
  readonly where?: string
  /** What was told of fee recipients, as `blockRevenuesSql` takes it. */
  readonly recipients?: string
}

/**
 * What a chain's blocks have proven, of the account that had the proposer on the block's day, empty where nobody had, with the rate in
 * force when the block was produced. It goes from the owners to the blocks, where settling goes from the blocks to the accounts that
 * may have had the proposer: what was settled is proven by it. Parameter: `chain` String.
 */
export function dueSettlementsSql({ blocks, where = '1', recipients }: DueBlocks): string {
  return `
  SELECT
    o.chain AS chain, o.account AS account, o.slot AS slot, o.pubkey AS pubkey, o.revenue_wei AS revenue_wei,
    o.block_number AS block_number, o.validator_index AS validator_index, o.revenue_class AS revenue_class,
    o.recipient AS recipient, o.time AS time,
    if(rates.rate = '', '${RATE_UNSET}', rates.rate) AS fee_rate
  FROM (
    SELECT
      b.chain AS chain, toString(points.account) AS account, b.slot AS slot, toString(b.pubkey) AS pubkey, b.time AS time,
      b.revenue_wei AS revenue_wei, b.block_number AS block_number, b.validator_index AS validator_index,
      b.revenue_class AS revenue_class, b.recipient AS recipient
    FROM (
      SELECT f.chain AS chain, f.slot AS slot, f.day AS day, f.time AS time, f.revenue_wei AS revenue_wei, v.pubkey AS pubkey,
        f.block_number AS block_number, f.proposer_index AS validator_index, f.revenue_class AS revenue_class,
        f.recipient AS recipient
      FROM (
        SELECT chain, slot, day, time, proposer_index, block_number, recipient, revenue_class, revenue_wei FROM (${blockRevenuesSql(blocks, recipients)})
        WHERE ${where} AND revenue_class IN ${PROVEN_CLASSES_SQL}
      ) AS f
      INNER JOIN (SELECT chain, pubkey, validator_index FROM validators FINAL WHERE chain = {chain:String}) AS v
        ON v.chain = f.chain AND v.validator_index = f.proposer_index
    ) AS b
    ASOF LEFT JOIN (
      SELECT chain, pubkey, from_day, account FROM validator_owners FINAL WHERE chain = {chain:String}
    ) AS points ON points.chain = b.chain AND points.pubkey = b.pubkey AND points.from_day <= b.day
  ) AS o
  ASOF LEFT JOIN (SELECT toString(account) AS account, effective_from, toString(rate) AS rate FROM fee_rates FINAL) AS rates
    ON rates.account = o.account AND rates.effective_from <= o.time`
}
