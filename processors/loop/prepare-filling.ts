import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { COMPACTED_TOPICS } from '../../schemas/events/envelope.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { pause } from '../../schemas/wait.ts'
import { refuseOlderLog } from './ahead-of-log.ts'
import type { Projector } from './consume.ts'
import { dropRemoved } from './drop-chains.ts'
import { openExchange } from './exchange.ts'
import { filledFrom, fillLease, markFilled, refuseOtherLog, tablesNotFilled } from './filled-from.ts'
import type { LogFacts } from './log-facts.ts'
import { finishRebuild } from './rebuild.ts'

/** Between two looks at how far the groups have come. */
const FILLING_LOOK_MS = 1_000
/** The end of a filling that took longer is told. */
const FILLING_TOLD_MS = 10_000

export interface Filling {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
}

/**
 * Makes a warehouse ready to be filled from a log: an empty one is filled from the log's beginning, whatever earlier tables the
 * groups had filled; tables that were made anew since are filled by their groups from the beginning; a rebuild that was
 * interrupted while it put its tables in place is finished first. Of several processes
 * that find something to do one does it, before any of them fills tables: rows that were written meanwhile would be lost.
 * Throws AppError `config` for the warehouse of another log, or of a longer one than this; rejects with the signal's reason when it aborts. `now` is Unix
 * seconds.
 */
export async function prepareFilling(filling: Filling, now: number, signal: AbortSignal): Promise<void> {
  const { eventLog, warehouse, facts } = filling
  if (await isReady(filling)) return
  await using _alone = await eventLog.lease(fillLease(warehouse), signal)
  await finishRebuild(filling, now, signal)
  if (await isReady(filling)) return
  // Tables that are kept may have rows of what was removed since: afterwards it counts as dropped.
  await dropRemoved(filling, facts, signal)
  const groups = await groupsToRewind(filling)
  const fields = { groups: groups.map(({ group }) => group) }
  const message = 'the tables are empty or new: they are filled from the log'
  // At the first start of all there is nothing to be surprised at.
  if (await hasFilledBefore(eventLog, groups)) filling.log.warn(fields, message)
  else filling.log.debug(fields, message)
  for (const { topic, group } of groups) await eventLog.rewind(topic, group)
  const held = await Promise.all(groups.map((group) => eventsOf(eventLog, group)))
  await markFilled(warehouse, facts, { now, isWhole: held.every((events) => events === 0n) })
}

/** Events that a topic has had, which is where a group stands that has processed all of them. */
async function eventsOf(eventLog: EventLog, { topic }: Projector): Promise<bigint> {
  return [...(await eventLog.ends(topic)).values()].reduce((sum, end) => sum + end, 0n)
}

interface Finishing {
  /** Unix seconds. */
  readonly now: () => number
  /** Makes everything that is derived of the tables; a part of it when the signal aborts. */
  readonly derive: (signal: AbortSignal) => Promise<void>
}

/**
 * Resolves when tables that are being filled have all that the log holds at the call, and what is derived of it; at once where none
 * are, and early when the signal aborts. Until then nobody is served from them: they would be sums of a part.
 */
export async function finishFilling(filling: Filling, { now, derive }: Finishing, signal: AbortSignal): Promise<void> {
  const { eventLog, warehouse, log, facts, projectors } = filling
  if ((await filledFrom(warehouse))?.isWhole !== false) return
  const begin = performance.now()
  const ends = await Promise.all(projectors.map(({ topic }) => eventLog.ends(topic)))
  const isThrough = async (): Promise<boolean> => {
    const left = await Promise.all(projectors.map(({ topic, group }, i) => eventLog.lag(topic, group, ends[i])))
    return left.every((events) => events === 0n)
  }
  while (!(await isThrough())) {
    await pause(FILLING_LOOK_MS, signal)
    if (signal.aborted) return
  }
  await derive(signal)
  if (signal.aborted) return
  await markFilled(warehouse, facts, { now: now(), isWhole: true })
  const message = 'the tables are filled: what the log held is served'
  // At the first start of all the log holds a few facts, and nobody has waited.
  if (performance.now() - begin > FILLING_TOLD_MS) log.info({}, message)
  else log.debug({}, message)
}

/** Whether one of the groups has processed anything of this log, into tables that are no longer there. */
async function hasFilledBefore(eventLog: EventLog, groups: readonly Projector[]): Promise<boolean> {
  for (const projector of groups) {
    const { topic, group } = projector
    if (COMPACTED_TOPICS.has(topic)) continue // what was replaced there looks as if it were processed
    const events = await eventsOf(eventLog, projector) // before the lag: what is appended in between was processed by nobody
    if ((await eventLog.lag(topic, group)) < events) return true
  }
  return false
}

const FOLDED: ReadonlySet<string> = new Set(FOLDED_TABLES)

/** All groups for a warehouse that was never filled, otherwise those whose tables are new. */
async function groupsToRewind({ warehouse, projectors }: Filling): Promise<readonly Projector[]> {
  const filled = await filledFrom(warehouse)
  if (filled === undefined) return projectors
  const empty = await tablesNotFilled(warehouse, filled)
  const isFilledBy = (table: string, { tables }: Projector): boolean => tables.some((one) => one === table)
  // What no group fills is derived from what the finalized stream fills, but for what is folded of whatever logs have filled.
  const isDerived = empty.some(
    (table) => !FOLDED.has(table) && !projectors.some((projector) => isFilledBy(table, projector)),
  )
  return projectors.filter(
    (projector) =>
      (isDerived && projector.topic === 'beacon.epochs') || empty.some((table) => isFilledBy(table, projector)),
  )
}

async function isReady({ eventLog, warehouse, facts }: Filling): Promise<boolean> {
  // First: a rebuild from another log that was interrupted has made this one refuse its own log.
  if ((await openExchange(warehouse)) !== undefined) return false
  await refuseOtherLog(warehouse, facts)
  const filled = await filledFrom(warehouse)
  if (filled !== undefined) await refuseOlderLog({ eventLog, warehouse })
  return filled !== undefined && (await tablesNotFilled(warehouse, filled)).length === 0
}
