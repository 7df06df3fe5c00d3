import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { JobState } from '../ports/job-queue.ts'
import { type JobLimits, pauseAfterMs, WORKER_DIED } from './limits.ts'

/**
 * `due_at` (Unix ms): a waiting job is not taken before it, an active one is taken from its worker after it. `forget_at` (Unix ms) is known
 * when a job has ended that is kept for `keep_ms`; null: for ever.
 */
export const JOBS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS jobs (
    name      TEXT    NOT NULL,
    id        TEXT    NOT NULL,
    input     TEXT    NOT NULL,
    status    TEXT    NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'active', 'completed', 'failed')),
    due_at    INTEGER NOT NULL,
    attempt   INTEGER NOT NULL DEFAULT 0,
    worker    TEXT,
    output    TEXT,
    reason    TEXT,
    keep_ms   INTEGER,
    forget_at INTEGER,
    PRIMARY KEY (name, id)
  );
  CREATE INDEX IF NOT EXISTS jobs_due ON jobs (name, due_at) WHERE status IN ('waiting', 'active');
  CREATE INDEX IF NOT EXISTS jobs_forgotten ON jobs (forget_at) WHERE forget_at IS NOT NULL;
`

/** What a file lacks that was made before jobs were forgotten. */
export const FORGETTING = 'ALTER TABLE jobs ADD COLUMN keep_ms INTEGER; ALTER TABLE jobs ADD COLUMN forget_at INTEGER;'

/** Jobs that had ended before any were forgotten: all were of requests, whose clients have their answers. */
export const ENDED_BEFORE = `DELETE FROM jobs WHERE status IN ('completed', 'failed') AND keep_ms IS NULL;`

/** A job in the hands of one worker. What it says counts only while the claim is its own: after the lease it may be another's. */
export interface Claim {
  readonly id: string
  readonly input: unknown
  readonly attempt: number
  renew(): void
  complete(output: unknown): void
  fail(reason: string): void
}

function prepareStatements(db: DatabaseSync) {
  const ofClaim = `WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`
  return {
    add: db.prepare(
      'INSERT INTO jobs (name, id, input, due_at, keep_ms) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    state: db.prepare('SELECT status, output, reason FROM jobs WHERE name = ? AND id = ?'),
    pending: db.prepare(
      `SELECT count(*) AS jobs FROM jobs WHERE name = ? AND status IN ('waiting', 'active') AND substr(id, 1, length(?)) = ?`,
    ),
    due: db.prepare(
      `SELECT id, input, attempt FROM jobs WHERE name = ? AND status IN ('waiting', 'active') AND due_at <= ? ORDER BY due_at LIMIT 1`,
    ),
    claim: db.prepare(
      `UPDATE jobs SET status = 'active', worker = ?, attempt = ?, due_at = ? WHERE name = ? AND id = ?`,
    ),
    renew: db.prepare(`UPDATE jobs SET due_at = ? ${ofClaim}`),
    complete: db.prepare(`UPDATE jobs SET status = 'completed', output = ?, forget_at = ? + keep_ms ${ofClaim}`),
    retry: db.prepare(`UPDATE jobs SET status = 'waiting', due_at = ?, reason = ? ${ofClaim}`),
    fail: db.prepare(`UPDATE jobs SET status = 'failed', reason = ?, forget_at = ? + keep_ms ${ofClaim}`),
    abandon: db.prepare(
      `UPDATE jobs SET status = 'failed', reason = ?, forget_at = ? + keep_ms WHERE name = ? AND id = ?`,
    ),
    forget: db.prepare('DELETE FROM jobs WHERE forget_at <= ?'),
    withdraw: db.prepare(`DELETE FROM jobs WHERE name = ? AND id = ? AND status <> 'active'`),
  }
}

/** Jobs that happen once per id. Every method is one step of the file, `claim` within its caller's transaction. */
export class SqliteJobs {
  readonly #sql: ReturnType<typeof prepareStatements>
  readonly #limits: JobLimits

  constructor(db: DatabaseSync, limits: JobLimits) {
    this.#sql = prepareStatements(db)
    this.#limits = limits
  }

  /** Returns false when the id is known already. */
  add(name: string, id: string, { input, keepMs }: { input: unknown; keepMs: number | undefined }): boolean {
    return Number(this.#sql.add.run(name, id, toJson(input), Date.now(), keepMs ?? null).changes) > 0
  }

  state(name: string, id: string): JobState {
    const row = this.#sql.state.get(name, id)
    if (row === undefined) return { status: 'unknown' }
    switch (row.status) {
      case 'completed':
        return { status: 'completed', output: JSON.parse(String(row.output)) }
      case 'failed':
        return { status: 'failed', reason: String(row.reason) }
      default:
        return unendedState(row)
    }
  }

  withdraw(name: string, id: string): void {
    this.#sql.withdraw.run(name, id)
  }

  pending(name: string, idPrefix: string): number {
    return Number(this.#sql.pending.get(name, idPrefix, idPrefix)?.jobs)
  }

  hasDue(name: string): boolean {
    return this.#sql.due.get(name, Date.now()) !== undefined
  }

  claim(name: string): Claim | undefined {
    for (let row = this.#sql.due.get(name, Date.now()); row !== undefined; row = this.#sql.due.get(name, Date.now())) {
      const id = String(row.id)
      const attempt = Number(row.attempt) + 1
      if (attempt > this.#limits.attemptsMax) {
        // Failed attempts end as 'failed' by themselves, so this one's last worker has died.
        const reason = `${WORKER_DIED}, attempt ${row.attempt} of ${this.#limits.attemptsMax}`
        this.#sql.abandon.run(reason, Date.now(), name, id)
        continue
      }
      const worker = randomUUID()
      this.#sql.claim.run(worker, attempt, Date.now() + this.#limits.leaseMs, name, id)
      return this.#claimed({ name, id, worker, attempt, input: JSON.parse(String(row.input)) })
    }
    return undefined
  }

  #claimed({ name, id, worker, attempt, input }: Claimed): Claim {
    const limits = this.#limits
    return {
      id,
      input,
      attempt,
      renew: () => this.#sql.renew.run(Date.now() + limits.leaseMs, name, id, worker),
      complete: (output) => {
        const nowMs = Date.now()
        this.#sql.complete.run(toJson(output), nowMs, name, id, worker)
        this.#sql.forget.run(nowMs)
      },
      fail: (reason) => {
        const nowMs = Date.now()
        if (attempt >= limits.attemptsMax) {
          this.#sql.fail.run(reason, nowMs, name, id, worker)
          this.#sql.forget.run(nowMs)
        } else this.#sql.retry.run(nowMs + pauseAfterMs(limits, attempt), reason, name, id, worker)
      },
    }
  }
}

export interface Claimed {
  readonly name: string
  readonly id: string
  readonly input: unknown
  readonly attempt: number
  /** Of this claim alone: who has lost it writes nothing any more. */
  readonly worker: string
}

/** Of a row that is waiting or active. */
export function unendedState(row: Record<string, unknown>): JobState {
  const status = row.status === 'active' ? 'active' : 'waiting'
  return row.reason === null ? { status } : { status, reason: String(row.reason) }
}

/** JSON has no `undefined`; a handler that returns nothing has the output null. */
export function toJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}
