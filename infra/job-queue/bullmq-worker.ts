import { DelayedError, UnrecoverableError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { WorkOptions } from '../ports/job-queue.ts'
import {
  type AddedInput,
  attemptOf,
  type RequestedInput,
  requestedInputsKey,
  type StoredInput,
  type StoredJob,
  type StoredOutput,
  toBullmqId,
  toId,
  UNBOUNDED,
} from './bullmq-jobs.ts'
import { type JobLimits, type JobQueueOptions, pauseAfterMs, reasonOf, tellOfRest, WORKER_DIED } from './limits.ts'

export interface WorkerParts {
  /** Of this worker alone: it blocks on it. */
  readonly connection: Redis
  /** For commands. */
  readonly redis: Redis
  readonly prefix: string
  readonly limits: JobLimits
  readonly log: JobQueueOptions['log']
}

/**
 * A BullMQ worker that does jobs of both kinds. BullMQ limits attempts and dead workers for a whole worker, so here nothing is
 * limited there, and what an added job may use up is counted by `doAdded`.
 */
export function startWorker(options: WorkOptions, parts: WorkerParts): Worker<StoredInput, StoredOutput> {
  const { connection, prefix, limits } = parts
  const worker = new Worker<StoredInput, StoredOutput>(
    toBullmqId(options.name),
    async (job: StoredJob, token) => {
      const { data } = job
      if ('requested' in data) return answer(job, { data, token, options, parts })
      return doAdded(job, { data, options, attemptsMax: limits.attemptsMax })
    },
    {
      connection,
      prefix,
      concurrency: options.concurrency,
      lockDuration: limits.leaseMs,
      stalledInterval: limits.leaseMs,
      maxStalledCount: UNBOUNDED,
      settings: {
        backoffStrategy: (_made, _type, _error, job) =>
          pauseAfterMs(limits, job === undefined ? 1 : attemptOf(job as StoredJob)),
      },
    },
  )
  worker.on('error', () => {}) // of the connection: the worker goes on when Redis is back
  return worker
}

interface Added {
  readonly data: AddedInput
  readonly options: WorkOptions
  readonly attemptsMax: number
}

async function doAdded(job: StoredJob, { data, options, attemptsMax }: Added): Promise<StoredOutput> {
  const attempt = attemptOf(job)
  if (attempt > attemptsMax) {
    // Failed attempts end as 'failed' by themselves, so this one's last worker has died.
    throw new UnrecoverableError(`${WORKER_DIED}, attempt ${attempt - 1} of ${attemptsMax}`)
  }
  try {
    const output = await options.handle({ id: toId(job.id ?? ''), input: data.input, attempt })
    return { output: output ?? null }
  } catch (error) {
    throw attempt < attemptsMax ? error : new UnrecoverableError(reasonOf(error))
  }
}

interface Requested {
  readonly data: RequestedInput
  readonly token: string | undefined
  readonly options: WorkOptions
  readonly parts: WorkerParts
}

async function answer(job: StoredJob, { data, token, options, parts }: Requested): Promise<StoredOutput> {
  const { limits, log, redis, prefix } = parts
  const { name } = options
  const id = data.requested
  const attempt = attemptOf(job)
  if (attempt > limits.attemptsMax && job.stalledCounter > (data.restedDeaths ?? 0)) {
    await job.updateData({ ...data, restedDeaths: job.stalledCounter })
    await job.moveToDelayed(Date.now() + limits.restMs, token)
    tellOfRest(log, limits, { name, id, attempt: attempt - 1, reason: WORKER_DIED })
    throw new DelayedError()
  }
  try {
    // Read at the start of the run: what is written later belongs to a request that brings a further run.
    const newest = await redis.hget(requestedInputsKey(prefix, name), id)
    await options.handle({ id, input: newest === null ? data.input : JSON.parse(newest), attempt })
    return { output: null }
  } catch (error) {
    const reason = reasonOf(error)
    tellOfRest(log, limits, { name, id, attempt, reason })
    throw new Error(reason, { cause: error }) // a plain one: some classes of errors mean something to BullMQ
  }
}
