import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { pause, untilAborted } from '../../schemas/wait.ts'
import type { AddedJob, AddOptions, JobQueue, JobState, WorkOptions } from '../ports/job-queue.ts'
import { connectRedis, listenToErrors, type WithRedisErrors } from '../redis-errors.ts'
import {
  addedOptions,
  idOf,
  requestedInputsKey,
  requestedOptions,
  requestedStateOf,
  type StoredJob,
  stateOf,
  toBullmqId,
} from './bullmq-jobs.ts'
import { startWorker } from './bullmq-worker.ts'
import { JOB_LIMITS, type JobLimits, type JobQueueOptions } from './limits.ts'

/** Results are polled, first often, then less: BullMQ's own way of waiting for a job can miss its end and hang. */
const POLL_FIRST_MS = 20
const POLL_MAX_MS = 500
/** Commands of callers fail after this many reconnects instead of waiting for ever; workers do wait. */
const RETRIES_MAX = 3

/**
 * The job queue in Redis, through BullMQ. Redis must keep what it is given: an append-only file, and `noeviction`.
 * Throws AppError `job_queue` when Redis does not answer, and `config` when it refuses the user.
 */
export async function openBullmqJobQueue(
  options: { readonly redisUrl: string; readonly prefix: string } & JobQueueOptions,
): Promise<JobQueue> {
  const { redisUrl, prefix, log, ...limits } = options
  const redis = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: RETRIES_MAX })
  const withErrors = listenToErrors(redis, 'job_queue')
  await withErrors(() => connectRedis(redis))
  return new BullmqJobQueue({ redis, withErrors, prefix, limits: { ...JOB_LIMITS, ...limits }, log })
}

interface Parts {
  readonly redis: Redis
  /** Runs work on that connection. */
  readonly withErrors: WithRedisErrors
  readonly prefix: string
  readonly limits: JobLimits
  readonly log: JobQueueOptions['log']
}

class BullmqJobQueue implements JobQueue {
  readonly #parts: Parts
  readonly #queues = new Map<string, Queue<StoredJob>>()
  readonly #working = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async add(name: string, id: string, input: unknown, options: AddOptions = {}): Promise<AddedJob> {
    return this.#parts.withErrors(async () => {
      const queue = this.#queue(name)
      const addedBy = randomUUID()
      await queue.add(name, { input: input ?? null, addedBy }, addedOptions(this.#parts.limits, id, options))
      // An id that exists is left as it is, without a word: the stored job tells who made it.
      const stored = await queue.getJob(toBullmqId(id))
      if (stored !== undefined && 'addedBy' in stored.data && stored.data.addedBy === addedBy)
        return { status: 'added' }
      return { status: 'duplicate', existing: await this.state(name, id) }
    })
  }

  async request(name: string, id: string, input: unknown, { delayMs = 0 } = {}): Promise<void> {
    return this.#parts.withErrors(async () => {
      const { redis, prefix } = this.#parts
      // The input first: a run that starts in between has it already, and the request then brings one run more.
      await redis.hset(requestedInputsKey(prefix, name), id, JSON.stringify(input ?? null))
      await this.#queue(name).add(name, { requested: id, input: input ?? null }, requestedOptions(id, delayMs))
    })
  }

  async state(name: string, id: string): Promise<JobState> {
    return this.#parts.withErrors(async () => {
      const queue = this.#queue(name)
      const added = await stateOf(queue, toBullmqId(id))
      return added.status === 'unknown' ? requestedStateOf(queue, id) : added
    })
  }

  async pending(name: string, idPrefix = ''): Promise<number> {
    return this.#parts.withErrors(async () => {
      const queue = this.#queue(name)
      if (idPrefix === '') return queue.getJobCountByTypes('waiting', 'delayed', 'active')
      const jobs = await queue.getJobs(['waiting', 'delayed', 'active'])
      return jobs.filter((job) => idOf(job).startsWith(idPrefix)).length
    })
  }

  async result(name: string, id: string, timeoutMs: number): Promise<JobState> {
    const deadline = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#closing.signal])
    for (let pollMs = POLL_FIRST_MS; ; pollMs = Math.min(pollMs * 2, POLL_MAX_MS)) {
      const state = await this.state(name, id)
      if (state.status === 'completed' || state.status === 'failed' || deadline.aborted) return state
      await pause(pollMs, deadline)
    }
  }

  async withdraw(name: string, id: string): Promise<void> {
    // One that is being done is locked, and stays.
    return this.#parts.withErrors(async () => void (await this.#queue(name).remove(toBullmqId(id))))
  }

  async work(options: WorkOptions): Promise<void> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    if (signal.aborted) return
    // Workers block on a connection of their own and wait for Redis as long as it takes.
    const connection = this.#parts.redis.duplicate({ maxRetriesPerRequest: null, lazyConnect: false })
    connection.on('error', () => {}) // reconnects by itself
    const worker = startWorker(options, { ...this.#parts, connection })
    const working = untilAborted(signal).then(async () => {
      await worker.close() // waits for the running jobs
      connection.disconnect()
    })
    this.#working.add(working)
    await working
    this.#working.delete(working)
  }

  #queue(name: string): Queue<StoredJob> {
    const existing = this.#queues.get(name)
    if (existing !== undefined) return existing
    const { redis, prefix } = this.#parts
    const queue = new Queue<StoredJob>(toBullmqId(name), { connection: redis, prefix })
    queue.on('error', () => {}) // the call that failed has rejected
    this.#queues.set(name, queue)
    return queue
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#working)
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()))
    this.#parts.redis.disconnect()
  }
}
