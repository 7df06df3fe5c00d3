import pRetry from 'p-retry'
import type { EventLog, Offsets, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { CHAINLESS_TOPICS } from '../../schemas/events/envelope.ts'
import { type DeriveDayInput, deriveDay, type SettleAccountInput } from '../../schemas/jobs.ts'
import { FAMILIES, type Family, PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { Derivation, runDeriveDay, runSettleAccount, type Wanted } from '../derive.ts'
import { BATCH_EVENTS_MAX, type Projecting, type Projector, project } from './consume.ts'
import { partitionsOf } from './drop-chain.ts'
import { databaseBeside, exchangeTables } from './exchange.ts'
import { markFilled } from './fill.ts'
import type { LogFacts } from './log-facts.ts'

const NEVER = new AbortController().signal
/** About two minutes in all: what takes longer ends the rebuild, and the live tables stay as they are. */
const RETRIES = {
  retries: 10,
  minTimeout: 250,
  maxTimeout: 15_000,
  shouldRetry: ({ error }: { readonly error: Error }) => error instanceof AppError && error.retryable,
} as const

export interface RebuildProgress {
  readonly topic: Topic
  readonly done: number
  readonly total: number
}

export interface RebuildOptions {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly log: Log
  readonly facts: LogFacts
  readonly projectors: readonly Projector[]
  /** What is rebuilt: everything, or one chain's part, or one family's, or one family's part of one chain. */
  readonly scope: { readonly chain?: string | undefined; readonly family?: Family | undefined }
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onProgress: (progress: RebuildProgress) => void
}

/**
 * Builds the tables of the scope beside the live ones from one reading of the log, and puts them in their place; until then the
 * live ones answer, and an interruption leaves them. Processors may go on meanwhile: what they add while the log is being
 * read is read afterwards, once more behind the exchange. Figures made of several events are made once, at the end. False when
 * the signal aborted before the exchange.
 */
export async function rebuild(options: RebuildOptions, signal: AbortSignal): Promise<boolean> {
  const { warehouse, facts, scope, now } = options
  const tables = tablesOf(scope.family)
  const database = databaseBeside(warehouse)
  await warehouse.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
  await using beside = await warehouse.beside(database)
  for (const table of Object.keys(PROJECTIONS)) {
    await beside.command(`CREATE TABLE ${table} AS ${warehouse.database}.${table}`)
  }
  await copyOthers(warehouse, beside, tables, scope.chain)
  const read = await LogReader.open(options, tables)
  await read.into(beside, signal)
  if (signal.aborted) return false
  await read.into(beside, signal) // what came while the first reading took its time
  if (signal.aborted) return false
  await exchangeTables(warehouse, { tables, chain: scope.chain }, now())
  await read.into(warehouse, NEVER)
  if (scope.family !== undefined) await read.deriveAgain(warehouse)
  if (scope.chain === undefined && scope.family === undefined) await markFilled(warehouse, facts, now() / 1000)
  await warehouse.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
  return true
}

function tablesOf(family: Family | undefined): readonly Projection[] {
  return Object.keys(family === undefined ? PROJECTIONS : FAMILIES[family]) as Projection[]
}

/** What is not rebuilt is needed by what is derived: its partitions are linked, not copied. */
async function copyOthers(
  warehouse: Warehouse,
  beside: Warehouse,
  tables: readonly Projection[],
  chain: string | undefined,
): Promise<void> {
  for (const table of Object.keys(PROJECTIONS) as Projection[]) {
    const own = new Set(tables.includes(table) ? await partitionsOf(warehouse, table, chain) : [])
    for (const id of await partitionsOf(warehouse, table)) {
      if (own.has(id)) continue
      await beside.command(`ALTER TABLE ${table} ATTACH PARTITION ID '${id}' FROM ${warehouse.database}.${table}`)
    }
  }
}

/** Reads the log's topics that fill some tables, each time from where the last reading ended. */
class LogReader {
  readonly #options: RebuildOptions
  readonly #projectors: readonly Projector[]
  readonly #tables: ReadonlySet<Projection>
  readonly #setAsideBefore: ReadonlySet<string>
  readonly #from = new Map<Topic, Offsets>()
  readonly #wanted = new Collected()

  private constructor(options: RebuildOptions, tables: readonly Projection[], setAsideBefore: ReadonlySet<string>) {
    this.#options = options
    this.#tables = new Set(tables)
    this.#projectors = options.projectors.filter((projector) =>
      projector.tables.some((table) => this.#tables.has(table)),
    )
    this.#setAsideBefore = setAsideBefore
  }

  static async open(options: RebuildOptions, tables: readonly Projection[]): Promise<LogReader> {
    const setAsideBefore = new Set<string>()
    for await (const { event } of options.eventLog.read({ topic: 'dead-letters', signal: NEVER }))
      setAsideBefore.add(event.id)
    return new LogReader(options, tables, setAsideBefore)
  }

  /** Projects what was appended since, then makes what is derived from it. */
  async into(warehouse: Warehouse, signal: AbortSignal): Promise<void> {
    const { eventLog, log, facts } = this.#options
    const derivation = new Derivation(warehouse, this.#wanted)
    const ports: Projecting = {
      eventLog,
      log,
      warehouse,
      facts: async () => facts,
      derive: derivation.derive,
      setAsideBefore: this.#setAsideBefore,
    }
    for (const projector of this.#projectors) await this.#project(ports, projector, signal)
    if (signal.aborted) return
    await this.#wanted.run(warehouse, this.#tables)
  }

  /** What other families make of this one follows it. */
  async deriveAgain(warehouse: Warehouse): Promise<void> {
    await this.#wanted.run(warehouse, this.#tables, 'all')
  }

  async #project(ports: Projecting, projector: Projector, signal: AbortSignal): Promise<void> {
    const { eventLog, scope, facts, onProgress } = this.#options
    const { topic } = projector
    const from = this.#from.get(topic) ?? new Map()
    const ends = await eventLog.ends(topic)
    const total = [...ends].reduce((sum, [partition, end]) => sum + Number(end - (from.get(partition) ?? 0n)), 0)
    let done = 0
    let batch: StoredEvent[] = []
    const flush = async () => {
      await pRetry(() => project(ports, projector, batch), RETRIES)
      done += batch.length
      onProgress({ topic, done: Math.min(done, total), total })
      batch = []
    }
    const inScope = ({ event }: StoredEvent): boolean =>
      scope.chain === undefined ||
      CHAINLESS_TOPICS.has(topic) ||
      chainOfEvent(event, facts.unnamedChain) === scope.chain
    for await (const stored of eventLog.read({ topic, signal: NEVER, from })) {
      if (signal.aborted) return
      if (!inScope(stored)) continue
      batch.push(stored)
      if (batch.length === BATCH_EVENTS_MAX) await flush()
    }
    if (batch.length > 0) await flush()
    this.#from.set(topic, ends)
  }
}

/** Collects what is wanted, to be made once. */
class Collected implements Wanted {
  readonly #days = new Map<string, DeriveDayInput>()
  readonly #accounts = new Set<string>()
  readonly #fresh = { days: new Map<string, DeriveDayInput>(), accounts: new Set<string>() }

  async day(input: DeriveDayInput): Promise<void> {
    const id = deriveDay.idOf(input)
    this.#days.set(id, input)
    this.#fresh.days.set(id, input)
  }

  async account({ account }: SettleAccountInput): Promise<void> {
    this.#accounts.add(account)
    this.#fresh.accounts.add(account)
  }

  /** Makes what was wanted since the last run, or all that ever was. */
  async run(warehouse: Warehouse, tables: ReadonlySet<Projection>, which: 'fresh' | 'all' = 'fresh'): Promise<void> {
    const { days, accounts } = which === 'all' ? { days: this.#days, accounts: this.#accounts } : this.#fresh
    for (const input of days.values()) await runDeriveDay(warehouse, input)
    for (const account of accounts) await runSettleAccount(warehouse, { account })
    if (tables.has('settlements') && this.#accounts.size === 0) {
      // Settlements alone: no event of theirs was read, they follow from the other tables.
      const rows = await warehouse.query<{ account: string }>('SELECT DISTINCT account FROM account_validators')
      for (const { account } of rows) await runSettleAccount(warehouse, { account })
    }
    this.#fresh.days.clear()
    this.#fresh.accounts.clear()
  }
}
