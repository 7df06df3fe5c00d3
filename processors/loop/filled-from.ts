import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'
import { type LogFacts, takenBackBy } from './log-facts.ts'

/** The name of the right to fill an empty warehouse, and to put other tables in the place of the live ones. */
export function fillLease(warehouse: Warehouse): string {
  return `fill:${warehouse.database}`
}

/** Ids of tables by their names. */
type TableIds = Readonly<Record<string, string>>

export interface Filled {
  readonly logId: string
  /** Unix seconds. */
  readonly since: number
  /** The tables that were there. None is noted of those that an earlier release has filled. */
  readonly tables: TableIds
  /** False until all that the log held when tables were made anew is in them. */
  readonly isWhole: boolean
}

const isTableIds = Compile(Type.Record(Type.String(), Type.String()))

/** The log that a warehouse was filled from, last if it was rebuilt from another; undefined for an empty one. */
export async function filledFrom(warehouse: Warehouse): Promise<Filled | undefined> {
  const [row] = await warehouse.query<{ log_id: string; since_sec: number; tables: string; is_whole: number }>(
    'SELECT log_id, toUnixTimestamp(since) AS since_sec, tables, is_whole FROM filled_from ORDER BY since DESC LIMIT 1',
  )
  if (row === undefined) return undefined
  const tables: unknown = row.tables === '' ? {} : JSON.parse(row.tables)
  if (!isTableIds.Check(tables))
    throw new AppError('warehouse', 'The warehouse was filled by a newer release: use that one.')
  return { logId: row.log_id, since: row.since_sec, tables, isWhole: row.is_whole === 1 }
}

/** Whether all tables are those which were filled, with all that the log held then. */
export async function areTablesWhole(warehouse: Warehouse): Promise<boolean> {
  const filled = await filledFrom(warehouse)
  return filled?.isWhole === true && (await tablesNotFilled(warehouse, filled)).length === 0
}

/** Tables that are not those which were filled: made anew since, by a migration or after somebody has deleted them. */
export async function tablesNotFilled(warehouse: Warehouse, filled: Filled): Promise<readonly string[]> {
  const ids = await tableIds(warehouse)
  return Object.keys(ids).filter((table) => ids[table] !== filled.tables[table])
}

async function tableIds(warehouse: Warehouse): Promise<TableIds> {
  const rows = await warehouse.query<{ name: string; id: string }>(
    `SELECT name, toString(uuid) AS id FROM system.tables
     WHERE database = currentDatabase() AND name IN {names:Array(String)} ORDER BY name`,
    { names: Object.keys(PROJECTIONS) },
  )
  return Object.fromEntries(rows.map(({ name, id }) => [name, id]))
}

/** Throws AppError `config` when the warehouse holds rows of another log than this. */
export async function refuseOtherLog(warehouse: Warehouse, facts: LogFacts): Promise<void> {
  const filled = await filledFrom(warehouse)
  if (filled === undefined || filled.logId === facts.logId) return
  throw new AppError(
    'config',
    'The warehouse was filled from another event log than this one: name the warehouse that belongs to this log ' +
      '(EPOCHLINE_DATA, or CLICKHOUSE_DATABASE), or run `epochline rebuild` to fill this one from this log.',
  )
}

/**
 * Notes the log that the tables are filled from, and the removals that were read before their events. Older notes stay: without
 * them there would be a moment in which the warehouse looks empty, and a process that starts would fill it anew. `isWhole` as in
 * `Filled`; `now` is Unix seconds.
 */
export async function markFilled(
  warehouse: Warehouse,
  facts: LogFacts,
  { now, isWhole }: { readonly now: number; readonly isWhole: boolean },
): Promise<void> {
  const removals = takenBackBy(facts)
  if (removals.length > 0) await warehouse.insert('dropped_chains', { removal_id: removals })
  const before = await filledFrom(warehouse)
  const isNoted =
    before?.logId === facts.logId &&
    before.isWhole === isWhole &&
    (await tablesNotFilled(warehouse, before)).length === 0
  if (isNoted) return
  const since = Math.max(Math.floor(now), (before?.since ?? 0) + 1)
  await warehouse.insert('filled_from', {
    log_id: [facts.logId],
    since: Uint32Array.of(since),
    tables: [JSON.stringify(await tableIds(warehouse))],
    is_whole: Uint8Array.of(isWhole ? 1 : 0),
  })
}
