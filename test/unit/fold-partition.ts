import type { WarehouseReader } from '../../infra/ports/warehouse.ts'

/** What a table has a fold's rows in, as its rows tell. */
export async function partitionOf(
  warehouse: WarehouseReader,
  { table, chain, start }: { readonly table: string; readonly chain: string; readonly start: number },
): Promise<string> {
  const rows = await warehouse.query<{ id: string }>(
    `SELECT DISTINCT _partition_id AS id FROM ${table} WHERE chain = {chain:String} AND start = {start:UInt64}`,
    { chain, start },
  )
  return rows.map(({ id }) => id).join()
}
