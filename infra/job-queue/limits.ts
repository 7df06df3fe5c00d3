import type { Log } from '../ports/log.ts'

/** How a queue treats jobs that fail and workers that die; the same for all processes that share it. */
export interface JobLimits {
  /** An added job is started at most this often, whether its handler rejects or its worker dies. */
  readonly attemptsMax: number
  /**
   * A worker that has not renewed its claim for this long is taken for dead. So a job of a program that was killed waits so long after a new
   * start, in one SQLite file too: roles of one data folder may be several processes (`validators` beside the others), so a job that is active
   * when one of them starts may be another's that works on it. What would tell them apart, a process's number, is given out again.
   */
  readonly leaseMs: number
  /** Pause before the second attempt; it doubles with every further one. */
  readonly retryDelayMs: number
  /** Pause of a requested job that has failed `attemptsMax` times: by then it is an outage, or a mistake in the handler. */
  readonly restMs: number
}

export const JOB_LIMITS: JobLimits = { attemptsMax: 5, leaseMs: 30_000, retryDelayMs: 1_000, restMs: 60_000 }

export interface JobQueueOptions extends Partial<JobLimits> {
  /** Is told of requested jobs that keep failing. */
  readonly log?: Log | undefined
}

export const WORKER_DIED = 'its worker died'
const REASON_CHARS_MAX = 1_000

/** Pause after a failed attempt, in ms; attempts count from 1. */
export function pauseAfterMs({ attemptsMax, retryDelayMs, restMs }: JobLimits, attempt: number): number {
  return attempt < attemptsMax ? retryDelayMs * 2 ** (attempt - 1) : restMs
}

export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, REASON_CHARS_MAX)
}

export interface FailedAttempt {
  readonly name: string
  readonly id: string
  readonly attempt: number
  readonly reason: string
}

/** Tells of a request that has used up its quick attempts: what it derives is missing until somebody looks. */
export function tellOfRest(
  log: Log | undefined,
  limits: JobLimits,
  { name, id, attempt, reason }: FailedAttempt,
): void {
  if (attempt < limits.attemptsMax) return
  const restSec = limits.restMs / 1_000
  log?.error({ job: name, id, attempt, reason }, `a requested job keeps failing; it is tried again in ${restSec} s`)
}
