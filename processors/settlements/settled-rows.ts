import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { SettledRow, SettledSpan } from '../../schemas/settled-rows.ts'

/** Of one statement: an account's whole history may be more than one result can hold. */
const ROWS_PER_STATEMENT = 50_000

interface Row {
  readonly chain: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly time_sec: number
  readonly fee_address: string
  readonly revenue_class: string
  readonly revenue_wei: string
  readonly fee_rate: string
  readonly service_fee_wei: string
  readonly version: string
}

const ROWS_SQL = `
SELECT
  chain, slot, block_number, validator_index, toString(pubkey) AS pubkey, toUnixTimestamp(time) AS time_sec,
  toString(fee_address) AS fee_address, revenue_class, revenue_wei, fee_rate, service_fee_wei, version
FROM settlements FINAL
WHERE account = {account:String} AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')
  AND (chain, slot) > ({afterChain:String}, {afterSlot:Int64})
ORDER BY chain, slot LIMIT {limit:UInt32}`

/** What follows from an account's blocks now, by chain and slot; whether some of it is locked or not. */
export async function settledRows(
  warehouse: WarehouseReader,
  span: SettledSpan,
  rowsMax = ROWS_PER_STATEMENT,
): Promise<readonly SettledRow[]> {
  const all: SettledRow[] = []
  for (;;) {
    const last = all.at(-1)
    const after = { afterChain: last?.chain ?? '', afterSlot: last?.slot ?? -1 }
    const rows = await warehouse.query<Row>(ROWS_SQL, { ...span, ...after, limit: rowsMax })
    all.push(...rows.map(toSettledRow))
    if (rows.length < rowsMax) return all
  }
}

function toSettledRow(row: Row): SettledRow {
  return {
    chain: row.chain,
    slot: Number(row.slot),
    blockNumber: Number(row.block_number),
    validatorIndex: row.validator_index,
    pubkey: row.pubkey,
    timeSec: row.time_sec,
    feeAddress: row.fee_address,
    revenueClass: row.revenue_class,
    revenueWei: row.revenue_wei,
    feeRate: row.fee_rate,
    serviceFeeWei: row.service_fee_wei,
    version: row.version,
  }
}
