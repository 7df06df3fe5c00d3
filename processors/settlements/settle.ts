import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { blockRevenuesSql, isProvenClass } from '../../schemas/tables/block-revenues.ts'
import type { RevenueClass } from '../../schemas/tables/execution.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { type FeeRate, knownRate, rateAt, splitRevenue } from './settlement.ts'

/** Rows of one read and insert: an account's whole history may be more than one result can hold. */
const SETTLED_PER_INSERT_MAX = 50_000

/** Which finalized blocks to settle (again); slots are inclusive. */
export type SettlementScope =
  | { readonly by: 'slots'; readonly chain: string; readonly from: number; readonly to: number }
  | { readonly by: 'accounts'; readonly accounts: readonly string[] }

interface ProposersRow {
  readonly chain: string
  readonly proposers: readonly number[]
}

interface CandidateRow {
  readonly account: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly time_sec: number
  readonly fee_address: string
  readonly revenue_class: RevenueClass | ''
  readonly revenue_wei: string
  readonly is_owner: number
  readonly versions: string
}

/** Conditions on finalized blocks `f` and on accounts `a`. */
function scopeSql(scope: SettlementScope): { blocks: string; accounts: string; params: QueryParams } {
  switch (scope.by) {
    case 'slots':
      return {
        blocks: 'f.chain = {chain:String} AND f.slot BETWEEN {from:UInt64} AND {to:UInt64}',
        accounts: '1',
        params: { chain: scope.chain, from: scope.from, to: scope.to },
      }
    case 'accounts':
      return { blocks: '1', accounts: 'a.account IN {accounts:Array(String)}', params: { accounts: scope.accounts } }
  }
}

// Every account that was ever made the owner of a validator is a candidate for all blocks of it: what does not follow any more
// is taken back. A reverted execution block is read as well for the same reason. The points of a
// validator all count in the version: a newer fact about any of them makes newer rows.
const candidatesSql = (blocks: string, accounts: string): string => `
SELECT
  p.account AS account, b.slot AS slot, b.block_number AS block_number,
  b.proposer_index AS validator_index, p.pubkey AS pubkey, toUnixTimestamp(b.time) AS time_sec,
  b.recipient AS fee_address, b.revenue_class AS revenue_class, b.revenue_wei AS revenue_wei,
  arrayLast(point -> point.1 <= b.day, p.points).2 = p.account AS is_owner, b.version + p.versions AS versions
FROM (${blockRevenuesSql(`${blocks} AND f.chain = {chain:String} AND f.proposer_index IN {proposers:Array(UInt32)}`)}) AS b
INNER JOIN (
  SELECT v.validator_index AS validator_index, v.pubkey AS pubkey, a.account AS account,
    o.points AS points, v.version + o.versions AS versions
  FROM validators AS v FINAL
  INNER JOIN (
    SELECT a.account AS account, a.pubkey AS pubkey FROM account_validators AS a FINAL
    WHERE a.chain = {chain:String} AND ${accounts} AND a.pubkey IN (${PUBKEYS_SQL})
  ) AS a ON a.pubkey = v.pubkey
  INNER JOIN (
    SELECT pubkey, arraySort(groupArray((from_day, toString(account)))) AS points, sum(version) AS versions
    FROM validator_owners FINAL WHERE chain = {chain:String} AND pubkey IN (${PUBKEYS_SQL}) GROUP BY pubkey
  ) AS o ON o.pubkey = v.pubkey
  WHERE v.chain = {chain:String} AND v.validator_index IN {proposers:Array(UInt32)}
) AS p ON p.validator_index = b.proposer_index
WHERE (b.revenue_class != '' OR b.is_reverted = 1) AND (p.account, b.slot) > ({after_account:String}, {after_slot:Int64})
ORDER BY account, slot
LIMIT {rows_max:UInt32}`

const PUBKEYS_SQL =
  'SELECT pubkey FROM validators WHERE chain = {chain:String} AND validator_index IN {proposers:Array(UInt32)}'

// Asked beforehand, so that what is joined is of proposers alone: an account may have a million validators that did not propose.
const proposersSql = (blocks: string, accounts: string): string => {
  const proposed = `(chain, validator_index) IN (SELECT f.chain, f.proposer_index FROM finalized_blocks AS f WHERE ${blocks})`
  return `
SELECT chain, groupUniqArray(validator_index) AS proposers FROM validators
WHERE ${proposed} AND (chain, pubkey) IN (
  SELECT a.chain, a.pubkey FROM account_validators AS a
  WHERE ${accounts} AND (a.chain, a.pubkey) IN (SELECT chain, pubkey FROM validators WHERE ${proposed})
)
GROUP BY chain ORDER BY chain`
}

/**
 * Settles the finalized blocks of the scope whose execution revenue is proven: one row per block, of the account that had the
 * proposer on the block's day, the fee at the rate in force when the block was produced. Rows are a function of the facts and
 * replace themselves: a later fee rate or account fact gives them newer versions. Unexplained revenue is never paid out, nor
 * anything to an account that did not have the proposer on that day: its row is a deleted one, which takes back what earlier
 * facts had settled.
 */
export async function settleBlocks(
  warehouse: Warehouse,
  scope: SettlementScope,
  rowsMax = SETTLED_PER_INSERT_MAX,
): Promise<void> {
  const { blocks, accounts, params } = scopeSql(scope)
  const sql = candidatesSql(blocks, accounts)
  const chains = await warehouse.query<ProposersRow>(proposersSql(blocks, accounts), params)
  if (chains.length === 0) return
  const rates = await feeRates(warehouse)
  for (const { chain, proposers } of chains)
    for (const some of inStatements(proposers))
      await settlePages(warehouse, { sql, params: { ...params, chain, proposers: some }, rates, rowsMax })
}

interface Paging {
  readonly sql: string
  readonly params: QueryParams
  readonly rates: ReadonlyMap<string, readonly FeeRate[]>
  readonly rowsMax: number
}

async function settlePages(warehouse: Warehouse, { sql, params, rates, rowsMax }: Paging): Promise<void> {
  let after = { after_account: '', after_slot: '-1' }
  for (;;) {
    const rows = await warehouse.query<CandidateRow>(sql, { ...params, ...after, rows_max: rowsMax })
    const last = rows.at(-1)
    if (last === undefined) return
    await insertSettlements(warehouse, String(params.chain), { rows, rates })
    if (rows.length < rowsMax) return
    after = { after_account: last.account, after_slot: last.slot }
  }
}

async function insertSettlements(
  warehouse: Warehouse,
  chain: string,
  { rows, rates }: { readonly rows: readonly CandidateRow[]; readonly rates: ReadonlyMap<string, readonly FeeRate[]> },
): Promise<void> {
  const settled = rows.map((row) => {
    const { rate, versions } = rateAt(rates.get(row.account) ?? [], row.time_sec)
    return {
      rate,
      isDue: isProvenClass(row.revenue_class) && row.is_owner === 1,
      versions: BigInt(row.versions) + versions,
      ...splitRevenue(BigInt(row.revenue_wei), knownRate(rate)),
    }
  })
  await warehouse.insert('settlements', {
    chain: rows.map(() => chain),
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
    is_deleted: Uint8Array.from(settled, (s) => (s.isDue ? 0 : 1)),
  })
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
