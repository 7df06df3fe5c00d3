import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../schemas/errors.ts'
import type { AddedJob, JobQueue, JobState, WorkOptions } from '../ports/job-queue.ts'
import { inTransaction, openSqliteFile, withSqliteErrors } from '../sqlite-file.ts'
import { WakeUps } from '../wake-ups.ts'
import { JOB_LIMITS, type JobLimits } from './limits.ts'

/** Changes by this process wake the waiting at once; those of others, and retries that fall due, are found this often. */
const POLL_MS = 200
const REASON_CHARS_MAX = 1_000

const SCHEMA_VERSION = 1
/** `due_at` (Unix ms): a waiting job is not taken before it, an active one is taken from its worker after it. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS jobs (
    name    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    input   TEXT    NOT NULL,
    status  TEXT    NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'active', 'completed', 'failed')),
    due_at  INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    worker  TEXT,
    output  TEXT,
    reason  TEXT,
    PRIMARY KEY (name, id)
  );
  CREATE INDEX IF NOT EXISTS jobs_due ON jobs (name, due_at) WHERE status IN ('waiting', 'active');
`

/**
 * The job queue in one SQLite file, for one machine; several processes may use it. When `add` has resolved, the job is on
 * the disk. Jobs are kept for ever, because one id is one job for ever.
 */
export async function openSqliteJobQueue(options: { readonly file: string } & Partial<JobLimits>): Promise<JobQueue> {
  const { file, ...limits } = options
  const db = openSqliteFile({
    file,
    code: 'job_queue',
    schema: SCHEMA,
    schemaVersion: SCHEMA_VERSION,
    synchronous: 'FULL', // an accepted job may be a validator's exit; jobs are rare, so the fsync does not matter
  })
  return new SqliteJobQueue(db, { ...JOB_LIMITS, ...limits })
}

function prepareStatements(db: DatabaseSync) {
  return {
    add: db.prepare('INSERT INTO jobs (name, id, input, due_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    state: db.prepare('SELECT status, output, reason FROM jobs WHERE name = ? AND id = ?'),
    due: db.prepare(
      `SELECT id, input, attempt FROM jobs WHERE name = ? AND status IN ('waiting', 'active') AND due_at <= ? ORDER BY due_at LIMIT 1`,
    ),
    claim: db.prepare(
      `UPDATE jobs SET status = 'active', worker = ?, attempt = ?, due_at = ? WHERE name = ? AND id = ?`,
    ),
    renew: db.prepare(`UPDATE jobs SET due_at = ? WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`),
    complete: db.prepare(
      `UPDATE jobs SET status = 'completed', output = ? WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`,
    ),
    retry: db.prepare(
      `UPDATE jobs SET status = 'waiting', due_at = ? WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`,
    ),
    fail: db.prepare(
      `UPDATE jobs SET status = 'failed', reason = ? WHERE name = ? AND id = ? AND worker = ? AND status = 'active'`,
    ),
    abandon: db.prepare(`UPDATE jobs SET status = 'failed', reason = ? WHERE name = ? AND id = ?`),
  }
}

interface ClaimedJob {
  readonly name: string
  readonly id: string
  readonly input: unknown
  readonly attempt: number
  /** Of this claim: who has lost it writes nothing any more. */
  readonly worker: string
}

class SqliteJobQueue implements JobQueue {
  readonly #db: DatabaseSync
  readonly #sql: ReturnType<typeof prepareStatements>
  readonly #limits: JobLimits
  readonly #changes = new WakeUps()
  readonly #working = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(db: DatabaseSync, limits: JobLimits) {
    this.#db = db
    this.#sql = prepareStatements(db)
    this.#limits = limits
  }

  async add(name: string, id: string, input: unknown): Promise<AddedJob> {
    const { changes } = this.#do(() => this.#sql.add.run(name, id, toJson(input), Date.now()))
    if (Number(changes) === 0) return { status: 'duplicate', existing: await this.state(name, id) }
    this.#changes.wake(name)
    return { status: 'added' }
  }

  async state(name: string, id: string): Promise<JobState> {
    const row = this.#do(() => this.#sql.state.get(name, id))
    if (row === undefined) return { status: 'unknown' }
    switch (row.status) {
      case 'completed':
        return { status: 'completed', output: JSON.parse(String(row.output)) }
      case 'failed':
        return { status: 'failed', reason: String(row.reason) }
      default:
        return { status: row.status === 'active' ? 'active' : 'waiting' }
    }
  }

  async result(name: string, id: string, timeoutMs: number): Promise<JobState> {
    const deadline = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal])
    for (;;) {
      const state = await this.state(name, id)
      if (state.status === 'completed' || state.status === 'failed' || deadline.aborted) return state
      await this.#changes.wait(name, POLL_MS, deadline)
    }
  }

  async work(options: WorkOptions): Promise<void> {
    const working = this.#work(options, AbortSignal.any([options.signal, this.#closing.signal]))
    const settled = working.then(
      () => undefined,
      () => undefined,
    )
    this.#working.add(settled)
    try {
      await working
    } finally {
      this.#working.delete(settled)
    }
  }

  async #work({ name, concurrency, handle }: WorkOptions, signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>()
    try {
      while (!signal.aborted) {
        const job = running.size < concurrency ? this.#claim(name) : undefined
        if (job === undefined) {
          await Promise.race([...running, this.#changes.wait(name, POLL_MS, signal)])
          continue
        }
        const run = this.#run(job, handle).finally(() => running.delete(run))
        running.add(run)
      }
    } finally {
      await Promise.all(running)
    }
  }

  #claim(name: string): ClaimedJob | undefined {
    return this.#do(() => {
      // Looking takes no write lock, so idle workers do not disturb each other.
      if (this.#sql.due.get(name, Date.now()) === undefined) return undefined
      return inTransaction(this.#db, () => this.#claimDue(name))
    })
  }

  #claimDue(name: string): ClaimedJob | undefined {
    for (let row = this.#sql.due.get(name, Date.now()); row !== undefined; row = this.#sql.due.get(name, Date.now())) {
      const id = String(row.id)
      const attempt = Number(row.attempt) + 1
      if (attempt > this.#limits.attemptsMax) {
        // Failed attempts end as 'failed' by themselves, so this one's last worker has died.
        this.#sql.abandon.run(`its worker died, attempt ${row.attempt} of ${this.#limits.attemptsMax}`, name, id)
        continue
      }
      const worker = randomUUID()
      this.#sql.claim.run(worker, attempt, Date.now() + this.#limits.leaseMs, name, id)
      return { name, id, input: JSON.parse(String(row.input)), attempt, worker }
    }
    return undefined
  }

  async #run(job: ClaimedJob, handle: WorkOptions['handle']): Promise<void> {
    const { name, id, input, attempt, worker } = job
    const renewing = setInterval(() => this.#renew(job), this.#limits.leaseMs / 3)
    const outcome = await outcomeOf(handle({ id, input, attempt }))
    clearInterval(renewing)
    this.#do(() => {
      if (outcome.status === 'done') this.#sql.complete.run(toJson(outcome.output), name, id, worker)
      else if (attempt >= this.#limits.attemptsMax) this.#sql.fail.run(outcome.reason, name, id, worker)
      else this.#sql.retry.run(Date.now() + this.#limits.retryDelayMs * 2 ** (attempt - 1), name, id, worker)
    })
    this.#changes.wake(name)
  }

  #renew({ name, id, worker }: ClaimedJob): void {
    try {
      this.#do(() => this.#sql.renew.run(Date.now() + this.#limits.leaseMs, name, id, worker))
    } catch (error) {
      // A file that is busy now may not be at the next renewal; if it stays so, writing the outcome fails and says it.
      if (!(error instanceof AppError && error.retryable)) throw error
    }
  }

  #do<Result>(work: () => Result): Result {
    return withSqliteErrors('job_queue', work)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#working)
    if (this.#db.isOpen) this.#db.close()
  }
}

type Outcome =
  | { readonly status: 'done'; readonly output: unknown }
  | { readonly status: 'failed'; readonly reason: string }

async function outcomeOf(handling: Promise<unknown>): Promise<Outcome> {
  try {
    return { status: 'done', output: await handling }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { status: 'failed', reason: reason.slice(0, REASON_CHARS_MAX) }
  }
}

/** JSON has no `undefined`; a handler that returns nothing has the output null. */
function toJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}
