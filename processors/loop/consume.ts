import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { deadLetter } from '../../schemas/events/dead-letter.ts'
import { CHAINLESS_TOPICS } from '../../schemas/events/envelope.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { pause } from '../../schemas/wait.ts'
import { type LogFacts, stillCounts } from './log-facts.ts'
import { joinRows, type Projected, type TableRows, type Touched } from './rows.ts'

/** One insert per table and batch: large enough for ClickHouse, small enough for memory. */
export const BATCH_EVENTS_MAX = 64
/** At the log's end: events that come meanwhile share one insert, which costs the same for one row as for many. */
const LINGER_MS = 500
const RETRY_FIRST_MS = 250
const RETRY_MAX_MS = 15_000

/** How one topic becomes tables. */
export interface Projector {
  /** Consumer group: its progress in the topic is the projection's progress. */
  readonly group: string
  readonly topic: Topic
  /** Pure: what one event becomes. Throws AppError 'undecodable' for an event that can never be processed. */
  project(stored: StoredEvent, unnamedChain: string): Projected
  /** The tables that it fills. */
  readonly tables: readonly Projection[]
  /** The table that says that the others are complete: inserted last. */
  readonly lastTable?: Projection
}

export interface Projecting {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  /** The log's facts as they are now. */
  readonly facts: () => Promise<LogFacts>
  /** Hears what the rows of a batch touch, before the batch is acknowledged: figures that are made of several events. */
  readonly derive: (touched: readonly Touched[]) => Promise<void>
  /** Ids of dead letters that a replay need not write again. */
  readonly setAsideBefore?: ReadonlySet<string>
}

/**
 * The only loop: decode -> rows -> insert -> ask for what is derived -> acknowledge. Rows are repeatable, so a batch that comes
 * again after a crash changes nothing. What can pass (the warehouse or the log is away) is waited out; an event that cannot be
 * processed goes to the dead letters with its reason; anything else ends the loop with an error. Resolves when the signal
 * aborts.
 */
export async function consume(ports: Projecting, projector: Projector, signal: AbortSignal): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (!signal.aborted) {
    try {
      await ports.eventLog.consume({
        topic: projector.topic,
        group: projector.group,
        maxBatch: BATCH_EVENTS_MAX,
        lingerMs: LINGER_MS,
        signal,
        handle: async (batch) => {
          await project(ports, projector, batch)
          ports.log.debug({ group: projector.group, events: batch.length }, 'batch processed')
          retryMs = RETRY_FIRST_MS
        },
      })
    } catch (error) {
      if (!(error instanceof AppError && error.retryable)) throw error
      const { code, message: reason } = error
      ports.log.warn({ group: projector.group, code, reason, retryMs }, 'batch will be tried again')
      await pause(retryMs, signal)
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    }
  }
}

/** Processes one batch: all rows are in the warehouse, and what they touch is asked for, when it resolves. */
export async function project(ports: Projecting, projector: Projector, batch: readonly StoredEvent[]): Promise<void> {
  const facts = await ports.facts()
  const rows: TableRows[] = []
  const touched: Touched[] = []
  for (const stored of batch) {
    if (!stillCounts(projector.topic, stored, facts)) continue
    try {
      const projected = projector.project(stored, facts.unnamedChain)
      rows.push(...projected.rows)
      if (projected.touched !== undefined) touched.push(projected.touched)
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'undecodable')) throw error
      ports.log.error({ group: projector.group, event: stored.event.id, reason: error.message }, 'event set aside')
      await setAside(ports, projector, { stored, reason: error.message, unnamedChain: facts.unnamedChain })
    }
  }
  for (const { table, columns } of joinRows(rows, projector.lastTable)) await ports.warehouse.insert(table, columns)
  await ports.derive([...touched, ...removedSince(facts, await ports.facts())])
}

/** Chains that were removed while the batch was on its way: its rows of them came behind the removal. */
function removedSince(before: LogFacts, after: LogFacts): readonly Touched[] {
  if (after === before) return []
  return [...after.removed].flatMap(([chain, { removalId }]) =>
    before.removed.get(chain)?.removalId === removalId ? [] : [{ kind: 'chain removed', chain, removalId } as const],
  )
}

interface Unprocessable {
  readonly stored: StoredEvent
  readonly reason: string
  readonly unnamedChain: string
}

async function setAside(
  ports: Projecting,
  projector: Projector,
  { stored: { event, position }, reason, unnamedChain }: Unprocessable,
): Promise<void> {
  const id = `dead-letter:${projector.group}:${projector.topic}:${position.partition}:${position.offset}`
  if (ports.setAsideBefore?.has(id) === true) return
  await ports.eventLog.append('dead-letters', [
    encodeEvent(deadLetter, {
      id,
      key: projector.topic,
      time: event.time,
      data: {
        chain: CHAINLESS_TOPICS.has(projector.topic) ? '' : chainOfEvent(event, unnamedChain),
        topic: projector.topic,
        partition: position.partition,
        offset: position.offset.toString(),
        group: projector.group,
        eventId: event.id,
        eventType: event.type,
        eventVersion: event.version,
        eventTime: event.time,
        reason,
      },
    }),
  ])
}
