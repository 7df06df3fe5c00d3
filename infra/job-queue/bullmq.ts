import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Job, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { AddedJob, JobQueue, JobState, WorkOptions } from '../ports/job-queue.ts'
import { withRedisErrors } from '../redis-errors.ts'
import { JOB_LIMITS, type JobLimits } from './limits.ts'

/** Results are polled, first often, then less: BullMQ's own way of waiting for a job can miss its end and hang. */
const POLL_FIRST_MS = 20
const POLL_MAX_MS = 500
/** Commands of callers fail after this many reconnects instead of waiting for ever; workers do wait. */
const RETRIES_MAX = 3

interface StoredInput {
  readonly input: unknown
  /** Tells whose `add` made the job when several add one id at the same time. */
  readonly addedBy: string
}

interface StoredOutput {
  readonly output: unknown
}

type StoredJob = Job<StoredInput, StoredOutput>

/**
 * The job queue in Redis, through BullMQ. Redis must keep what it is given: an append-only file, and `noeviction`.
 * Jobs are kept for ever, because one id is one job for ever. Throws AppError `job_queue` when Redis does not answer.
 */
export async function openBullmqJobQueue(
  options: { readonly redisUrl: string; readonly prefix: string } & Partial<JobLimits>,
): Promise<JobQueue> {
  const { redisUrl, prefix, ...limits } = options
  const redis = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: RETRIES_MAX })
  redis.on('error', () => {}) // every command rejects with its own failure; without a listener ioredis prints addresses
  return withRedisErrors('job_queue', async () => {
    try {
      await redis.connect()
    } catch (error) {
      redis.disconnect()
      throw error
    }
    return new BullmqJobQueue(redis, prefix, { ...JOB_LIMITS, ...limits })
  })
}

class BullmqJobQueue implements JobQueue {
  readonly #redis: Redis
  readonly #prefix: string
  readonly #limits: JobLimits
  readonly #queues = new Map<string, Queue<StoredJob>>()
  readonly #working = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(redis: Redis, prefix: string, limits: JobLimits) {
    this.#redis = redis
    this.#prefix = prefix
    this.#limits = limits
  }

  async add(name: string, id: string, input: unknown): Promise<AddedJob> {
    return withRedisErrors('job_queue', async () => {
      const queue = this.#queue(name)
      const addedBy = randomUUID()
      const jobId = toBullmqId(id)
      await queue.add(name, { input: input ?? null, addedBy }, { jobId })
      // An id that exists is left as it is, without a word: the stored job tells who made it.
      const stored = await queue.getJob(jobId)
      if (stored?.data.addedBy === addedBy) return { status: 'added' }
      return { status: 'duplicate', existing: await this.state(name, id) }
    })
  }

  async state(name: string, id: string): Promise<JobState> {
    return withRedisErrors('job_queue', async () => {
      const queue = this.#queue(name)
      const jobId = toBullmqId(id)
      const status = await queue.getJobState(jobId)
      switch (status) {
        case 'unknown':
          return { status: 'unknown' }
        case 'completed':
          return { status, output: (await queue.getJob(jobId))?.returnvalue.output }
        case 'failed':
          return { status, reason: (await queue.getJob(jobId))?.failedReason ?? '' }
        case 'active':
          return { status }
        default: // waiting, delayed for a retry, …
          return { status: 'waiting' }
      }
    })
  }

  async result(name: string, id: string, timeoutMs: number): Promise<JobState> {
    const deadline = Date.now() + timeoutMs
    for (let pollMs = POLL_FIRST_MS; ; pollMs = Math.min(pollMs * 2, POLL_MAX_MS)) {
      const state = await this.state(name, id)
      const leftMs = deadline - Date.now()
      if (state.status === 'completed' || state.status === 'failed' || leftMs <= 0) return state
      await delay(Math.min(pollMs, leftMs))
    }
  }

  async work(options: WorkOptions): Promise<void> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    if (signal.aborted) return
    const aborted = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => aborted.resolve(), { once: true })
    // Workers block on a connection of their own and wait for Redis as long as it takes.
    const connection = this.#redis.duplicate({ maxRetriesPerRequest: null, lazyConnect: false })
    connection.on('error', () => {}) // reconnects by itself
    const worker = this.#worker(options, connection)
    const working = aborted.promise.then(async () => {
      await worker.close() // waits for the running jobs
      connection.disconnect()
    })
    this.#working.add(working)
    await working
    this.#working.delete(working)
  }

  #worker({ name, concurrency, handle }: WorkOptions, connection: Redis): Worker<StoredInput, StoredOutput> {
    const { leaseMs, attemptsMax } = this.#limits
    const worker = new Worker<StoredInput, StoredOutput>(
      toBullmqId(name),
      async (job) => {
        const attempt = job.attemptsStarted
        return { output: (await handle({ id: toId(job.id ?? ''), input: job.data.input, attempt })) ?? null }
      },
      {
        connection,
        prefix: this.#prefix,
        concurrency,
        lockDuration: leaseMs,
        stalledInterval: leaseMs,
        maxStalledCount: attemptsMax - 1,
        maxStartedAttempts: attemptsMax,
      },
    )
    worker.on('error', () => {}) // of the connection: the worker goes on when Redis is back
    return worker
  }

  #queue(name: string): Queue<StoredJob> {
    const existing = this.#queues.get(name)
    if (existing !== undefined) return existing
    const { attemptsMax, retryDelayMs } = this.#limits
    const queue = new Queue<StoredJob>(toBullmqId(name), {
      connection: this.#redis,
      prefix: this.#prefix,
      defaultJobOptions: {
        attempts: attemptsMax,
        backoff: { type: 'exponential', delay: retryDelayMs },
        removeOnComplete: false,
        removeOnFail: false,
      },
    })
    queue.on('error', () => {}) // the call that failed has rejected
    this.#queues.set(name, queue)
    return queue
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#working)
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()))
    this.#redis.disconnect()
  }
}

/** BullMQ refuses ids with a colon (its own separator) and ids that are integers. */
function toBullmqId(id: string): string {
  return `job-${encodeURIComponent(id)}`
}

function toId(bullmqId: string): string {
  return decodeURIComponent(bullmqId.slice('job-'.length))
}
