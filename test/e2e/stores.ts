// What lies in the stores of an environment, read beside the program or after it.

import { expect } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../../infra/open-ports.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { DERIVING_JOBS } from '../../processors/derive.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { dumpTables } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import type { Environment } from './processes.ts'

const READ_TIMEOUT_MS = 60_000
const DIFFERING_ROWS_SHOWN = 3

export type Row = Readonly<Record<string, unknown>>
export type Tables = Readonly<Record<Projection, readonly Row[]>>

export function openLog(env: Environment): Promise<EventLog> {
  return openEventLog(readConfig(env), silentLog)
}

/** The warehouse, which in embedded mode no program may hold meanwhile. */
export function openTables(env: Environment): Promise<Warehouse> {
  return openMigratedWarehouse(readConfig(env))
}

/** Tell when the program was started and stopped, and what it was asked: each run's are others. */
const OF_THE_PROGRAM: ReadonlySet<string> = new Set<Projection>(['role_health', 'usage_minutes'])

/** Every table that is made from what happened to the chains, as queries see it, in the order of its sort key. */
export async function dump(env: Environment): Promise<Tables> {
  await using warehouse = await openTables(env)
  const tables = Object.entries(await dumpTables(warehouse)).filter(([table]) => !OF_THE_PROGRAM.has(table))
  return Object.fromEntries(tables) as unknown as Tables
}

/** Row by row, table by table: a difference is shown by some rows, not by the whole of the tables. */
export function expectEqualTables(actual: Tables, expected: Tables): void {
  for (const table of Object.keys(expected) as Projection[]) {
    const [ours, theirs] = [
      actual[table].map((row) => JSON.stringify(row)),
      expected[table].map((row) => JSON.stringify(row)),
    ]
    const [ourSet, theirSet] = [new Set(ours), new Set(theirs)]
    const extra = ours.filter((row) => !theirSet.has(row))
    const missing = theirs.filter((row) => !ourSet.has(row))
    expect(
      {
        rows: ours.length,
        extra: extra.slice(0, DIFFERING_ROWS_SHOWN),
        missing: missing.slice(0, DIFFERING_ROWS_SHOWN),
      },
      table,
    ).toEqual({ rows: theirs.length, extra: [], missing: [] })
  }
}

/** What two logs of one chain have in common: versions are places in a log. */
export function ofAnyLog(tables: Tables): Tables {
  const canonical = new Set(tables.execution_blocks.map(blockOfRow))
  // What was announced and taken back differs from log to log, and what was logged in such blocks stays: nobody asks for it.
  const isCanonical = (row: Row): boolean => canonical.has(blockOfRow(row))
  return mapTables(tables, (rows, table) => {
    if (TABLES_OF_LOOKS.has(table)) return []
    return (TABLES_OF_LOGS.includes(table) ? rows.filter(isCanonical) : rows).map(({ version: _, ...rest }) => rest)
  })
}

/**
 * The head is looked at once an epoch, and the registry once there are new keys, by whoever follows them then: another log has had other looks,
 * and other reverts. Tokens are read of contracts when somebody gets to it, those of blocks that were taken back too.
 */
const TABLES_OF_LOOKS: ReadonlySet<Projection> = new Set<Projection>([
  'chain_queues',
  'deposit_queue_fronts',
  'registry_looks',
  'reverted_blocks',
  'nft_tokens',
  'nft_marks',
  'nft_contracts',
  'nft_contract_names',
  'nft_words',
  'nft_token_states',
  'nft_token_told',
  'nft_metadata_positions',
])
const TABLES_OF_LOGS: readonly Projection[] = [
  'execution_log_parts',
  'deposits',
  'exit_calls',
  'execution_senders',
  'block_payments',
  'block_balances',
  'relay_claims',
  'nft_transfers',
  'nft_odd_logs',
  'nft_metadata_changes',
]

function blockOfRow({ chain, block_hash }: Row): string {
  return `${chain} ${block_hash}`
}

export function filterRows(tables: Tables, isWanted: (row: Row) => boolean): Tables {
  return mapTables(tables, (rows) => rows.filter(isWanted))
}

function mapTables(tables: Tables, map: (rows: readonly Row[], table: Projection) => readonly Row[]): Tables {
  const mapped: Partial<Record<Projection, readonly Row[]>> = {}
  for (const table of Object.keys(tables) as Projection[]) mapped[table] = map(tables[table], table)
  return mapped as Tables
}

export async function eventsOf(log: EventLog, topic: Topic): Promise<readonly StoredEvent[]> {
  return Array.fromAsync(log.read({ topic, signal: AbortSignal.timeout(READ_TIMEOUT_MS) }))
}

/** The same account with the same token in another log. */
export async function copyAccounts(from: Environment, to: Environment): Promise<void> {
  await using source = await openLog(from)
  await using target = await openLog(to)
  const facts = await eventsOf(source, 'accounts')
  await target.append(
    'accounts',
    facts.map(({ event }) => event),
  )
}

/** First slot, block or epoch that an ingester of a chain has not ingested; undefined before its first. */
export async function cursorOf(env: Environment, chain: string, name: 'head' | 'epochs'): Promise<number | undefined> {
  await using log = await openLog(env)
  const own = (await eventsOf(log, 'ingest.cursors')).filter(({ event }) => event.key === chainKey(chain, name))
  const newest = own.at(-1)
  return newest === undefined ? undefined : decodeEvent(ingestCursor, newest.event).next
}

/** Events that no projection has acknowledged, over all topics but the one that tells of questions to the very end. */
export async function lagOf(env: Environment): Promise<bigint> {
  await using log = await openLog(env)
  const projectors = PROJECTORS.filter(({ topic }) => topic !== 'usage')
  const lags = await Promise.all(projectors.map(({ topic, group }) => log.lag(topic, group)))
  return lags.reduce((sum, lag) => sum + lag, 0n)
}

/** Whether every event is in the tables, and everything that follows from them. */
export async function isProcessed(env: Environment): Promise<boolean> {
  if ((await lagOf(env)) > 0n) return false
  await using queue = await openJobQueue(readConfig(env), silentLog)
  const pending = await Promise.all(DERIVING_JOBS.map((name) => queue.pending(name)))
  return pending.every((jobs) => jobs === 0)
}
