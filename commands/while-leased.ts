import type { EventLog, Lease } from '../infra/ports/event-log.ts'
import type { Log } from '../infra/ports/log.ts'
import { AppError } from '../schemas/errors.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { pause } from '../schemas/wait.ts'

/** Between losing a lease and asking for it again. */
const RELEASE_PAUSE_MS = 1_000

export interface Leased {
  readonly eventLog: Pick<EventLog, 'lease'>
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
  /** The lease's name. */
  readonly lease: string
  /** The work, as the log names it. */
  readonly what: string
  /** Told when another process has taken the lease over. */
  readonly onOther: () => void
}

/**
 * Does the work whenever this process has the lease, until the signal aborts: another one may have it, and this one takes over when that
 * ends. Where the log or a server is away for a while the work begins anew, as after a restart, and the lease is free meanwhile. `work` hears
 * by its signal of the end, and of a lease that is lost. Other errors than those that pass are thrown.
 */
export async function whileLeased(
  { eventLog, log, lease: name, what, onOther }: Leased,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const lease = await retryWithBackoff({ log, signal, what }, () => eventLog.lease(name, signal))
    if (lease === undefined) return
    let isOthers = true
    try {
      await using held = lease
      await work(held, AbortSignal.any([signal, held.lost]))
    } catch (error) {
      // A refused append says so, and work that stops by its signal fails of the signal's reason.
      isOthers = error === lease.lost.reason || (error instanceof AppError && error.code === 'lease_lost')
      if (!isOthers) {
        if (!(error instanceof AppError && error.retryable)) throw error
        log.warn({ code: error.code }, `${what} begins anew: ${error.message}`)
      }
    }
    if (signal.aborted) return
    if (isOthers) onOther()
    await pause(RELEASE_PAUSE_MS, signal)
  }
}
