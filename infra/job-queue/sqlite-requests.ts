import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { JobState } from '../ports/job-queue.ts'
import { type JobLimits, type JobQueueOptions, pauseAfterMs, tellOfRest, WORKER_DIED } from './limits.ts'
import { type Claim, type Claimed, toJson, unendedState } from './sqlite-jobs.ts'

/**
 * One row per request that is not answered yet. `due_at` as in jobs. `again_due_at` is set when an active one was requested
 * again: then a further run is due; the start of any run answers all requests before it.
 */
export const REQUESTS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS requests (
    name         TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    input        TEXT    NOT NULL,
    status       TEXT    NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'active')),
    due_at       INTEGER NOT NULL,
    again_due_at INTEGER,
    attempt      INTEGER NOT NULL DEFAULT 0,
    worker       TEXT,
    reason       TEXT,
    PRIMARY KEY (name, id)
  );
  CREATE INDEX IF NOT EXISTS requests_due ON requests (name, due_at);
`

function prepareStatements(db: DatabaseSync) {
  const ofClaim = `WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`
  return {
    request: db.prepare(
      `INSERT INTO requests (name, id, input, due_at) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET
         input = excluded.input,
         again_due_at = CASE WHEN status = 'active' THEN coalesce(again_due_at, excluded.due_at) END`,
    ),
    state: db.prepare('SELECT status, reason FROM requests WHERE name = ? AND id = ?'),
    pending: db.prepare('SELECT count(*) AS requests FROM requests WHERE name = ? AND substr(id, 1, length(?)) = ?'),
    due: db.prepare(
      `SELECT id, input, status, attempt FROM requests WHERE name = ? AND due_at <= ? ORDER BY due_at LIMIT 1`,
    ),
    claim: db.prepare(
      `UPDATE requests SET status = 'active', worker = ?, attempt = ?, due_at = ?, again_due_at = NULL,
         reason = coalesce(?, reason) WHERE name = ? AND id = ?`,
    ),
    rest: db.prepare(
      `UPDATE requests SET status = 'waiting', due_at = ?, again_due_at = NULL, reason = ? WHERE name = ? AND id = ?`,
    ),
    renew: db.prepare(`UPDATE requests SET due_at = ? ${ofClaim}`),
    forget: db.prepare(`DELETE FROM requests ${ofClaim} AND again_due_at IS NULL`),
    again: db.prepare(
      `UPDATE requests SET status = 'waiting', due_at = again_due_at, again_due_at = NULL, attempt = 0, reason = NULL
       ${ofClaim} AND again_due_at IS NOT NULL`,
    ),
    retry: db.prepare(`UPDATE requests SET status = 'waiting', due_at = ?, again_due_at = NULL, reason = ? ${ofClaim}`),
  }
}

/** Jobs that happen as often as they are wanted. Every method is one step of the file, `claim` within its caller's transaction. */
export class SqliteRequests {
  readonly #sql: ReturnType<typeof prepareStatements>
  readonly #limits: JobLimits
  readonly #log: JobQueueOptions['log']

  constructor(db: DatabaseSync, limits: JobLimits, log: JobQueueOptions['log']) {
    this.#sql = prepareStatements(db)
    this.#limits = limits
    this.#log = log
  }

  request(name: string, id: string, { input, delayMs }: { input: unknown; delayMs: number }): void {
    this.#sql.request.run(name, id, toJson(input), Date.now() + delayMs)
  }

  state(name: string, id: string): JobState {
    const row = this.#sql.state.get(name, id)
    return row === undefined ? { status: 'unknown' } : unendedState(row)
  }

  pending(name: string, idPrefix: string): number {
    return Number(this.#sql.pending.get(name, idPrefix, idPrefix)?.requests)
  }

  hasDue(name: string): boolean {
    return this.#sql.due.get(name, Date.now()) !== undefined
  }

  claim(name: string): Claim | undefined {
    const { attemptsMax, leaseMs, restMs } = this.#limits
    for (let row = this.#sql.due.get(name, Date.now()); row !== undefined; row = this.#sql.due.get(name, Date.now())) {
      const id = String(row.id)
      const attempt = Number(row.attempt)
      const died = row.status === 'active'
      if (died && attempt >= attemptsMax) {
        this.#sql.rest.run(Date.now() + restMs, WORKER_DIED, name, id)
        tellOfRest(this.#log, this.#limits, { name, id, attempt, reason: WORKER_DIED })
        continue
      }
      const worker = randomUUID()
      this.#sql.claim.run(worker, attempt + 1, Date.now() + leaseMs, died ? WORKER_DIED : null, name, id)
      return this.#claimed({ name, id, worker, attempt: attempt + 1, input: JSON.parse(String(row.input)) })
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
      // A request may come between the two statements: only if it came before the first is there something for the second.
      complete: () => {
        const { changes } = this.#sql.forget.run(name, id, worker)
        if (Number(changes) === 0) this.#sql.again.run(name, id, worker)
      },
      fail: (reason) => {
        this.#sql.retry.run(Date.now() + pauseAfterMs(limits, attempt), reason, name, id, worker)
        tellOfRest(this.#log, limits, { name, id, attempt, reason })
      },
    }
  }
}
