import type { EventLog, Lease } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { FAMILIES, type Family, PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { deriveEverything, settleEverybody } from '../derive.ts'
import type { Projector } from './consume.ts'
import { dropLease, dropRetracted } from './drop-chains.ts'
import {
  canReplace,
  databaseBeside,
  type Exchange,
  noteExchange,
  noteExchanged,
  openExchange,
  replacePartitions,
} from './exchange.ts'
import { markFilled, refuseOtherLog } from './filled-from.ts'
import { type LogFacts, readLogFacts, sameRemovals, takenBackBy } from './log-facts.ts'
import { LogReader, type ReadProgress } from './log-reader.ts'
import { partitionsOf } from './partitions.ts'

const NEVER = new AbortController().signal

/** Families that no figure of another family is made of. */
const ALONE: ReadonlySet<Family> = new Set<Family>(['head', 'loop', 'settlements', 'nft'])

export interface Rebuilding {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
}

/** Everything, or one chain's part, or one family's, or one family's part of one chain. */
export interface Scope {
  readonly chain?: string | undefined
  readonly family?: Family | undefined
}

export interface RebuildOptions extends Rebuilding {
  /** What is rebuilt. */
  readonly scope: Scope
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onProgress: (progress: ReadProgress) => void
}

/**
 * Builds the tables of the scope beside the live ones from one reading of the log, and puts them in their place; until then the
 * live ones answer, and an interruption leaves them. Processors may go on meanwhile: what they add while the log is being
 * read is read afterwards, once more behind the exchange. Figures made of several events are made once, at the end. False when
 * the signal aborted before the exchange. To be called with the lease `fillLease`.
 *
 * Throws AppError `config` for a part of a warehouse that was filled from another log, `usage` when a chain was removed
 * meanwhile.
 */
export async function rebuild(options: RebuildOptions, signal: AbortSignal): Promise<boolean> {
  const { warehouse, facts, scope, now } = options
  await finishRebuild(options, now() / 1000, signal)
  if (!isWhole(scope)) await refuseOtherLog(warehouse, facts)
  return await buildAndExchange(options, signal)
}

/** With `instead`, in the place of an exchange that was interrupted. */
async function buildAndExchange(options: RebuildOptions, signal: AbortSignal, instead?: Exchange): Promise<boolean> {
  const { warehouse, facts, scope, now } = options
  // Were they told before the exchange, one that never comes would leave the live tables without the events and without the letter.
  const resolved: EncodedEvent[] = []
  const onResolved = (event: EncodedEvent) => void resolved.push(event)
  const reader = new LogReader({ ...options, tables: tablesOf(scope.family), chain: scope.chain, onResolved })
  await dropBeside(warehouse)
  await build(options, reader, signal)
  const alone = signal.aborted ? undefined : await waitForLease(options, signal)
  if (alone === undefined) {
    await dropBeside(warehouse)
    return false
  }
  await using _alone = alone
  await refuseNewRemovals(options)
  const exchange: Exchange = {
    ...scope,
    startedMs: Math.max(now(), (instead?.startedMs ?? 0) + 1),
    logId: facts.logId,
    tables: tablesOf(scope.family),
    readUntil: reader.readUntil,
    removals: takenBackBy(facts),
  }
  await noteExchange(warehouse, exchange)
  if (instead !== undefined) await noteExchanged(warehouse, instead)
  await replacePartitions(warehouse, exchange)
  if (resolved.length > 0) await options.eventLog.append('dead-letters', resolved)
  await complete(options, exchange, now() / 1000)
  return true
}

/** Makes the tables beside the live ones; ends early when the signal aborts. */
async function build({ warehouse, scope }: RebuildOptions, reader: LogReader, signal: AbortSignal): Promise<void> {
  await using beside = await warehouse.beside(databaseBeside(warehouse))
  await makeTables(warehouse, beside, scope)
  await reader.into(beside, signal)
  // No event of their own tells them, and events of one family alone tell some of them.
  if (scope.family !== undefined && tablesOf(scope.family).includes('settlements')) await settleEverybody(beside)
  await reader.into(beside, signal) // what came while the first reading took its time
}

/** The right to exchange tables, which is that to drop removed chains; undefined when the signal aborted. */
async function waitForLease({ eventLog, warehouse }: RebuildOptions, signal: AbortSignal): Promise<Lease | undefined> {
  try {
    return await eventLog.lease(dropLease(warehouse), signal)
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/**
 * Finishes a rebuild that was interrupted while it put its tables in place; nothing to do otherwise. Tables that an upgrade has left
 * behind are built anew: some of the live ones were replaced already, so there is no way back. To be called with the lease
 * `fillLease`. `now` is Unix seconds. Throws AppError `config` when the rebuild was from another log; rejects with the signal's reason
 * when it aborts.
 */
export async function finishRebuild(options: Rebuilding, now: number, signal: AbortSignal): Promise<void> {
  const { warehouse, facts } = options
  const exchange = await openExchange(warehouse)
  if (exchange === undefined) return
  if (exchange.logId !== facts.logId) {
    throw new AppError(
      'config',
      'A rebuild of the warehouse from another event log was interrupted while it put its tables in place: run ' +
        '`epochline rebuild` with that log (EPOCHLINE_DATA, or KAFKA_TOPIC_PREFIX), then with this one.',
    )
  }
  if (!(await canReplace(warehouse, exchange))) return await buildAgain(options, exchange, { now, signal })
  await using _alone = await options.eventLog.lease(dropLease(warehouse), signal)
  const passed = [...facts.removed].filter(([, { removalId }]) => !exchange.removals.includes(removalId))
  await replacePartitions(
    warehouse,
    exchange,
    passed.map(([chain]) => chain),
  )
  // Of epochs that were retracted since, the rows that were built before it are in place now, whoever has dropped others meanwhile.
  await dropRetracted(warehouse, facts, new Set(exchange.removals))
  await complete(options, exchange, now)
}

async function buildAgain(
  options: Rebuilding,
  exchange: Exchange,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<void> {
  const { chain, family } = exchange
  options.log.warn(
    { chain, family },
    'a rebuild was interrupted before an upgrade, while it put its tables in place: they are built again',
  )
  const again = { ...options, scope: { chain, family }, now: () => now * 1000, onProgress: () => {} }
  if (!(await buildAndExchange(again, signal, exchange))) throw signal.reason
}

/** What follows when the tables are in their place: the log's end, and what other families make of them. */
async function complete(options: Rebuilding, exchange: Exchange, now: number): Promise<void> {
  const { warehouse, facts } = options
  const { tables, chain, family, readUntil } = exchange
  const rest = new LogReader({ ...options, tables, chain, from: readUntil })
  await rest.into(warehouse, NEVER)
  if (family !== undefined && !ALONE.has(family)) await deriveEverything(warehouse, chain)
  if (isWhole(exchange)) await markFilled(warehouse, facts, { now, isWhole: true })
  await noteExchanged(warehouse, exchange)
  await dropBeside(warehouse)
}

function isWhole({ chain, family }: Scope): boolean {
  return chain === undefined && family === undefined
}

/**
 * A family's own tables, and the settlements that are made of them: made anew beside, since those that no longer follow from
 * anything are rows that nothing replaces.
 */
function tablesOf(family: Family | undefined): readonly Projection[] {
  if (family === undefined) return Object.keys(PROJECTIONS) as Projection[]
  const settled = ALONE.has(family) ? {} : FAMILIES.settlements
  return Object.keys({ ...FAMILIES[family], ...settled }) as Projection[]
}

async function dropBeside(warehouse: Warehouse): Promise<void> {
  await warehouse.command(`DROP DATABASE IF EXISTS ${databaseBeside(warehouse)} SYNC`)
}

/** Rows of a chain that was removed meanwhile are in the tables beside, and may have been dropped from the live ones. */
async function refuseNewRemovals({ eventLog, facts }: RebuildOptions): Promise<void> {
  const now = await readLogFacts(eventLog, NEVER)
  if (now !== undefined && sameRemovals(now, facts)) return
  throw new AppError(
    'usage',
    'A chain was removed, or repaired, while the log was read: the tables are as they were; rebuild again.',
  )
}

/** Empty tables beside the live ones, and what is not rebuilt but needed by what is derived: linked, not copied. */
async function makeTables(warehouse: Warehouse, beside: Warehouse, { chain, family }: Scope): Promise<void> {
  const rebuilt = tablesOf(family)
  // Who derives looks at what was put in place: here nothing ever is.
  await beside.command(`CREATE TABLE rebuild_exchanges AS ${warehouse.database}.rebuild_exchanges`)
  for (const table of Object.keys(PROJECTIONS) as Projection[]) {
    await beside.command(`CREATE TABLE ${table} AS ${warehouse.database}.${table}`)
    if (rebuilt.includes(table) && chain === undefined) continue
    const empty = new Set(rebuilt.includes(table) ? await partitionsOf(warehouse, table, chain) : [])
    for (const id of await partitionsOf(warehouse, table)) {
      if (empty.has(id)) continue
      await beside.command(`ALTER TABLE ${table} ATTACH PARTITION ID '${id}' FROM ${warehouse.database}.${table}`)
    }
  }
}
