/** How a queue treats jobs that fail and workers that die; the same for all processes that share it. */
export interface JobLimits {
  /** A job is started at most this often, whether its handler rejects or its worker dies. */
  readonly attemptsMax: number
  /** A worker that has not renewed its claim for this long is taken for dead. */
  readonly leaseMs: number
  /** Pause before the second attempt; it doubles with every further one. */
  readonly retryDelayMs: number
}

export const JOB_LIMITS: JobLimits = { attemptsMax: 5, leaseMs: 30_000, retryDelayMs: 1_000 }
