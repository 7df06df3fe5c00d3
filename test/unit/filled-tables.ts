import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'

// Most tests fill few of the tables, and whatever is asked of a table costs milliseconds.

/** Tables that have rows, or had some that are merged away; of the database that is open unless told. */
export async function filledTables(warehouse: Warehouse, database = ''): Promise<ReadonlySet<string>> {
  const rows = await warehouse.query<{ table: string }>(
    `SELECT DISTINCT table FROM system.parts
     WHERE active AND database = if({database:String} = '', currentDatabase(), {database:String})`,
    { database },
  )
  return new Set(rows.map(({ table }) => table))
}

/** Empties tables: all that the log becomes, unless told. */
export async function emptyTables(warehouse: Warehouse, tables: readonly string[] = Object.keys(PROJECTIONS)) {
  const filled = await filledTables(warehouse)
  for (const table of tables) if (filled.has(table)) await warehouse.command(`TRUNCATE TABLE ${table}`)
}
