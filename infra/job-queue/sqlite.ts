import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../schemas/errors.ts'
import type { AddedJob, AddOptions, JobQueue, JobState, WorkOptions } from '../ports/job-queue.ts'
import { inTransaction, openSqliteFile, type SqliteSubject, withSqliteErrors } from '../sqlite-file.ts'
import { WakeUps } from '../wake-ups.ts'
import { JOB_LIMITS, type JobLimits, type JobQueueOptions, reasonOf } from './limits.ts'
import { type Claim, ENDED_BEFORE, FORGETTING, JOBS_SCHEMA, SqliteJobs } from './sqlite-jobs.ts'
import { REQUESTS_SCHEMA, SqliteRequests } from './sqlite-requests.ts'

/** Changes by this process wake the waiting at once; those of others, and jobs that fall due, are found this often. */
const POLL_MS = 200

/** 2: requests. 3: when jobs are forgotten. 4: those that had ended before that are. */
const SCHEMA_VERSION = 4

/**
 * The job queue in one SQLite file, for one machine; several processes may use it. When `add` or `request` has resolved, the
 * job is on the disk.
 */
export async function openSqliteJobQueue(options: { readonly file: string } & JobQueueOptions): Promise<JobQueue> {
  const { file, log, ...limits } = options
  const subject: SqliteSubject = {
    file,
    code: 'job_queue',
    withoutCopy: 'Without one, move it away: what has to be done is asked for again at the next start.',
  }
  const db = openSqliteFile({
    ...subject,
    schema: JOBS_SCHEMA + REQUESTS_SCHEMA,
    changes: [
      { version: 3, statements: FORGETTING },
      { version: 4, statements: ENDED_BEFORE },
    ],
    schemaVersion: SCHEMA_VERSION,
    synchronous: 'FULL', // an accepted job may be a validator's exit; jobs are rare, so the fsync does not matter
  })
  return withSqliteErrors(subject, () => new SqliteJobQueue(db, subject, { ...limits, log }))
}

class SqliteJobQueue implements JobQueue {
  readonly #db: DatabaseSync
  readonly #subject: SqliteSubject
  readonly #jobs: SqliteJobs
  readonly #requests: SqliteRequests
  readonly #limits: JobLimits
  readonly #changes = new WakeUps()
  readonly #working = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(db: DatabaseSync, subject: SqliteSubject, { log, ...given }: JobQueueOptions) {
    const limits = { ...JOB_LIMITS, ...given }
    this.#db = db
    this.#subject = subject
    this.#jobs = new SqliteJobs(db, limits)
    this.#requests = new SqliteRequests(db, limits, log)
    this.#limits = limits
  }

  async add(name: string, id: string, input: unknown, { keepMs }: AddOptions = {}): Promise<AddedJob> {
    const added = this.#do(() => this.#jobs.add(name, id, { input, keepMs }))
    if (!added) return { status: 'duplicate', existing: await this.state(name, id) }
    this.#changes.wake(name)
    return { status: 'added' }
  }

  async request(name: string, id: string, input: unknown, { delayMs = 0 } = {}): Promise<void> {
    this.#do(() => this.#requests.request(name, id, { input, delayMs }))
    this.#changes.wake(name)
  }

  async state(name: string, id: string): Promise<JobState> {
    return this.#do(() => {
      const added = this.#jobs.state(name, id)
      return added.status === 'unknown' ? this.#requests.state(name, id) : added
    })
  }

  async pending(name: string, idPrefix = ''): Promise<number> {
    return this.#do(() => this.#jobs.pending(name, idPrefix) + this.#requests.pending(name, idPrefix))
  }

  async result(name: string, id: string, timeoutMs: number): Promise<JobState> {
    const deadline = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal])
    for (;;) {
      const state = await this.state(name, id)
      if (state.status === 'completed' || state.status === 'failed' || deadline.aborted) return state
      await this.#changes.wait(name, POLL_MS, deadline)
    }
  }

  async withdraw(name: string, id: string): Promise<void> {
    this.#do(() => this.#jobs.withdraw(name, id))
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
        const claim = running.size < concurrency ? this.#claim(name) : undefined
        if (claim === undefined) {
          await Promise.race([...running, this.#changes.wait(name, POLL_MS, signal)])
          continue
        }
        const run = this.#run(name, claim, handle).finally(() => running.delete(run))
        running.add(run)
      }
    } finally {
      await Promise.all(running)
    }
  }

  #claim(name: string): Claim | undefined {
    for (const jobs of [this.#jobs, this.#requests]) {
      const claim = this.#do(() => {
        // Looking takes no write lock, so idle workers do not disturb each other.
        return jobs.hasDue(name) ? inTransaction(this.#db, () => jobs.claim(name)) : undefined
      })
      if (claim !== undefined) return claim
    }
    return undefined
  }

  async #run(name: string, claim: Claim, handle: WorkOptions['handle']): Promise<void> {
    const renewing = setInterval(() => this.#renew(claim), this.#limits.leaseMs / 3)
    const outcome = await outcomeOf(() => handle({ id: claim.id, input: claim.input, attempt: claim.attempt }))
    clearInterval(renewing)
    this.#do(() => {
      if (outcome.status === 'done') claim.complete(outcome.output)
      else claim.fail(outcome.reason)
    })
    this.#changes.wake(name)
  }

  #renew(claim: Claim): void {
    try {
      this.#do(() => claim.renew())
    } catch (error) {
      // A file that is busy now may not be at the next renewal; if it stays so, writing the outcome fails and says it.
      if (!(error instanceof AppError && error.retryable)) throw error
    }
  }

  #do<Result>(work: () => Result): Result {
    return withSqliteErrors(this.#subject, work)
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

async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { status: 'done', output: await work() }
  } catch (error) {
    return { status: 'failed', reason: reasonOf(error) }
  }
}
