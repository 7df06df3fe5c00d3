import type { Job, JobsOptions, Queue } from 'bullmq'
import type { AddOptions, JobState } from '../ports/job-queue.ts'
import { type JobLimits, WORKER_DIED } from './limits.ts'

/** What BullMQ keeps of a job. */
export type StoredInput = AddedInput | RequestedInput

export interface AddedInput {
  readonly input: unknown
  /** Tells whose `add` made the job when several add one id at the same time. */
  readonly addedBy: string
}

export interface RequestedInput {
  /** The id that the job was requested under: BullMQ counts its own. */
  readonly requested: string
  /** Of the request that made the job. The newest one stands in the hash `requestedInputsKey`. */
  readonly input: unknown
  /** Dead workers that a rest was already taken for. */
  readonly restedDeaths?: number
}

export interface StoredOutput {
  readonly output: unknown
}

export type StoredJob = Job<StoredInput, StoredOutput>

/** BullMQ wants a number of attempts and of dead workers; a request outlives all of them. Fits 32 bits. */
export const UNBOUNDED = 2 ** 31 - 1
/** Backoff that the worker computes, from its limits. */
const WORKERS_BACKOFF = 'of the worker'
/** Stack traces would add up over the attempts of a request; `failedReason` says what is needed. */
const STACK_TRACES_KEPT = 0

/** A job that ends takes those of its queue with it that ended likewise before its own `age`: so a name's jobs have one `keepMs`. */
export function addedOptions(
  { attemptsMax, retryDelayMs }: JobLimits,
  id: string,
  { keepMs }: AddOptions,
): JobsOptions {
  const removal = keepMs === undefined ? false : { age: Math.ceil(keepMs / 1_000) }
  return {
    jobId: toBullmqId(id),
    attempts: attemptsMax,
    backoff: { type: 'exponential', delay: retryDelayMs },
    removeOnComplete: removal,
    removeOnFail: removal,
  }
}

/**
 * `keepLastIfActive` is BullMQ's way of having at most one running and one waiting job of a deduplication id: a request meets
 * the waiting one and is dropped, or the running one and is kept as its successor, which the script that ends the run puts
 * into the queue in the same step. Neither a killed worker nor a killed requester comes in between. What BullMQ does not do is
 * give the waiting job newer data (`replace` would also begin its delay anew), so the newest input is kept beside it.
 */
export function requestedOptions(id: string, delayMs: number): JobsOptions {
  return {
    deduplication: { id: toBullmqId(id), keepLastIfActive: true },
    delay: delayMs,
    attempts: UNBOUNDED,
    backoff: { type: WORKERS_BACKOFF },
    stackTraceLimit: STACK_TRACES_KEPT,
    removeOnComplete: true,
  }
}

/** Hash of the newest input by id. It keeps one entry per id: to remove one could lose the input of a request just made. */
export function requestedInputsKey(prefix: string, name: string): string {
  return `${prefix}:requested-inputs:${name}` // queues are named by toBullmqId, so it is none of theirs
}

/** The job's attempt, from 1: each start that came before has ended in a failure or with its worker. */
export function attemptOf({ attemptsMade, stalledCounter }: StoredJob): number {
  return 1 + attemptsMade + stalledCounter
}

export async function stateOf(queue: Queue<StoredJob>, jobId: string): Promise<JobState> {
  const status = await queue.getJobState(jobId)
  if (status === 'unknown') return { status }
  const job = await queue.getJob(jobId)
  switch (status) {
    case 'completed':
      return { status, output: job?.returnvalue.output }
    case 'failed':
      return { status, reason: job?.failedReason ?? '' }
    default: {
      // waiting, delayed for a retry, …
      const reason = job?.failedReason ?? ((job?.stalledCounter ?? 0) > 0 ? WORKER_DIED : undefined)
      const unended = status === 'active' ? 'active' : 'waiting'
      return reason === undefined ? { status: unended } : { status: unended, reason }
    }
  }
}

/** Of the one job that stands for the requests of an id. */
export async function requestedStateOf(queue: Queue<StoredJob>, id: string, seen?: string): Promise<JobState> {
  const jobId = await queue.getDeduplicationJobId(toBullmqId(id))
  if (jobId === null || jobId === seen) return { status: 'unknown' }
  const state = await stateOf(queue, jobId)
  // A run that has ended meanwhile has left its place to a successor, if one was wanted.
  return state.status === 'unknown' ? requestedStateOf(queue, id, jobId) : state
}

/** BullMQ refuses ids with a colon (its own separator) and ids that are integers. */
export function toBullmqId(id: string): string {
  return `job-${encodeURIComponent(id)}`
}

/** The id that a job was added or requested under. */
export function idOf({ data, id }: StoredJob): string {
  return 'requested' in data ? data.requested : toId(id ?? toBullmqId(''))
}

export function toId(bullmqId: string): string {
  return decodeURIComponent(bullmqId.slice('job-'.length))
}
