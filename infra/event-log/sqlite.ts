import { open } from 'node:fs/promises'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { COMPACTED_TOPICS, type Position } from '../../schemas/events/envelope.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { pause, settledOrAborted } from '../../schemas/wait.ts'
import type { ConsumeOptions, EventLog, Lease, Offsets, ReadOptions, StoredEvent } from '../ports/event-log.ts'
import { inTransaction, openSqliteFile, type SqliteSubject, withSqliteErrors } from '../sqlite-file.ts'
import { WakeUps } from '../wake-ups.ts'
import { waitForFileLease } from './file-lease.ts'

/** Appends of this process wake a consumer at once; those of other processes are found by looking this often. */
const POLL_MS = 200
/** A batch ends before it would exceed this, so that a topic of large events does not fill the memory; one event always fits. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024
const READ_PAGE_EVENTS = 1_000
/** The only partition of every topic. */
const PARTITION = 0
/** SQLite's own limit is 1 GB; nothing that we write comes near this. */
const EVENT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Topics whose events can be fetched from the chain again, or are told again: losing the last ones in a power cut costs only time, as long as
 * nobody was given them.
 */
const REFETCHABLE_TOPICS: ReadonlySet<Topic> = new Set<Topic>([
  'beacon.blocks',
  'beacon.epochs',
  'execution.blocks',
  'execution.logs',
  'ingest.cursors',
  'dead-letters',
  'roles',
])

const SCHEMA_VERSION = 2
/** Topics have come to those whose older events are dropped. */
const INDEX_OF_MORE_TOPICS = 'DROP INDEX IF EXISTS events_of_key;'
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS events (
    topic   TEXT    NOT NULL,
    offset  INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    type    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    time    TEXT    NOT NULL,
    data    BLOB    NOT NULL,
    PRIMARY KEY (topic, offset)
  );
  CREATE INDEX IF NOT EXISTS events_of_key ON events (topic, key)
    WHERE topic IN (${[...COMPACTED_TOPICS].map((topic) => `'${topic}'`).join(', ')});
  CREATE TABLE IF NOT EXISTS groups (
    topic       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (topic, name)
  ) WITHOUT ROWID;
`

export interface SqliteEventLogOptions {
  readonly file: string
  /** Resolves when what was written to a file is on the disk. */
  readonly toDisk?: (file: string) => Promise<void>
}

/**
 * The event log in one SQLite file, for one machine. Several processes may append to it and read it.
 *
 * When `append` has resolved, its events survive the death of the process (kill -9): they are in the write-ahead log, which
 * the operating system holds. A power cut may take the last seconds of chain topics, always from the end, never from the
 * middle, and never what a consumer was given: the ingest cursors lie in the same file, so the ingester fetches what is missing again, and no
 * table has rows of a block that the log has never heard of. Events of the other topics
 * (`validators`, `accounts`: what an operator asked for) are on the disk when `append` resolves, and all before them with them.
 *
 * A topic has one partition, 0; offsets start at 0 and grow by one. Of consumers with one group, one is served, the others
 * wait until it ends. That holds within a process: two processes with one group would both be given the same events.
 *
 * A lease is a lock of the operating system on a file beside this one (infra/directory-lock.ts). It cannot be lost while its
 * process lives, not even by one that is stopped for an hour, so nobody has to be fenced off: `lost` never aborts.
 */
export async function openSqliteEventLog(options: SqliteEventLogOptions): Promise<EventLog> {
  const subject: SqliteSubject = {
    file: options.file,
    code: 'event_log',
    withoutCopy:
      'Without one, begin a new log in another folder (--data): the chain is read again, accounts have to be made again.',
  }
  const db = openSqliteFile({
    ...subject,
    schema: SCHEMA,
    changes: [{ version: 2, statements: INDEX_OF_MORE_TOPICS }],
    schemaVersion: SCHEMA_VERSION,
    synchronous: 'NORMAL',
  })
  return withSqliteErrors(subject, () => new SqliteEventLog(db, subject, options.toDisk ?? toDisk))
}

type EventRow = {
  readonly offset: number
  readonly id: string
  readonly type: string
  readonly version: number
  readonly key: string
  readonly time: string
  readonly data: Uint8Array
}

interface PageRange {
  readonly topic: Topic
  /** Offsets, inclusive. */
  readonly from: number
  readonly to: number
  readonly eventsMax: number
}

function prepareStatements(db: DatabaseSync) {
  return {
    lastOffset: db.prepare('SELECT max(offset) AS last FROM events WHERE topic = ?'),
    insert: db.prepare(
      'INSERT INTO events (topic, offset, id, type, version, key, time, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    // The topic is spelled out, else the partial index is not used.
    dropOlder: new Map<Topic, StatementSync>(
      [...COMPACTED_TOPICS].map((topic) => [
        topic,
        db.prepare(`DELETE FROM events WHERE topic = '${topic}' AND key = ? AND offset < ?`),
      ]),
    ),
    page: db.prepare(
      'SELECT offset, id, type, version, key, time, data FROM events WHERE topic = ? AND offset >= ? AND offset <= ? ORDER BY offset LIMIT ?',
    ),
    // The data comes last in a row: what is not asked for is not read from the file.
    envelopes: db.prepare(
      "SELECT offset, id, type, version, key, time, x'' AS data FROM events WHERE topic = ? AND offset >= ? AND offset <= ? ORDER BY offset LIMIT ?",
    ),
    progress: db.prepare('SELECT next_offset FROM groups WHERE topic = ? AND name = ?'),
    start: db.prepare('INSERT INTO groups (topic, name, next_offset) VALUES (?, ?, 0) ON CONFLICT DO NOTHING'),
    advance: db.prepare('UPDATE groups SET next_offset = ? WHERE topic = ? AND name = ? AND next_offset = ?'),
    rewind: db.prepare('UPDATE groups SET next_offset = 0 WHERE topic = ? AND name = ?'),
    count: db.prepare('SELECT count(*) AS events FROM events WHERE topic = ? AND offset >= ? AND offset < ?'),
  }
}

/** Whoever has written to it. */
async function toDisk(file: string): Promise<void> {
  try {
    await using handle = await open(file)
    await handle.datasync()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
    // It is there while anybody writes: without it all is in the file itself, which a checkpoint has put on the disk.
    if (code !== 'ENOENT')
      throw new AppError('event_log', `${file} could not be put on the disk (${code})`, { cause: error })
  }
}

class SqliteEventLog implements EventLog {
  readonly #db: DatabaseSync
  readonly #sql: ReturnType<typeof prepareStatements>
  readonly #subject: SqliteSubject
  readonly #appends = new WakeUps()
  readonly #leases = new Set<Lease>()
  readonly #releases = new WakeUps()
  /** The consumption that a group's next consumer has to wait for. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #closing = new AbortController()
  readonly #toDisk: (file: string) => Promise<void>
  /** Up to which offset a topic is on the disk, as far as it was asked. */
  readonly #kept = new Map<Topic, number>()
  #synchronous: 'NORMAL' | 'FULL' = 'NORMAL'

  constructor(db: DatabaseSync, subject: SqliteSubject, toDisk: (file: string) => Promise<void>) {
    this.#db = db
    this.#toDisk = toDisk
    this.#subject = subject
    this.#sql = prepareStatements(db)
  }

  async append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    this.#closing.signal.throwIfAborted()
    for (const event of events) {
      if (event.data.byteLength > EVENT_BYTES_MAX) {
        throw new AppError('event_log', `an event of ${event.data.byteLength} bytes exceeds ${EVENT_BYTES_MAX}`)
      }
    }
    if (events.length === 0) return []
    const positions = withSqliteErrors(this.#subject, () => {
      this.#setSynchronous(REFETCHABLE_TOPICS.has(topic) ? 'NORMAL' : 'FULL')
      return inTransaction(this.#db, () => this.#insert(topic, events))
    })
    this.#appends.wake(topic)
    return positions
  }

  /** The newest event of a topic is never dropped, so the highest offset found is the highest ever given. */
  #insert(topic: Topic, events: readonly EncodedEvent[]): Position[] {
    const { insert, lastOffset, dropOlder } = this.#sql
    const dropOlderOfKey = dropOlder.get(topic)
    let offset = Number(lastOffset.get(topic)?.last ?? -1)
    return events.map((event) => {
      offset++
      insert.run(topic, offset, event.id, event.type, event.version, event.key, event.time, event.data)
      dropOlderOfKey?.run(event.key, offset)
      return { partition: PARTITION, offset: BigInt(offset) }
    })
  }

  /** SQLite ignores the change inside a transaction, so it is made before. */
  #setSynchronous(wanted: 'NORMAL' | 'FULL'): void {
    if (this.#synchronous === wanted) return
    this.#db.exec(`PRAGMA synchronous = ${wanted}`)
    this.#synchronous = wanted
  }

  async consume(options: ConsumeOptions): Promise<void> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const name = groupName(options.topic, options.group)
    for (let before = this.#running.get(name); before !== undefined; before = this.#running.get(name)) {
      await settledOrAborted(before, signal)
      if (signal.aborted) return
    }
    const ended = Promise.withResolvers<void>()
    this.#running.set(name, ended.promise)
    try {
      await this.#consumeAlone(options, signal)
    } finally {
      this.#running.delete(name)
      ended.resolve()
    }
  }

  async #consumeAlone(options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const { topic, group, maxBatch, lingerMs, handle } = options
    while (!signal.aborted) {
      const from = this.#startOffset(topic, group)
      const batch = this.#page(this.#sql.page, { topic, from, to: Number.MAX_SAFE_INTEGER, eventsMax: maxBatch })
      const last = batch.at(-1)
      if (last === undefined) {
        await this.#appends.wait(topic, POLL_MS, signal)
        continue
      }
      // Seen before the work: where events come all the time, there are always some after it.
      const isAtEnd = last.position.offset >= BigInt(this.#lastOffset(topic))
      await this.#keep(topic, Number(last.position.offset))
      const begin = performance.now()
      await handle(batch)
      const lingering = isAtEnd ? (lingerMs?.(performance.now() - begin) ?? 0) : 0
      giveBackWhole(batch.map(({ event }) => event.data))
      // A group that was set back meanwhile is no longer at `from`: then nothing is acknowledged and it starts over.
      this.#write(() => this.#sql.advance.run(Number(last.position.offset) + 1, topic, group, from))
      if (lingering > 0) await pause(lingering, signal)
      // Handlers that never leave the microtask queue must not keep timers and sockets of the process waiting.
      else await nextTurn()
    }
  }

  /** Resolves when a power cut cannot take the events up to an offset any more. Of a backlog they are all kept at once. */
  async #keep(topic: Topic, offset: number): Promise<void> {
    if (!REFETCHABLE_TOPICS.has(topic) || offset <= (this.#kept.get(topic) ?? -1)) return
    const last = this.#lastOffset(topic)
    await this.#toDisk(`${this.#subject.file}-wal`)
    this.#kept.set(topic, Math.max(last, this.#kept.get(topic) ?? -1))
  }

  /** Progress is read from the file for each batch: that is one indexed row, and sees a rewind by another process. */
  #startOffset(topic: Topic, group: string): number {
    return withSqliteErrors(this.#subject, () => {
      const row = this.#sql.progress.get(topic, group)
      if (row === undefined) this.#write(() => this.#sql.start.run(topic, group))
      return Number(row?.next_offset ?? 0)
    })
  }

  /** Progress may be lost in a power cut: the batch then comes again, which is allowed. */
  #write(work: () => unknown): void {
    withSqliteErrors(this.#subject, () => {
      this.#setSynchronous('NORMAL')
      work()
    })
  }

  #page(statement: StatementSync, { topic, from, to, eventsMax }: PageRange): StoredEvent[] {
    return withSqliteErrors(this.#subject, () => {
      const page: StoredEvent[] = []
      let bytes = 0
      for (const row of statement.iterate(topic, from, to, eventsMax) as Iterable<EventRow>) {
        bytes += row.data.byteLength
        if (page.length > 0 && bytes > BATCH_BYTES_MAX) break
        page.push(toStoredEvent(row))
      }
      return page
    })
  }

  read(options: ReadOptions): AsyncIterable<StoredEvent> {
    const { topic } = options
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const first = Number(options.from?.get(PARTITION) ?? 0n)
    const last = this.#lastOffset(topic)
    // A compacted topic is small and is taken at once: between two pages an append could drop an event not yet reached.
    if (COMPACTED_TOPICS.has(topic)) return fromSnapshot(this.#everything(topic, first, last), signal)
    const statement = options.envelopesOnly === true ? this.#sql.envelopes : this.#sql.page
    const range = { topic, from: first, to: last, eventsMax: READ_PAGE_EVENTS }
    return this.#pages(statement, range, { signal, oneByOne: options.oneByOne === true })
  }

  /** -1 for a topic without events. */
  #lastOffset(topic: Topic): number {
    return withSqliteErrors(this.#subject, () => Number(this.#sql.lastOffset.get(topic)?.last ?? -1))
  }

  #everything(topic: Topic, first: number, last: number): StoredEvent[] {
    return withSqliteErrors(this.#subject, () =>
      (this.#sql.page.all(topic, first, last, Number.MAX_SAFE_INTEGER) as EventRow[]).map(toStoredEvent),
    )
  }

  async *#pages(
    statement: StatementSync,
    range: PageRange,
    { signal, oneByOne }: { readonly signal: AbortSignal; readonly oneByOne: boolean },
  ): AsyncGenerator<StoredEvent> {
    let next = range.from
    while (next <= range.to) {
      signal.throwIfAborted()
      const page = this.#page(statement, { ...range, from: next })
      const end = page.at(-1)
      if (end === undefined) return
      for (const stored of page) {
        signal.throwIfAborted()
        yield stored
        if (oneByOne) giveBackWhole([stored.event.data])
      }
      next = Number(end.position.offset) + 1
      await nextTurn()
    }
  }

  async ends(topic: Topic): Promise<Offsets> {
    const last = this.#lastOffset(topic)
    return last < 0 ? new Map() : new Map([[PARTITION, BigInt(last) + 1n]])
  }

  async lag(topic: Topic, group: string, until?: Offsets): Promise<bigint> {
    return withSqliteErrors(this.#subject, () => {
      const next = Number(this.#sql.progress.get(topic, group)?.next_offset ?? 0)
      const end = until === undefined ? this.#lastOffset(topic) + 1 : Number(until.get(PARTITION) ?? 0n)
      if (COMPACTED_TOPICS.has(topic)) return BigInt(Number(this.#sql.count.get(topic, next, end)?.events))
      // Offsets of the other topics have no gaps, and counting a million events takes longer than subtracting.
      return BigInt(Math.max(0, end - next))
    })
  }

  async rewind(topic: Topic, group: string): Promise<void> {
    if (this.#running.has(groupName(topic, group))) {
      throw new AppError('usage', `group ${group} is consuming ${topic}: stop it, then set it back`)
    }
    this.#write(() => this.#sql.rewind.run(topic, group))
  }

  async lease(name: string, signal: AbortSignal): Promise<Lease> {
    const held = await waitForFileLease({
      // A name may hold characters that not every file system allows.
      file: `${this.#subject.file}.${encodeURIComponent(name)}.lock`,
      name,
      signal: AbortSignal.any([signal, this.#closing.signal]),
      releases: this.#releases,
      append: (topic, events) => this.append(topic, events),
      onRelease: (lease) => this.#leases.delete(lease),
    })
    this.#leases.add(held)
    return held
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new AppError('event_log', 'the event log has been closed'))
    await Promise.all(this.#running.values())
    for (const lease of this.#leases) await lease[Symbol.asyncDispose]()
    if (this.#db.isOpen) this.#db.close()
  }
}

async function* fromSnapshot(events: readonly StoredEvent[], signal: AbortSignal): AsyncGenerator<StoredEvent> {
  for (const stored of events) {
    signal.throwIfAborted()
    yield stored
  }
}

function toStoredEvent({ offset, ...event }: EventRow): StoredEvent {
  return { position: { partition: PARTITION, offset: BigInt(offset) }, event }
}

function groupName(topic: Topic, group: string): string {
  return `${topic} ${group}`
}
