import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { dayStartSec, formatDay } from '../../schemas/eth/time.ts'
import { NOBODY } from '../../schemas/ownership.ts'
import type { ChangedSettlements, SettlementChange } from '../../schemas/settlement-change.ts'
import { blockRevenuesSql, PROVEN_CLASSES_SQL } from '../../schemas/tables/block-revenues.ts'
import { dueSettlementsSql, RATE_UNSET, serviceFeeSql } from '../../schemas/tables/settlements.ts'

/** DateTime ends with it: no settlement is later. */
const SEC_MAX = 2 ** 32 - 1

const RATE_SQL = `
SELECT
  account, chain, toString(pubkey) AS pubkey, count() AS rows,
  toInt256(sum(service_fee_wei)) - toInt256(sum(${serviceFeeSql('revenue_wei', '{rate:String}')})) AS user_wei, -user_wei AS fee_wei
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
    ${serviceFeeSql('b.revenue_wei', `if(r.rate = '', '${RATE_UNSET}', r.rate)`)} AS fee
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
    WHERE t.revenue_class IN ${PROVEN_CLASSES_SQL}
  ) AS b
  ASOF LEFT JOIN (
    SELECT {to:String} AS account, pair.1 AS from_sec, pair.2 AS rate
    FROM (SELECT arrayJoin(arrayZip({rateFroms:Array(Int64)}, {rates:Array(String)})) AS pair)
  ) AS r ON r.account = b.account AND r.from_sec <= b.time_sec
)
GROUP BY pubkey ORDER BY pubkey`

/** The fee recipients as they would be with the fact. */
const TOLD_SQL = `(
  SELECT chain, pubkey, fee_recipient, from_day, argMax(own, said) AS is_own, max(said) AS version
  FROM (
    SELECT toString(chain) AS chain, toString(pubkey) AS pubkey, toString(fee_recipient) AS fee_recipient, from_day, is_own AS own, version AS said
    FROM fee_recipients
    UNION ALL
    SELECT {chain:String}, told.1, told.2, {fromDate:Date}, toUInt8({isOwn:Bool}), 18446744073709551615
    FROM (SELECT arrayJoin(arrayZip({pubkeys:Array(String)}, {addresses:Array(String)})) AS told)
  )
  GROUP BY chain, pubkey, fee_recipient, from_day
) AS r`

const BLOCKS_OF_KEYS = `f.chain = {chain:String} AND f.day >= {fromDate:Date} AND f.day < {toDate:Date} AND f.proposer_index IN (
  SELECT validator_index FROM validators FINAL WHERE chain = {chain:String} AND pubkey IN {pubkeys:Array(String)}
)`

const RECIPIENTS_SQL = `
SELECT account, {chain:String} AS chain, pubkey, count() AS rows, sum(user) AS user_wei, sum(fee) AS fee_wei
FROM (
  SELECT
    if(p.account = '', s.account, p.account) AS account, if(p.account = '', s.pubkey, p.pubkey) AS pubkey,
    toInt256(${serviceFeeSql('p.revenue_wei', "if(p.fee_rate = '', '0', p.fee_rate)")}) - toInt256(s.service_fee_wei) AS fee,
    toInt256(p.revenue_wei) - toInt256(s.revenue_wei) - fee AS user
  FROM (SELECT * FROM (${dueSettlementsSql({ blocks: BLOCKS_OF_KEYS, recipients: TOLD_SQL })}) WHERE account != '') AS p
  FULL JOIN (
    SELECT toString(account) AS account, slot, toString(pubkey) AS pubkey, revenue_wei, service_fee_wei FROM settlements FINAL
    WHERE chain = {chain:String} AND pubkey IN {pubkeys:Array(String)}
      AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')
  ) AS s ON s.account = p.account AND s.slot = p.slot
  WHERE p.account = '' OR s.account = '' OR p.revenue_wei != s.revenue_wei
)
GROUP BY account, pubkey ORDER BY account, pubkey`

/** Counts what a fact would do to the settlements that the warehouse has: by account and validator, those that it would change. */
export async function countChange(
  warehouse: WarehouseReader,
  change: SettlementChange,
): Promise<readonly ChangedSettlements[]> {
  if (change.kind === 'rate') {
    const toSec = Math.min(change.toSec, SEC_MAX)
    return warehouse.query<ChangedSettlements>(RATE_SQL, { ...change, toSec })
  }
  const { chain, fromDay, toDay } = change
  const span = { fromSec: Math.max(0, dayStartSec(fromDay)), toSec: Math.min(dayStartSec(toDay), SEC_MAX) }
  const days = { fromDate: formatDay(fromDay), toDate: formatDay(toDay) }
  if (change.kind === 'recipients') {
    const { recipients, isOwn } = change
    const told = { pubkeys: recipients.map((one) => one.pubkey), addresses: recipients.map((one) => one.address) }
    return warehouse.query<ChangedSettlements>(RECIPIENTS_SQL, { chain, isOwn, ...told, ...days, ...span })
  }
  const { pubkeys, from, to } = change
  const lost =
    from === NOBODY ? [] : await warehouse.query<ChangedSettlements>(LOST_SQL, { chain, pubkeys, from, ...span })
  const rates = { rateFroms: change.rates.map((rate) => rate.fromSec), rates: change.rates.map((rate) => rate.rate) }
  const gained =
    to === NOBODY
      ? []
      : await warehouse.query<ChangedSettlements>(GAINED_SQL, { chain, pubkeys, to, ...days, ...rates })
  return [...lost, ...gained]
}
