import pRetry from 'p-retry'
import type { EventLog, Offsets, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { CHAINLESS_TOPICS } from '../../schemas/events/envelope.ts'
import { type DeriveDayInput, deriveDay } from '../../schemas/jobs/derive-day.ts'
import type { FoldNftInput } from '../../schemas/jobs/fold-nft.ts'
import type { SettleAccountInput } from '../../schemas/jobs/settle-account.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { Derivation, deriveTogether, type Wanted } from '../derive.ts'
import { BATCH_EVENTS_MAX, type Projecting, type Projector, project } from './consume.ts'
import { DeadLetters } from './dead-letters.ts'
import type { LogFacts } from './log-facts.ts'

const NEVER = new AbortController().signal
/** Events of one batch are in memory three times: as bytes, as columns, and as rows. One event always fits. */
const BATCH_BYTES_MAX = 8 << 20
/** About two minutes in all: what takes longer ends the rebuild, and the live tables stay as they are. */
const RETRIES = {
  retries: 10,
  minTimeout: 250,
  maxTimeout: 15_000,
  shouldRetry: ({ error }: { readonly error: Error }) => error instanceof AppError && error.retryable,
} as const

export interface ReadProgress {
  readonly topic: Topic
  readonly done: number
  readonly total: number
}

export interface LogReaderOptions {
  readonly eventLog: EventLog
  readonly log: Log
  /** They do not change for this reader: whoever uses it finds out whether they have. */
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
  /** Only topics that fill one of these are read. */
  readonly tables: readonly Projection[]
  /** Only events of this chain, and those of no chain. */
  readonly chain?: string | undefined
  /** Where reading begins; at the beginning where it says nothing. */
  readonly from?: ReadonlyMap<Topic, Offsets>
  readonly onProgress?: (progress: ReadProgress) => void
  /** Hears of dead letters that are none any more once the tables are the live ones; by default they are told at once. */
  readonly onResolved?: (resolved: EncodedEvent) => void
}

/** Fills tables from the log without a group of its own: each reading goes on where the one before has ended. */
export class LogReader {
  readonly #options: LogReaderOptions
  readonly #readUntil: Map<Topic, Offsets>
  readonly #wanted = new WantedAtOnce()

  constructor(options: LogReaderOptions) {
    this.#options = options
    this.#readUntil = new Map(options.from)
  }

  /** By topic, up to where it was read; later topics of an aborted reading are missing. */
  get readUntil(): ReadonlyMap<Topic, Offsets> {
    return this.#readUntil
  }

  /** Projects what was appended since the last reading, then makes what is derived from it. Stops early when the signal aborts. */
  async into(warehouse: Warehouse, signal: AbortSignal): Promise<void> {
    const { eventLog, log, facts, projectors, tables, onResolved } = this.#options
    const { derive } = new Derivation(warehouse, this.#wanted)
    const ports: Projecting = {
      eventLog,
      log,
      warehouse,
      facts: { known: facts, current: async () => facts },
      derive,
      // What was set aside before is not set aside again.
      deadLetters: await DeadLetters.open(eventLog, onResolved && (async (resolved) => onResolved(resolved))),
    }
    // Dead letters come last: the others may set events aside, or process what was set aside.
    const isLast = ({ topic }: Projector): number => (topic === 'dead-letters' ? 1 : 0)
    for (const projector of projectors.toSorted((a, b) => isLast(a) - isLast(b))) {
      if (projector.tables.some((table) => tables.includes(table))) await this.#read(ports, projector, signal)
    }
    if (!signal.aborted) await this.#wanted.make(warehouse)
  }

  async #read(ports: Projecting, projector: Projector, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { eventLog, onProgress } = this.#options
    const { topic } = projector
    const from = this.#readUntil.get(topic) ?? new Map()
    const ends = await eventLog.ends(topic)
    const total = [...ends].reduce((sum, [partition, end]) => sum + Number(end - (from.get(partition) ?? 0n)), 0)
    let done = 0
    let bytes = 0
    let batch: StoredEvent[] = []
    const flush = async () => {
      if (batch.length > 0) await pRetry(() => project(ports, projector, batch), RETRIES)
      done += batch.length
      onProgress?.({ topic, done: Math.min(done, total), total })
      batch = []
      bytes = 0
    }
    for await (const stored of eventLog.read({ topic, signal: NEVER, from })) {
      if (signal.aborted) return
      if (!this.#isMeant(topic, stored)) continue
      const size = stored.event.data.length
      if (batch.length === BATCH_EVENTS_MAX || bytes + size > BATCH_BYTES_MAX) await flush()
      batch.push(stored)
      bytes += size
    }
    await flush()
    this.#readUntil.set(topic, ends)
  }

  #isMeant(topic: Topic, { event }: StoredEvent): boolean {
    const { chain, facts } = this.#options
    return chain === undefined || CHAINLESS_TOPICS.has(topic) || chainOfEvent(event, facts.unnamedChain) === chain
  }
}

/** Keeps what is wanted, to be made once after many batches. */
class WantedAtOnce implements Wanted {
  readonly #chains = new Set<string>()
  readonly #days = new Map<string, DeriveDayInput>()
  readonly #accounts = new Set<string>()

  async fold({ chain }: FoldNftInput): Promise<void> {
    this.#chains.add(chain)
  }

  async day(input: DeriveDayInput): Promise<void> {
    this.#days.set(deriveDay.idOf(input), input)
  }

  async account({ account }: SettleAccountInput): Promise<void> {
    this.#accounts.add(account)
  }

  async make(warehouse: Warehouse): Promise<void> {
    const [chains, days, accounts] = [this.#chains, this.#days.values(), this.#accounts]
    await deriveTogether(warehouse, { chains, days, accounts })
    this.#chains.clear()
    this.#days.clear()
    this.#accounts.clear()
  }
}
