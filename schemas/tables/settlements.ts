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
    if(rates.rate = '', '${RATE_UNSET}', rates.rate) AS fee_rate
  FROM (
    SELECT
      b.chain AS chain, toString(points.account) AS account, b.slot AS slot, toString(b.pubkey) AS pubkey, b.time AS time,
      b.revenue_wei AS revenue_wei
    FROM (
      SELECT f.chain AS chain, f.slot AS slot, f.day AS day, f.time AS time, f.revenue_wei AS revenue_wei, v.pubkey AS pubkey
      FROM (
        SELECT chain, slot, day, time, proposer_index, revenue_wei FROM (${blockRevenuesSql(blocks, recipients)})
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
