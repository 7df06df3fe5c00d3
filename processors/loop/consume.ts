import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { pause } from '../../schemas/wait.ts'
import { type DeadLetters, refuseNoEnvelope } from './dead-letters.ts'
import { type LateRows, takeBack, takeBackEpochs } from './drop-chains.ts'
import { type FactsSource, isOfRemoved, type LogFacts, stillCounts } from './log-facts.ts'
import {
  giveBackRows,
  insertAll,
  type JoinedRows,
  joinRows,
  type Projected,
  rowsIn,
  type TableRows,
  type Touched,
  versionOf,
} from './rows.ts'
import { TimeSlices } from './time-slices.ts'

/**
 * One insert per table and batch, which costs about the same for one row as for many; adapters bound the bytes of a batch. A hundred
 * blocks with their logs are as many.
 */
export const BATCH_EVENTS_MAX = 2_048
/**
 * Rows of a batch that are in memory together: an epoch of a million validators has 400 MB as columns, as the block that they are joined to,
 * and as what the engine makes of it, and a batch of bytes as they lie in the log three of them. With fewer the engine has more parts to merge.
 */
const ROWS_AT_ONCE_MAX = 250_000
const EVENTS_PER_LOOK = 8
/**
 * At the log's end events wait for others, so that writing takes a small share of the time however slow the machine is: after a batch
 * so many times as long as it took, within bounds. Where batches are few none waits: so much may come without a pause.
 */
const LINGER_PER_HANDLED = 20
const LINGER_MIN_MS = 500
const LINGER_MAX_MS = 2_000
const LINGER_FREE_MS = 4_000
const RETRY_FIRST_MS = 250
const RETRY_MAX_MS = 15_000

/**
 * How long events at the log's end wait for others after a batch, of one consumer: asked after each with what it took. A log that asks
 * beforehand, with 0, because its server waits by itself, is told the least. Never longer than `lingerMsMax`.
 */
export function pace(
  lingerMsMax = LINGER_MAX_MS,
  nowMs: () => number = () => performance.now(),
): (handledMs: number) => number {
  let owedMs = 0
  let atMs = nowMs()
  return (handledMs) => {
    const now = nowMs()
    owedMs = Math.max(0, owedMs - (now - atMs)) + LINGER_PER_HANDLED * handledMs
    atMs = now
    if (handledMs > 0 && owedMs <= LINGER_FREE_MS) return 0
    owedMs = Math.min(owedMs, LINGER_FREE_MS + LINGER_MAX_MS)
    return Math.min(Math.max(LINGER_PER_HANDLED * handledMs, LINGER_MIN_MS), LINGER_MAX_MS, lingerMsMax)
  }
}

/** How one topic becomes tables. */
export interface Projector {
  /** Consumer group: its progress in the topic is the projection's progress. */
  readonly group: string
  readonly topic: Topic
  /** Pure: what one event becomes, in memory that is the caller's alone. Throws AppError 'undecodable' for an event that can never be processed. */
  project(stored: StoredEvent, unnamedChain: string): Projected
  /** The tables that it fills. */
  readonly tables: readonly Projection[]
  /** The table that says that the others are complete: inserted last. */
  readonly lastTable?: Projection
  /** Where somebody waits for its events: for others they wait no longer than so. */
  readonly lingerMsMax?: number
}

export interface Projecting {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  /** The log's facts. Of a chain that they tell to be removed, the rows are dropped already. */
  readonly facts: FactsSource
  /** Hears what the rows of a batch touch, before the batch is acknowledged: figures that are made of several events. */
  readonly derive: (touched: readonly Touched[]) => Promise<void>
  /** Where events go that cannot be processed. */
  readonly deadLetters: DeadLetters
}

/**
 * The only loop: decode -> rows -> insert -> ask for what is derived -> acknowledge. Rows are repeatable, so a batch that comes
 * again after a crash changes nothing. What can pass (the warehouse or the log is away) is waited out; an event that cannot be
 * processed goes to the dead letters with its reason; anything else ends the loop with an error. Resolves when the signal
 * aborts.
 */
export async function consume(ports: Projecting, projector: Projector, signal: AbortSignal): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  const lingerMs = pace(projector.lingerMsMax)
  while (!signal.aborted) {
    try {
      await ports.eventLog.consume({
        topic: projector.topic,
        group: projector.group,
        maxBatch: BATCH_EVENTS_MAX,
        lingerMs,
        signal,
        handle: async (batch) => {
          await project(ports, projector, batch)
          ports.log.debug({ group: projector.group, events: batch.length }, 'batch processed')
          retryMs = RETRY_FIRST_MS
        },
      })
    } catch (error) {
      if (signal.aborted && error === signal.reason) return // it waited for a lease
      if (!(error instanceof AppError && error.retryable)) throw error
      const { code, message: reason } = error
      ports.log.warn({ group: projector.group, code, reason, retryMs }, 'batch will be tried again')
      await pause(retryMs, signal)
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    }
  }
}

/**
 * Processes one batch: all rows are in the warehouse, and what they touch is asked for, when it resolves.
 *
 * The facts are asked for once, behind the inserts and what is derived at once. Were they newer than what the batch began with, a
 * chain was removed, or epochs were retracted, and dropped while their rows were on their way: those are taken back, with the note
 * that their epochs are complete, which is made of what is there now; and those of a chain that was added again are written anew.
 * So it does not matter how old the facts are that a batch begins with, and it costs one question that log adapters answer
 * quickly, shared by the groups that ask at the same time.
 */
export async function project(
  ports: Projecting,
  projector: Projector,
  batch: readonly StoredEvent[],
  rowsAtOnce = ROWS_AT_ONCE_MAX,
): Promise<void> {
  const isAside = new Set<StoredEvent>()
  let facts = ports.facts.known
  for (;;) {
    const insert = async (rows: readonly TableRows[]) => {
      const joined = joinRows(rows, projector.lastTable)
      giveBackRows(rows, joined)
      await insertRows(ports.warehouse, joined, projector.lastTable)
      giveBackRows(joined)
    }
    const made = await makeRows(ports, projector, { batch, facts, isAside, rowsAtOnce, insert })
    await ports.derive(touchedBy(made))
    const now = await ports.facts.current()
    if (now === facts) {
      const processed = made.map(({ stored }) => stored)
      await ports.deadLetters.resolve(projector.group, projector.topic, processed)
      return
    }
    const late = made.filter(({ stored }) => !stillCounts(projector.topic, stored, now))
    const rowsOf = (stored: StoredEvent) => projector.project(stored, facts.unnamedChain).rows
    await takeBack(ports.warehouse, lateRows(projector.topic, { late, rowsOf }, now))
    await takeBackEpochs(ports.warehouse, touchedBy(late))
    await ports.derive(withoutRows(touchedBy(late)))
    facts = now
  }
}

/** The table that says that the others are complete comes after them. */
async function insertRows(warehouse: Warehouse, rows: readonly JoinedRows[], lastTable?: Projection): Promise<void> {
  const isLast = ({ table }: JoinedRows): boolean => table === lastTable
  await insertAll(
    warehouse,
    rows.filter((one) => !isLast(one)),
  )
  await insertAll(warehouse, rows.filter(isLast))
}

/** An event whose rows are in the warehouse. */
interface Made {
  readonly stored: StoredEvent
  readonly touched: Touched | undefined
}

interface Making {
  readonly batch: readonly StoredEvent[]
  readonly facts: LogFacts
  /** Events that were set aside by an earlier pass over the batch. */
  readonly isAside: Set<StoredEvent>
  readonly rowsAtOnce: number
  /** All rows of some events, whose memory it takes. */
  readonly insert: (rows: readonly TableRows[]) => Promise<void>
}

async function makeRows(
  ports: Projecting,
  projector: Projector,
  { batch, facts, isAside, rowsAtOnce, insert }: Making,
): Promise<readonly Made[]> {
  const made: Made[] = []
  let rows: TableRows[] = []
  let count = 0
  const slices = new TimeSlices(EVENTS_PER_LOOK)
  for (const stored of batch) {
    if (isAside.has(stored) || !stillCounts(projector.topic, stored, facts)) continue
    try {
      refuseNoEnvelope(stored.event)
      const { rows: some, touched } = projector.project(stored, facts.unnamedChain)
      made.push({ stored, touched })
      rows.push(...some)
      count += some.reduce((sum, { columns }) => sum + rowsIn(columns), 0)
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'undecodable')) throw error
      ports.log.error({ group: projector.group, event: stored.event.id, reason: error.message }, 'event set aside')
      const { group, topic } = projector
      await ports.deadLetters.add({ group, topic, stored, reason: error.message, unnamedChain: facts.unnamedChain })
      isAside.add(stored)
    }
    if (count >= rowsAtOnce) {
      await insert(rows)
      rows = []
      count = 0
    } else if (slices.isOver()) await slices.next()
  }
  await insert(rows)
  return made
}

function touchedBy(made: readonly Made[]): readonly Touched[] {
  return made.flatMap(({ touched }) => (touched === undefined ? [] : [touched]))
}

/** As it is where the rows were taken back. */
function withoutRows(touched: readonly Touched[]): readonly Touched[] {
  return touched.map((one) => ('rows' in one ? { ...one, rows: undefined } : one))
}

/** Rows of events that no longer count, made once more to find them. */
function lateRows(
  topic: Topic,
  { late, rowsOf }: { readonly late: readonly Made[]; readonly rowsOf: (stored: StoredEvent) => readonly TableRows[] },
  facts: LogFacts,
): readonly LateRows[] {
  return late.map(({ stored }) => {
    const rows = rowsOf(stored)
    // A chain whose epochs were retracted keeps its clock.
    const own = isOfRemoved(topic, stored, facts) ? rows : rows.filter(({ table }) => table !== 'chains')
    return { chain: chainOfEvent(stored.event, facts.unnamedChain), version: versionOf(stored.position), rows: own }
  })
}
