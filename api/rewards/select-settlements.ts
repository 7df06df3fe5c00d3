import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { dayStartSec } from '../../schemas/eth/time.ts'
import { CORRECTION_IDS_BEHIND } from '../../schemas/routes/rewards/settled-rewards.ts'
import { servedSettlementsSql } from '../../schemas/tables/settlements.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { type Days, spansOf } from './kept-spans.ts'

/** What is settled: the revenue of a block, or a correction. */
export interface SettlementRecord {
  readonly id: string
  readonly kind: 'block' | 'correction'
  /** Height of the block, or of the one that is corrected; 0 where a correction is of none. */
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
  /** Of a correction; empty for blocks. */
  readonly reason: string
  /** 1: a correction of the block of this number. */
  readonly is_of_block: number
  readonly version: string
}

const recordsMemo = new StandingMemo<readonly SettlementRecord[]>(
  (records) => records.length,
  undefined,
  (standing) => standing,
)

/** All that is settled for the account on some days, newest first. */
export async function settlementsOf(scope: AccountScope, days: Days): Promise<readonly SettlementRecord[]> {
  const { standing, account, shared } = scope
  const records = await Promise.all(
    spansOf(days).map((span) =>
      recordsMemo.of(standing, JSON.stringify([account, span.from]), () =>
        selectSettlements(shared, { chain: standing.chain, account, ...toSeconds(span) }),
      ),
    ),
  )
  const { fromSec, toSec } = toSeconds(days)
  return records.flat().filter(({ time_sec }) => fromSec <= time_sec && time_sec < toSec)
}

/** The same in one statement, of which nothing is kept: for days that nothing is known to lie in. */
export async function settlementsAtOnce({ standing, account, shared }: AccountScope, days: Days) {
  return await selectSettlements(shared, { chain: standing.chain, account, ...toSeconds(days) })
}

function toSeconds({ from, to }: Days): { readonly fromSec: number; readonly toSec: number } {
  return { fromSec: dayStartSec(from), toSec: dayStartSec(to) }
}

const SETTLED = `chain = {chain:String}
  AND time >= toDateTime({fromSec:Int64}, 'UTC') AND time < toDateTime({toSec:Int64}, 'UTC')`

/** What is settled for an account in `[fromSec, toSec)`, newest first. */
export function selectSettlements(
  warehouse: WarehouseReader,
  filter: { readonly chain: string; readonly account: string; readonly fromSec: number; readonly toSec: number },
): Promise<SettlementRecord[]> {
  return warehouse.query<SettlementRecord>(
    `SELECT *
     FROM
     (
       SELECT block_number AS id, 'block' AS kind, block_number, validator_index, toString(pubkey) AS pubkey,
              toUnixTimestamp(time) AS time_sec, toString(fee_address) AS fee_address, toInt256(revenue_wei) AS revenue_wei,
              fee_rate, toInt256(service_fee_wei) AS service_fee_wei, toInt256(user_reward_wei) AS user_reward_wei,
              '' AS reason, toUInt8(0) AS is_of_block, version
       FROM (${servedSettlementsSql(SETTLED)})
       UNION ALL
       SELECT {correctionsBehind:UInt64} + number AS id, 'correction' AS kind, block_number, validator_index,
              toString(pubkey) AS pubkey, toUnixTimestamp(time) AS time_sec, concat('0x', repeat('0', 40)) AS fee_address,
              user_reward_wei + service_fee_wei AS revenue_wei, '0' AS fee_rate, service_fee_wei, user_reward_wei,
              reason, is_of_block, version
       FROM settlement_corrections FINAL WHERE account = {account:String} AND ${SETTLED}
     )
     ORDER BY time_sec DESC, id DESC`,
    { ...filter, correctionsBehind: CORRECTION_IDS_BEHIND },
  )
}
