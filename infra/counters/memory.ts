import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Counters, Taken } from '../ports/counters.ts'
import { inTransaction, openSqliteFile, type SqliteSubject, withSqliteErrors } from '../sqlite-file.ts'

/** Shorter windows are not saved: before a restart is over, they are. */
const SAVED_WINDOW_MS_MIN = 60_000
/** Windows that have ended are dropped after this many takes, so the memory holds about as many as are in use. */
const TAKES_BETWEEN_SWEEPS = 10_000

/** Of a process that waits for each of its takes: as many as it may ask again. */
const ONCE_MAX = 1_000

const SCHEMA_VERSION = 1
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS windows (
    key     TEXT    NOT NULL PRIMARY KEY,
    used    INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
  ) WITHOUT ROWID;
`

interface Store {
  readonly db: DatabaseSync
  readonly subject: SqliteSubject
}

interface Window {
  used: number
  readonly endsAt: number
  readonly saved: boolean
}

/**
 * Counters of one process. With `file`, windows of a minute and longer are in SQLite before their take resolves, so a kill
 * gives nobody a second quota; the takes of one turn of the event loop share a transaction.
 */
export async function openMemoryCounters(options: { readonly file?: string } = {}): Promise<Counters> {
  const { file } = options
  if (file === undefined) return new MemoryCounters(undefined)
  const subject: SqliteSubject = {
    file,
    code: 'counters',
    withoutCopy: 'Without one, move it away: quotas that are half used begin anew.',
  }
  const db = openSqliteFile({
    ...subject,
    schema: SCHEMA,
    schemaVersion: SCHEMA_VERSION,
    synchronous: 'NORMAL', // a power cut may give back the takes of the last seconds
  })
  return withSqliteErrors(subject, () => new MemoryCounters({ db, subject }))
}

class MemoryCounters implements Counters {
  readonly #windows = new Map<string, Window>()
  readonly #store: Store | undefined
  readonly #save: StatementSync | undefined
  readonly #unsaved = new Set<string>()
  #saving: Promise<void> | undefined
  /** Takes that have a name. */
  readonly #once = new Map<string, Taken>()
  #takes = 0

  constructor(store: Store | undefined) {
    const db = store?.db
    this.#store = store
    this.#save = db?.prepare(
      'INSERT INTO windows (key, used, ends_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used, ends_at = excluded.ends_at',
    )
    for (const row of db?.prepare('SELECT key, used, ends_at FROM windows').iterate() ?? []) {
      this.#windows.set(String(row.key), { used: Number(row.used), endsAt: Number(row.ends_at), saved: true })
    }
  }

  async take(key: string, cost: number, limit: number, windowMs: number, now: number, once?: string): Promise<Taken> {
    const known = once === undefined ? undefined : this.#once.get(once)
    if (known !== undefined) {
      if (known.allowed) await this.#savedIfKept(key)
      return known
    }
    const taken = this.#take(key, cost, limit, windowMs, now)
    if (once !== undefined) this.#note(once, taken)
    if (taken.allowed) await this.#savedIfKept(key)
    return taken
  }

  #note(once: string, taken: Taken): void {
    this.#once.set(once, taken)
    const [oldest] = this.#once.keys()
    if (oldest !== undefined && this.#once.size > ONCE_MAX) this.#once.delete(oldest)
  }

  #take(key: string, cost: number, limit: number, windowMs: number, now: number): Taken {
    if (++this.#takes % TAKES_BETWEEN_SWEEPS === 0) this.#sweep(now)
    const found = this.#windows.get(key)
    const running = found !== undefined && now < found.endsAt ? found : undefined
    const used = running?.used ?? 0
    if (used + cost > limit) {
      return { allowed: false, remaining: Math.max(limit - used, 0), resetMs: running ? running.endsAt - now : 0 }
    }
    const window = running ?? { used: 0, endsAt: now + windowMs, saved: windowMs >= SAVED_WINDOW_MS_MIN }
    window.used += cost
    this.#windows.set(key, window)
    return { allowed: true, remaining: limit - window.used, resetMs: window.endsAt - now }
  }

  async giveBack(key: string, units: number, now: number): Promise<void> {
    const window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= now) return
    window.used = Math.max(window.used - units, 0)
    await this.#savedIfKept(key)
  }

  async #savedIfKept(key: string): Promise<void> {
    if (this.#store === undefined || this.#windows.get(key)?.saved !== true) return
    this.#unsaved.add(key)
    this.#saving ??= nextTurn().then(() => this.#flush())
    await this.#saving
  }

  #flush(): void {
    this.#saving = undefined
    const keys = [...this.#unsaved]
    this.#unsaved.clear()
    const [store, save] = [this.#store, this.#save]
    if (store === undefined || save === undefined) return
    withSqliteErrors(store.subject, () =>
      inTransaction(store.db, () => {
        for (const key of keys) {
          const window = this.#windows.get(key)
          if (window !== undefined) save.run(key, window.used, window.endsAt)
        }
      }),
    )
  }

  #sweep(now: number): void {
    for (const [key, window] of this.#windows) if (window.endsAt <= now) this.#windows.delete(key)
    if (this.#store === undefined) return
    const { db, subject } = this.#store
    withSqliteErrors(subject, () => db.prepare('DELETE FROM windows WHERE ends_at <= ?').run(now))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#saving
    if (this.#store?.db.isOpen) this.#store.db.close()
  }
}
