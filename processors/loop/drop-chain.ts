import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { CHAINLESS_PROJECTIONS, PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'

/** Tables whose rows belong to a chain. */
export const CHAIN_PROJECTIONS: readonly Projection[] = (Object.keys(PROJECTIONS) as Projection[]).filter(
  (table) => !CHAINLESS_PROJECTIONS.has(table),
)

/** Partitions of a table, of one chain if it is given. */
export async function partitionsOf(
  warehouse: Warehouse,
  table: Projection,
  chain?: string,
): Promise<readonly string[]> {
  const where = chain === undefined || CHAINLESS_PROJECTIONS.has(table) ? '1' : 'chain = {chain:String}'
  const rows = await warehouse.query<{ id: string }>(
    `SELECT DISTINCT _partition_id AS id FROM ${table} WHERE ${where} ORDER BY id`,
    { chain: chain ?? '' },
  )
  return rows.map(({ id }) => id)
}

/**
 * Drops every row of a chain that was removed, once for each removal: a chain that was added again meanwhile keeps its rows
 * when the removal is read again.
 */
export async function dropChain(
  warehouse: Warehouse,
  removal: { readonly chain: string; readonly removalId: string },
): Promise<void> {
  const { chain, removalId } = removal
  const done = await warehouse.query('SELECT 1 FROM dropped_chains WHERE removal_id = {removalId:String}', {
    removalId,
  })
  if (done.length > 0) return
  for (const table of CHAIN_PROJECTIONS) {
    for (const id of await partitionsOf(warehouse, table, chain)) {
      await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
  }
  await warehouse.insert('dropped_chains', { removal_id: [removalId] })
}
