import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { dayStartSec, formatDay } from '../../schemas/eth/time.ts'
import { NOBODY } from '../../schemas/ownership.ts'
import type { ChangedSettlements, SettlementChange } from '../../schemas/settlement-change.ts'
import { blockRevenuesSql, PROVEN_CLASSES } from '../../schemas/tables/block-revenues.ts'
import { RATE_UNSET } from './settlement.ts'

/** DateTime ends with it: no settlement is later. */
const SEC_MAX = 2 ** 32 - 1

/** A share as whole 10^-18, the places that rates have at most. */
const shareSql = (rate: string): string => `toUInt256(toDecimal256(${rate}, 18) * toUInt256('1000000000000000000'))`
const feeSql = (revenue: string, rate: string): string =>
  `intDiv(${revenue} * ${shareSql(rate)}, toUInt256('1000000000000000000'))`

const RATE_SQL = `
SELECT
  account, chain, toString(pubkey) AS pubkey, count() AS rows,
  toInt256(sum(service_fee_wei)) - toInt256(sum(${feeSql('revenue_wei', '{rate:String}')})) AS user_wei, -user_wei AS fee_wei
FROM settlements FINAL
WHERE account = {account:String} AND fee_rate != {rate:String}
  AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')
GROUP BY account, chain, pubkey ORDER BY chain, pubkey`

const LOST_SQL = `
SELECT account, chain, toString(pubkey) AS pubkey, count() AS rows,
  -toInt256(sum(user_reward_wei)) AS user_wei, -toInt256(sum(service_fee_wei)) AS fee_wei
FROM settlements FINAL
WHERE chain = {chain:String} AND account = {from:String} AND pubkey IN {pubkeys:Array(String)}
  AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')
GROUP BY account, chain, pubkey ORDER BY pubkey`

// What settling would make of the blocks, by the new owner's own rates.
const GAINED_SQL = `
SELECT
  {to:String} AS account, {chain:String} AS chain, pubkey, count() AS rows,
  toInt256(sum(revenue_wei)) - toInt256(sum(fee)) AS user_wei, toInt256(sum(fee)) AS fee_wei
FROM (
  SELECT b.pubkey AS pubkey, b.revenue_wei AS revenue_wei,
    ${feeSql('b.revenue_wei', `if(r.rate = '', '${RATE_UNSET}', r.rate)`)} AS fee
  FROM (
    SELECT {to:String} AS account, toString(v.pubkey) AS pubkey, t.revenue_wei AS revenue_wei,
      toInt64(toUnixTimestamp(t.time)) AS time_sec
    FROM (
      ${blockRevenuesSql('f.chain = {chain:String} AND f.day >= {fromDate:Date} AND f.day < {toDate:Date}')}
    ) AS t
    INNER JOIN (
      SELECT validator_index, pubkey FROM validators FINAL
      WHERE chain = {chain:String} AND pubkey IN {pubkeys:Array(String)}
    ) AS v ON v.validator_index = t.proposer_index
    WHERE t.revenue_class IN ('${PROVEN_CLASSES.join("', '")}')
  ) AS b
  ASOF LEFT JOIN (
    SELECT {to:String} AS account, pair.1 AS from_sec, pair.2 AS rate
    FROM (SELECT arrayJoin(arrayZip({rateFroms:Array(Int64)}, {rates:Array(String)})) AS pair)
  ) AS r ON r.account = b.account AND r.from_sec <= b.time_sec
)
GROUP BY pubkey ORDER BY pubkey`

/** Counts what a fact would do to the settlements that the warehouse has: by account and validator, those that it would change. */
export async function countChange(
  warehouse: WarehouseReader,
  change: SettlementChange,
): Promise<readonly ChangedSettlements[]> {
  if (change.kind === 'rate') {
    const toSec = Math.min(change.toSec, SEC_MAX)
    return warehouse.query<ChangedSettlements>(RATE_SQL, { ...change, toSec })
  }
  const { chain, pubkeys, fromDay, toDay, from, to } = change
  const span = { fromSec: Math.max(0, dayStartSec(fromDay)), toSec: Math.min(dayStartSec(toDay), SEC_MAX) }
  const lost =
    from === NOBODY ? [] : await warehouse.query<ChangedSettlements>(LOST_SQL, { chain, pubkeys, from, ...span })
  const days = { fromDate: formatDay(fromDay), toDate: formatDay(toDay) }
  const rates = { rateFroms: change.rates.map((rate) => rate.fromSec), rates: change.rates.map((rate) => rate.rate) }
  const gained =
    to === NOBODY
      ? []
      : await warehouse.query<ChangedSettlements>(GAINED_SQL, { chain, pubkeys, to, ...days, ...rates })
  return [...lost, ...gained]
}
