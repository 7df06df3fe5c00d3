import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { partitionsOf } from './drop-chain.ts'

/** The database beside the live one, in which a rebuild makes its tables. */
export function databaseBeside(warehouse: Warehouse): string {
  return `${warehouse.database}_rebuild`
}

/** Which rows a rebuild replaces. */
export interface Exchange {
  readonly tables: readonly Projection[]
  /** Only rows of this chain; all where it is absent. */
  readonly chain?: string | undefined
}

/**
 * Puts the tables that were made beside the live ones in their place, partition by partition. Each replacement is atomic and may
 * be repeated, and what is to be done is noted first: an interruption is mended by `finishExchange`. `startedMs` tells exchanges
 * apart.
 */
export async function exchangeTables(warehouse: Warehouse, exchange: Exchange, startedMs: number): Promise<void> {
  await note(warehouse, exchange, startedMs, false)
  await replacePartitions(warehouse, exchange)
  await note(warehouse, exchange, startedMs, true)
}

/** Whether an exchange runs or was interrupted. */
export async function isExchanging(warehouse: Warehouse): Promise<boolean> {
  return (await warehouse.query('SELECT 1 FROM rebuild_exchanges FINAL LIMIT 1')).length > 0
}

/** Finishes an exchange that was interrupted. */
export async function finishExchange(warehouse: Warehouse): Promise<void> {
  const [row] = await warehouse.query<{ started_ms: string; tables: string; chain: string }>(
    'SELECT toUnixTimestamp64Milli(started) AS started_ms, tables, chain FROM rebuild_exchanges FINAL ORDER BY started LIMIT 1',
  )
  if (row === undefined) return
  const tables = row.tables.split(' ') as Projection[]
  const exchange = { tables, chain: row.chain === '' ? undefined : row.chain }
  await replacePartitions(warehouse, exchange)
  await note(warehouse, exchange, Number(row.started_ms), true)
}

async function note(warehouse: Warehouse, exchange: Exchange, startedMs: number, isDone: boolean): Promise<void> {
  await warehouse.insert('rebuild_exchanges', {
    started: BigInt64Array.of(BigInt(startedMs)),
    tables: [exchange.tables.join(' ')],
    chain: [exchange.chain ?? ''],
    version: BigUint64Array.of(isDone ? 2n : 1n),
    is_deleted: Uint8Array.of(isDone ? 1 : 0),
  })
}

async function replacePartitions(warehouse: Warehouse, { tables, chain }: Exchange): Promise<void> {
  const database = databaseBeside(warehouse)
  await using beside = await warehouse.beside(database)
  for (const table of tables) {
    const made = await partitionsOf(beside, table, chain)
    for (const id of made) {
      await warehouse.command(`ALTER TABLE ${table} REPLACE PARTITION ID '${id}' FROM ${database}.${table}`)
    }
    for (const id of await partitionsOf(warehouse, table, chain)) {
      if (!made.includes(id)) await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
  }
}
