import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { CORRECTION_IDS_BEHIND } from '../../schemas/routes/rewards/settled-rewards.ts'

export interface SettlementFilter {
  readonly chain: string
  readonly account: string
  /** Unix seconds, `[fromSec, toSec)`. */
  readonly fromSec: number
  readonly toSec: number
  /** Empty means all of the account. */
  readonly indices: readonly number[]
}

const FILTER = `
  chain = {chain:String} AND account = {account:String}
  AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')
  AND (empty({indices:Array(UInt32)}) OR has({indices:Array(UInt32)}, validator_index))`

export interface SettlementSumsRow {
  readonly records: string
  readonly user_reward_wei: string
  readonly service_fee_wei: string
}

export async function sumSettlements(warehouse: WarehouseReader, filter: SettlementFilter): Promise<SettlementSumsRow> {
  const [row] = await warehouse.query<SettlementSumsRow>(
    `SELECT sum(records) AS records, sum(user_wei) AS user_reward_wei, sum(fee_wei) AS service_fee_wei
     FROM
     (
       SELECT count() AS records, toInt256(sum(user_reward_wei)) AS user_wei, toInt256(sum(service_fee_wei)) AS fee_wei
       FROM settlements FINAL WHERE ${FILTER}
       UNION ALL
       SELECT count() AS records, sum(user_reward_wei) AS user_wei, sum(service_fee_wei) AS fee_wei
       FROM settlement_corrections FINAL WHERE ${FILTER}
     )`,
    { ...filter },
  )
  return row ?? { records: '0', user_reward_wei: '0', service_fee_wei: '0' }
}

/** What is settled: the revenue of a block, or a correction. */
export interface SettlementRecord {
  readonly id: string
  readonly kind: 'block' | 'correction'
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  /** Unix seconds: of the block, or of the correction. */
  readonly time_sec: number
  readonly fee_address: string
  /** Amounts of a correction are signed. */
  readonly revenue_wei: string
  readonly fee_rate: string
  readonly service_fee_wei: string
  readonly user_reward_wei: string
}

/** One page, newest first. */
export function selectSettlements(
  warehouse: WarehouseReader,
  filter: SettlementFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<SettlementRecord[]> {
  return warehouse.query<SettlementRecord>(
    `SELECT *
     FROM
     (
       SELECT block_number AS id, 'block' AS kind, block_number, validator_index, toString(pubkey) AS pubkey,
              toUnixTimestamp(time) AS time_sec, toString(fee_address) AS fee_address, toInt256(revenue_wei) AS revenue_wei,
              fee_rate, toInt256(service_fee_wei) AS service_fee_wei, toInt256(user_reward_wei) AS user_reward_wei
       FROM settlements FINAL WHERE ${FILTER}
       UNION ALL
       SELECT {correctionsBehind:UInt64} + number AS id, 'correction' AS kind, toUInt64(0) AS block_number, validator_index,
              toString(pubkey) AS pubkey, toUnixTimestamp(time) AS time_sec, concat('0x', repeat('0', 40)) AS fee_address,
              user_reward_wei + service_fee_wei AS revenue_wei, '0' AS fee_rate, service_fee_wei, user_reward_wei
       FROM settlement_corrections FINAL WHERE ${FILTER}
     )
     ORDER BY time_sec DESC, id DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...filter, ...page, correctionsBehind: CORRECTION_IDS_BEHIND },
  )
}
