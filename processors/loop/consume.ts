import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { deadLetter } from '../../schemas/events/dead-letter.ts'
import type { Projection } from '../../schemas/tables/tables.ts'
import { joinRows, type TableRows } from './rows.ts'

/** One insert per table and batch: large enough for ClickHouse, small enough for memory. */
export const BATCH_EVENTS_MAX = 64
/** After a batch that was not full: events that come meanwhile share one insert, which costs the same for one row as for many. */
const LINGER_MS = 500
const RETRY_FIRST_MS = 250
const RETRY_MAX_MS = 15_000

/** How one topic becomes tables. */
export interface Projector {
  /** Consumer group: its progress in the topic is the projection's progress. */
  readonly group: string
  readonly topic: Topic
  /** Pure: rows of one event. Throws AppError 'undecodable' for an event that can never be processed. */
  rowsOf(stored: StoredEvent): readonly TableRows[]
  /** The table that says that the others are complete: inserted last. */
  readonly lastTable?: Projection
  /** Called after the rows of the batch are in the warehouse and before it is acknowledged: what is derived from several topics. */
  after?(rows: readonly TableRows[]): Promise<void>
}

export interface Projecting {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  /** Ids of dead letters that a replay need not write again. */
  readonly setAsideBefore?: ReadonlySet<string>
}

/**
 * The only loop: decode -> rows -> insert -> acknowledge. Rows are repeatable, so a batch that comes again after a crash
 * changes nothing. What can pass (the warehouse or the log is away) is waited out; an event that cannot be processed goes to
 * the dead letters with its reason; anything else ends the loop with an error. Resolves when the signal aborts. `onDone` hears
 * of every batch that is in the warehouse, of some more than once.
 */
export async function consume(
  ports: Projecting,
  projector: Projector,
  signal: AbortSignal,
  onDone?: (batch: readonly StoredEvent[]) => void,
): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (!signal.aborted) {
    try {
      await ports.eventLog.consume({
        topic: projector.topic,
        group: projector.group,
        maxBatch: BATCH_EVENTS_MAX,
        signal,
        handle: async (batch) => {
          await project(ports, projector, batch)
          onDone?.(batch)
          retryMs = RETRY_FIRST_MS
          if (batch.length < BATCH_EVENTS_MAX) await pause(LINGER_MS, signal)
        },
      })
    } catch (error) {
      if (!(error instanceof AppError && error.retryable)) throw error
      ports.log.warn(
        { group: projector.group, code: error.code, reason: error.message, retryMs },
        'batch will be tried again',
      )
      await pause(retryMs, signal)
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    }
  }
}

/** Processes one batch: all rows are in the warehouse when it resolves. */
export async function project(ports: Projecting, projector: Projector, batch: readonly StoredEvent[]): Promise<void> {
  const parts: TableRows[] = []
  for (const stored of batch) {
    try {
      parts.push(...projector.rowsOf(stored))
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'undecodable')) throw error
      ports.log.error({ group: projector.group, event: stored.event.id, reason: error.message }, 'event set aside')
      await setAside(ports, projector, stored, error.message)
    }
  }
  const rows = joinRows(parts, projector.lastTable)
  for (const { table, columns } of rows) await ports.warehouse.insert(table, columns)
  await projector.after?.(rows)
}

async function setAside(ports: Projecting, projector: Projector, stored: StoredEvent, reason: string): Promise<void> {
  const { event, position } = stored
  const id = `dead-letter:${projector.group}:${projector.topic}:${position.partition}:${position.offset}`
  if (ports.setAsideBefore?.has(id) === true) return
  await ports.eventLog.append('dead-letters', [
    encodeEvent(deadLetter, {
      id,
      key: projector.topic,
      time: event.time,
      data: {
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

/** Resolves after the time or when the signal aborts, whichever is first. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
