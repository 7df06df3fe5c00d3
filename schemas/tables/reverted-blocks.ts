import { bytesSql } from './literals.ts'

// Blocks whose rows count for nobody.

/** Their hashes, of the parameter `chain`. */
export const REVERTED_SQL =
  'SELECT block_hash FROM reverted_blocks FINAL WHERE chain = {chain:String} AND is_reverted = 1'

/** So many are named in statements; a subquery for more of them costs each statement as much as its reading. */
export const NAMED_REVERTED_MAX = 100

/** A condition on `block_hash`, of hex without 0x; `reverted` is what finds them where they are many. */
export function notRevertedSql(hashes: readonly string[], reverted = REVERTED_SQL): string {
  if (hashes.length === 0) return '1'
  if (hashes.length > NAMED_REVERTED_MAX) return `block_hash NOT IN (${reverted})`
  return `block_hash NOT IN (${hashes.map((hash) => bytesSql(hash.toLowerCase())).join(', ')})`
}

interface Asking {
  query<Row>(sql: string, params: Readonly<Record<string, string>>): Promise<readonly Row[]>
}

/** The same condition, of the chain's blocks that are reverted now. */
export async function askNotReverted(warehouse: Asking, chain: string): Promise<string> {
  const rows = await warehouse.query<{ hash: string }>(
    `SELECT hex(block_hash) AS hash FROM (${REVERTED_SQL} LIMIT ${NAMED_REVERTED_MAX + 1})`,
    { chain },
  )
  return notRevertedSql(rows.map(({ hash }) => hash))
}
