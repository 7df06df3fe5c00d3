import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { CHAINLESS_PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'

/** Partitions of a table: those of one chain if it is given, unless the table's rows belong to no chain. */
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

/** Drops a chain's rows of some tables: each partition is of one chain. */
export async function dropPartitions(
  warehouse: Warehouse,
  tables: readonly Projection[],
  chain: string,
): Promise<void> {
  for (const table of tables) {
    if (CHAINLESS_PROJECTIONS.has(table)) throw new Error(`the rows of ${table} belong to no chain`)
    for (const id of await partitionsOf(warehouse, table, chain)) {
      await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
  }
}
