import type { Log } from '../infra/ports/log.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { pause } from '../schemas/wait.ts'

interface Intervals {
  readonly log: Log
  readonly what: string
  /** Until the next time, asked each time that the work is done. */
  readonly intervalMs: () => number
}

/** Does something at intervals, until the signal aborts; while the warehouse or the log is away it waits, and says so. */
export async function atIntervals(
  { log, what, intervalMs }: Intervals,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await retryWithBackoff({ log, signal, what }, work)
    await pause(intervalMs(), signal)
  }
}
