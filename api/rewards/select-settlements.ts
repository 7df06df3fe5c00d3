import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { SettlementRow } from '../../schemas/tables/settlements.ts'

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
    `SELECT count() AS records, sum(user_reward_wei) AS user_reward_wei, sum(service_fee_wei) AS service_fee_wei
     FROM settlements FINAL WHERE ${FILTER}`,
    { ...filter },
  )
  return row ?? { records: '0', user_reward_wei: '0', service_fee_wei: '0' }
}

/** A settlement with its block's time in Unix seconds. */
export type TimedSettlementRow = Omit<
  SettlementRow,
  'chain' | 'time' | 'account' | 'version' | 'is_deleted' | 'revenue_class'
> & {
  readonly time_sec: number
}

/** One page, newest block first. */
export function selectSettlements(
  warehouse: WarehouseReader,
  filter: SettlementFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<TimedSettlementRow[]> {
  return warehouse.query<TimedSettlementRow>(
    `SELECT slot, block_number, validator_index, pubkey, toUnixTimestamp(time) AS time_sec, fee_address, revenue_wei,
            fee_rate, service_fee_wei, user_reward_wei
     FROM settlements FINAL WHERE ${FILTER}
     ORDER BY block_number DESC
     LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { ...filter, ...page },
  )
}
