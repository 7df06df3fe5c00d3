import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Projector } from './consume.ts'
import { finishExchange, isExchanging } from './exchange.ts'
import type { LogFacts } from './log-facts.ts'

/** The name of the right to fill an empty warehouse, and to put other tables in the place of the live ones. */
export function fillLease(warehouse: Warehouse): string {
  return `fill:${warehouse.database}`
}

interface Filled {
  readonly logId: string
  /** Unix seconds. */
  readonly since: number
}

/** The log that a warehouse was filled from, last if it was rebuilt from another; undefined for an empty one. */
async function filledFrom(warehouse: Warehouse): Promise<Filled | undefined> {
  const [row] = await warehouse.query<{ log_id: string; since_sec: number }>(
    'SELECT log_id, toUnixTimestamp(since) AS since_sec FROM filled_from ORDER BY since DESC LIMIT 1',
  )
  return row === undefined ? undefined : { logId: row.log_id, since: row.since_sec }
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

interface Filling {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
}

/**
 * Makes a warehouse ready to be filled from a log: an empty one is filled from the log's beginning, whatever earlier tables the
 * groups had filled; an exchange that was interrupted is finished first. Of several processes that find something to do one
 * does it, before any of them fills tables: rows that were written meanwhile would be lost. Throws AppError `config` for the
 * warehouse of another log; rejects with the signal's reason when it aborts. `now` is Unix seconds.
 */
export async function prepareFilling(filling: Filling, now: number, signal: AbortSignal): Promise<void> {
  const { eventLog, warehouse, facts } = filling
  await refuseOtherLog(warehouse, facts)
  if (await isReady(warehouse)) return
  await using _alone = await eventLog.lease(fillLease(warehouse), signal)
  await finishExchange(warehouse)
  await refuseOtherLog(warehouse, facts)
  if (await isReady(warehouse)) return
  for (const { topic, group } of filling.projectors) await eventLog.rewind(topic, group)
  await markFilled(warehouse, facts, now)
}

async function isReady(warehouse: Warehouse): Promise<boolean> {
  return (await filledFrom(warehouse)) !== undefined && !(await isExchanging(warehouse))
}

/**
 * Notes the log that the tables are filled from, and the removals that were read before their events. Older notes stay: without
 * them there would be a moment in which the warehouse looks empty, and a process that starts would fill it anew.
 */
export async function markFilled(warehouse: Warehouse, facts: LogFacts, now: number): Promise<void> {
  const removals = [...facts.removed.values()].map(({ removalId }) => removalId)
  if (removals.length > 0) await warehouse.insert('dropped_chains', { removal_id: removals })
  const before = await filledFrom(warehouse)
  if (before?.logId === facts.logId) return
  const since = Math.max(Math.floor(now), (before?.since ?? 0) + 1)
  await warehouse.insert('filled_from', { log_id: [facts.logId], since: Uint32Array.of(since) })
}
