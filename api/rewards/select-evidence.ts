import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { BlockBalanceRow, BlockPaymentRow, RelayClaimRow } from '../../schemas/tables/execution.ts'
import { askInParts, KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'

type OfBlock = 'chain' | 'block_hash' | 'version'

/** What a block's revenue is read out of. */
export interface BlockEvidenceRow {
  readonly block_hash: string
  /** Hex. */
  readonly extra_data: string
  /** In their order. */
  readonly payments: readonly Omit<BlockPaymentRow, OfBlock>[]
  readonly balances: readonly Omit<BlockBalanceRow, OfBlock>[]
  readonly claims: readonly Omit<RelayClaimRow, OfBlock>[]
}

const PAYMENTS = {
  ...{
    transaction_index: 'UInt32',
    transaction_hash: 'String',
    sender: 'String',
    recipient: 'String',
    value_wei: 'UInt256',
  },
  ...{ succeeded: 'UInt8', payer: 'String', pays_tip: 'UInt8', runs_code: 'UInt8' },
}
const BALANCES = {
  ...{ address: 'String', before_wei: 'UInt256', after_wei: 'UInt256', withdrawals_wei: 'UInt256' },
  ...{ received_wei: 'UInt256', spent_wei: 'UInt256', tips_wei: 'UInt256', internal_wei: 'Int256' },
}
const CLAIMS = {
  ...{ relay: 'String', value_wei: 'UInt256', fee_recipient: 'String', proposer_pubkey: 'String' },
  ...{ builder_pubkey: 'String', slot: 'UInt64' },
}

const OF_BLOCKS = 'chain = {chain:String} AND block_hash IN {hashes:Array(String)}'

/** The rows that a table has of each block, as objects in the order of their sort key. */
function rowsSql(table: string, types: Readonly<Record<string, string>>): string {
  const names = Object.keys(types).map((name) => (types[name] === 'String' ? `toString(${name})` : name))
  const fields = Object.entries(types).map(([name, type]) => `${name} ${type}`)
  return `
    SELECT block_hash, arraySort(groupArray(CAST((${names.join(', ')}) AS Tuple(${fields.join(', ')})))) AS found
    FROM ${table} FINAL WHERE ${OF_BLOCKS} GROUP BY block_hash`
}

const EVIDENCE_SQL = `
  SELECT block_hash, extra_data, p.found AS payments, b.found AS balances, c.found AS claims
  FROM (SELECT block_hash, extra_data FROM execution_blocks FINAL WHERE ${OF_BLOCKS}) AS blocks
  LEFT JOIN (${rowsSql('block_payments', PAYMENTS)}) AS p USING (block_hash)
  LEFT JOIN (${rowsSql('block_balances', BALANCES)}) AS b USING (block_hash)
  LEFT JOIN (${rowsSql('relay_claims', CLAIMS)}) AS c USING (block_hash)`

/** The evidence of a chain's blocks, by their hashes: one row for each that is known. */
export function selectEvidence(
  warehouse: WarehouseReader,
  blocks: { readonly chain: string; readonly hashes: readonly string[] },
): Promise<BlockEvidenceRow[]> {
  return askInParts(blocks.hashes, KEYS_PER_STATEMENT, (hashes) =>
    warehouse.query<BlockEvidenceRow>(EVIDENCE_SQL, { ...blocks, hashes }),
  )
}
