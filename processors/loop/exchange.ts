import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Offsets } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { TOPICS, type Topic } from '../../schemas/events/envelope.ts'
import { FAMILIES, type Family, PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { TABLES_OF_CHAINS } from './drop-chains.ts'
import { partitionsOf } from './partitions.ts'

/** The database beside the live one, in which a rebuild makes its tables. */
export function databaseBeside(warehouse: Warehouse): string {
  return `${warehouse.database}_rebuild`
}

/** Tables that were made beside the live ones and take their place. */
export interface Exchange {
  /** Tells exchanges apart. */
  readonly startedMs: number
  /** The log that the tables were made from. */
  readonly logId: string
  readonly tables: readonly Projection[]
  /** The family that they are; absent where they are all. */
  readonly family?: Family | undefined
  /** Only rows of this chain; all where it is absent. */
  readonly chain?: string | undefined
  /** Up to where the log is in them. What processors have added behind it is replaced, and read again afterwards. */
  readonly readUntil: ReadonlyMap<Topic, Offsets>
  /** Ids of the removals of chains that were known. */
  readonly removals: readonly string[]
}

/** Notes what is about to be put in place, before anything is: an interruption is mended from it. */
export async function noteExchange(warehouse: Warehouse, exchange: Exchange): Promise<void> {
  await note(warehouse, exchange, false)
}

/** Notes that everything is in place, and what was added meanwhile too. */
export async function noteExchanged(warehouse: Warehouse, exchange: Exchange): Promise<void> {
  await note(warehouse, exchange, true)
}

async function note(warehouse: Warehouse, exchange: Exchange, isDone: boolean): Promise<void> {
  const readUntil = Object.fromEntries(
    [...exchange.readUntil].map(([topic, ends]) => [
      topic,
      Object.fromEntries([...ends].map(([partition, end]) => [partition, String(end)])),
    ]),
  )
  const { logId, tables, family, removals } = exchange
  await warehouse.insert('rebuild_exchanges', {
    started: BigInt64Array.of(BigInt(exchange.startedMs)),
    chain: [exchange.chain ?? ''],
    content: [JSON.stringify({ logId, tables, family, readUntil, removals })],
    version: BigUint64Array.of(isDone ? 2n : 1n),
    is_deleted: Uint8Array.of(isDone ? 1 : 0),
  })
}

const isContent = Compile(
  Type.Object({
    logId: Type.String(),
    tables: Type.Array(Type.String()),
    family: Type.Optional(Type.String()),
    readUntil: Type.Record(Type.String(), Type.Record(Type.String(), Type.String({ pattern: '^[0-9]+$' }))),
    removals: Type.Array(Type.String()),
  }),
)

/** The exchange that runs or was interrupted, the newest of several; undefined when there is none. Throws AppError `warehouse` for a note that it cannot read. */
export async function openExchange(warehouse: Warehouse): Promise<Exchange | undefined> {
  const [row] = await warehouse.query<{ started_ms: string; chain: string; content: string }>(
    `SELECT toUnixTimestamp64Milli(started) AS started_ms, chain, content
     FROM rebuild_exchanges FINAL ORDER BY started DESC LIMIT 1`,
  )
  if (row === undefined) return undefined
  const content: unknown = JSON.parse(row.content)
  if (!isContent.Check(content)) throw unreadable()
  const { logId, tables, family, readUntil, removals } = content
  return {
    logId,
    startedMs: Number(row.started_ms),
    chain: row.chain === '' ? undefined : row.chain,
    tables: tables.map((name) => known(Object.keys(PROJECTIONS) as Projection[], name)),
    family: family === undefined ? undefined : known(Object.keys(FAMILIES) as Family[], family),
    readUntil: new Map(
      Object.entries(readUntil).map(([topic, ends]) => [known(TOPICS, topic), toOffsets(ends)] as const),
    ),
    removals,
  }
}

function toOffsets(ends: Readonly<Record<string, string>>): Offsets {
  return new Map(Object.entries(ends).map(([partition, end]) => [Number(partition), BigInt(end)]))
}

function known<Name extends string>(names: readonly Name[], text: string): Name {
  const found = names.find((name) => name === text)
  if (found === undefined) throw unreadable()
  return found
}

function unreadable(): AppError {
  return new AppError(
    'warehouse',
    'A rebuild by another release was interrupted while it put its tables in place: run `epochline rebuild` of that release.',
  )
}

/**
 * Whether the tables beside the live ones can take their place: not where they are gone, nor where a migration has changed the live
 * ones since, of which they lack what it is about.
 */
export async function canReplace(warehouse: Warehouse, { tables }: Exchange): Promise<boolean> {
  const beside = databaseBeside(warehouse)
  const [made, live] = [
    await shapesIn(warehouse, beside, tables),
    await shapesIn(warehouse, warehouse.database, tables),
  ]
  return tables.every((table) => made.has(table) && made.get(table) === live.get(table))
}

/** The columns of tables, as text. */
async function shapesIn(
  warehouse: Warehouse,
  database: string,
  tables: readonly Projection[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await warehouse.query<{ table: string; columns: unknown }>(
    `SELECT table, arraySort(groupArray((position, name, type, is_in_sorting_key))) AS columns FROM system.columns
     WHERE database = {database:String} AND has({tables:Array(String)}, table) GROUP BY table`,
    { database, tables },
  )
  return new Map(rows.map(({ table, columns }) => [table, JSON.stringify(columns)]))
}

/**
 * Puts the tables in their place, partition by partition. Each replacement is atomic and may be repeated. Rows of the `passed`
 * chains stay as they are: those were removed since, and may have been added again.
 */
export async function replacePartitions(
  warehouse: Warehouse,
  { tables, chain }: Exchange,
  passed: readonly string[] = [],
): Promise<void> {
  const database = databaseBeside(warehouse)
  await using beside = await warehouse.beside(database)
  for (const table of tables) {
    const kept = new Set<string>()
    for (const one of TABLES_OF_CHAINS.includes(table) ? passed : []) {
      for (const where of [beside, warehouse]) for (const id of await partitionsOf(where, table, one)) kept.add(id)
    }
    const made = await partitionsOf(beside, table, chain)
    for (const id of made) {
      if (kept.has(id)) continue
      await warehouse.command(`ALTER TABLE ${table} REPLACE PARTITION ID '${id}' FROM ${database}.${table}`)
    }
    for (const id of await partitionsOf(warehouse, table, chain)) {
      if (kept.has(id) || made.includes(id)) continue
      await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
  }
}
