import type { Log } from '../infra/ports/log.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { pause } from '../schemas/wait.ts'

/** Does something at each interval, until the signal aborts; while the warehouse or the log is away it waits, and says so. */
export async function atIntervals(
  { log, what, intervalMs }: { readonly log: Log; readonly what: string; readonly intervalMs: number },
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await retryWithBackoff({ log, signal, what }, work)
    await pause(intervalMs, signal)
  }
}
