import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { type FeeRate, knownRate, rateAt, splitRevenue } from './settlement.ts'

/** Which finalized blocks to settle (again). */
export type SettlementScope =
  | { readonly by: 'slots'; readonly from: number; readonly to: number }
  | { readonly by: 'block numbers'; readonly from: number; readonly to: number }
  | { readonly by: 'accounts'; readonly accounts: readonly string[] }
  | { readonly by: 'validators'; readonly indices: readonly number[] }

interface CandidateRow {
  readonly account: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly time_sec: number
  readonly fee_address: string
  readonly revenue_class: string
  readonly revenue_wei: string
  readonly versions: string
}

function scopeSql(scope: SettlementScope): { readonly where: string; readonly params: QueryParams } {
  switch (scope.by) {
    case 'slots':
      return { where: 'f.slot BETWEEN {from:UInt64} AND {to:UInt64}', params: { from: scope.from, to: scope.to } }
    case 'block numbers':
      return {
        where: 'f.execution_block_number BETWEEN {from:UInt64} AND {to:UInt64}',
        params: { from: scope.from, to: scope.to },
      }
    case 'accounts':
      return { where: 'a.account IN {accounts:Array(String)}', params: { accounts: scope.accounts } }
    case 'validators':
      return { where: 'f.proposer_index IN {indices:Array(UInt32)}', params: { indices: scope.indices } }
  }
}

const candidatesSql = (where: string): string => `
SELECT
  a.account AS account, f.slot AS slot, f.execution_block_number AS block_number, f.proposer_index AS validator_index,
  v.pubkey AS pubkey, toUnixTimestamp(t.time) AS time_sec, t.recipient AS fee_address, t.revenue_class AS revenue_class,
  t.revenue_wei AS revenue_wei, f.version + t.version + v.version + a.version AS versions
FROM finalized_blocks AS f FINAL
INNER JOIN validators AS v FINAL ON v.validator_index = f.proposer_index
INNER JOIN account_validators AS a FINAL ON a.pubkey = v.pubkey
INNER JOIN execution_blocks AS t FINAL ON t.block_hash = f.execution_block_hash
WHERE t.is_deleted = 0 AND t.revenue_class != 'unexplained' AND ${where}
ORDER BY account, slot`

/**
 * Settles the finalized blocks of the scope whose execution revenue is proven: one row per account and block, the fee at
 * the rate in force when the block was produced. Rows are a function of the facts and replace themselves: a later fee rate
 * or account fact that changes one gives it a newer version. Unexplained revenue is never paid out.
 */
export async function settleBlocks(warehouse: Warehouse, scope: SettlementScope): Promise<number> {
  const { where, params } = scopeSql(scope)
  const rows = await warehouse.query<CandidateRow>(candidatesSql(where), params)
  if (rows.length === 0) return 0
  const rates = await feeRates(warehouse)
  const settled = rows.map((row) => {
    const { rate, versions } = rateAt(rates.get(row.account) ?? [], row.time_sec)
    return {
      rate,
      versions: BigInt(row.versions) + versions,
      ...splitRevenue(BigInt(row.revenue_wei), knownRate(rate)),
    }
  })
  await warehouse.insert('settlements', {
    account: rows.map((row) => row.account),
    slot: BigUint64Array.from(rows, (row) => BigInt(row.slot)),
    block_number: BigUint64Array.from(rows, (row) => BigInt(row.block_number)),
    validator_index: Uint32Array.from(rows, (row) => row.validator_index),
    pubkey: rows.map((row) => row.pubkey),
    time: Uint32Array.from(rows, (row) => row.time_sec),
    fee_address: rows.map((row) => row.fee_address),
    revenue_class: rows.map((row) => row.revenue_class),
    revenue_wei: rows.map((row) => BigInt(row.revenue_wei)),
    fee_rate: settled.map((s) => s.rate),
    service_fee_wei: settled.map((s) => s.serviceFeeWei),
    user_reward_wei: settled.map((s) => s.userRewardWei),
    version: BigUint64Array.from(settled, (s) => s.versions),
  })
  return rows.length
}

async function feeRates(warehouse: Warehouse): Promise<ReadonlyMap<string, readonly FeeRate[]>> {
  const rows = await warehouse.query<{ account: string; from_sec: number; rate: string; version: string }>(
    'SELECT account, toUnixTimestamp(effective_from) AS from_sec, rate, version FROM fee_rates FINAL',
  )
  const byAccount = new Map<string, FeeRate[]>()
  for (const row of rows) {
    const rate = { effectiveFromSec: row.from_sec, rate: row.rate, version: BigInt(row.version) }
    const known = byAccount.get(row.account)
    if (known === undefined) byAccount.set(row.account, [rate])
    else known.push(rate)
  }
  return byAccount
}
