import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Projector } from './consume.ts'
import { finishExchange } from './exchange.ts'
import type { LogFacts } from './log-facts.ts'

/** The log that a warehouse was filled from; undefined for an empty one. */
async function filledFrom(warehouse: Warehouse): Promise<string | undefined> {
  const [row] = await warehouse.query<{ log_id: string }>('SELECT log_id FROM filled_from ORDER BY since LIMIT 1')
  return row?.log_id
}

/** Throws AppError `config` when the warehouse holds rows of another log than this. */
export async function refuseOtherLog(warehouse: Warehouse, facts: LogFacts): Promise<void> {
  const logId = await filledFrom(warehouse)
  if (logId === undefined || logId === facts.logId) return
  throw new AppError(
    'config',
    'The warehouse was filled from another event log than this one: name the warehouse that belongs to this log ' +
      '(EPOCHLINE_DATA, or CLICKHOUSE_DATABASE), or run `epochline rebuild` to fill this one from this log.',
  )
}

/**
 * Makes a warehouse ready to be filled from a log: an empty one is filled from the log's beginning, whatever earlier tables the
 * groups had filled; an exchange that was interrupted is finished first. Throws AppError `config` for the warehouse of
 * another log. `now` is Unix seconds.
 */
export async function prepareFilling(
  {
    eventLog,
    warehouse,
    facts,
  }: { readonly eventLog: EventLog; readonly warehouse: Warehouse; readonly facts: LogFacts },
  projectors: readonly Projector[],
  now: number,
): Promise<void> {
  await finishExchange(warehouse)
  await refuseOtherLog(warehouse, facts)
  if ((await filledFrom(warehouse)) !== undefined) return
  try {
    for (const { topic, group } of projectors) await eventLog.rewind(topic, group)
  } catch (error) {
    // Another process has just done the same and consumes already.
    if ((await filledFrom(warehouse)) === facts.logId) return
    throw error
  }
  await markFilled(warehouse, facts, now)
}

/** Notes the log that the tables are filled from, and the removals that were read before their events. */
export async function markFilled(warehouse: Warehouse, facts: LogFacts, now: number): Promise<void> {
  const removals = [...facts.removed.values()].map(({ removalId }) => removalId)
  if (removals.length > 0) await warehouse.insert('dropped_chains', { removal_id: removals })
  await warehouse.command('TRUNCATE TABLE filled_from')
  await warehouse.insert('filled_from', { log_id: [facts.logId], since: Uint32Array.of(Math.floor(now)) })
}
