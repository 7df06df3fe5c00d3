import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { Projector } from './consume.ts'
import { openExchange } from './exchange.ts'
import { filledFrom, fillLease, markFilled, refuseOtherLog } from './filled-from.ts'
import type { LogFacts } from './log-facts.ts'
import { finishRebuild } from './rebuild.ts'

export interface Filling {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
}

/**
 * Makes a warehouse ready to be filled from a log: an empty one is filled from the log's beginning, whatever earlier tables the
 * groups had filled; a rebuild that was interrupted while it put its tables in place is finished first. Of several processes
 * that find something to do one does it, before any of them fills tables: rows that were written meanwhile would be lost.
 * Throws AppError `config` for the warehouse of another log; rejects with the signal's reason when it aborts. `now` is Unix
 * seconds.
 */
export async function prepareFilling(filling: Filling, now: number, signal: AbortSignal): Promise<void> {
  const { eventLog, warehouse, facts } = filling
  if (await isReady(filling)) return
  await using _alone = await eventLog.lease(fillLease(warehouse), signal)
  await finishRebuild(filling, now, signal)
  if (await isReady(filling)) return
  for (const { topic, group } of filling.projectors) await eventLog.rewind(topic, group)
  await markFilled(warehouse, facts, now)
}

async function isReady({ warehouse, facts }: Filling): Promise<boolean> {
  // First: a rebuild from another log that was interrupted has made this one refuse its own log.
  if ((await openExchange(warehouse)) !== undefined) return false
  await refuseOtherLog(warehouse, facts)
  return (await filledFrom(warehouse)) !== undefined
}
