import type { EventLog, Lease } from '../infra/ports/event-log.ts'
import type { Log } from '../infra/ports/log.ts'
import { AppError } from '../schemas/errors.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { pause } from '../schemas/wait.ts'

/** Between losing a lease and asking for it again. */
const RELEASE_PAUSE_MS = 1_000

/** A lease that nobody has is had within three seconds, which is what Kafka waits for other members of a new group. */
const WAITING_MS = 6_000

export interface Leased {
  readonly eventLog: Pick<EventLog, 'lease'>
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
  /** The lease's name. */
  readonly lease: string
  /** The work, as the log names it. */
  readonly what: string
  /** Told why the lease is lost: another process has taken it over, or the log was away for too long. */
  readonly onLost: (reason: string) => void
  /** Before it is said that the lease is waited for, `WAITING_MS` unless told. */
  readonly waitingMs?: number
}

/**
 * Does the work whenever this process has the lease, until the signal aborts: another one may have it, and this one takes over when that
 * ends. Where the log or a server is away for a while the work begins anew, as after a restart, and the lease is free meanwhile. `work` hears
 * by its signal of the end, and of a lease that is lost. Other errors than those that pass are thrown.
 */
export async function whileLeased(
  leased: Leased,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { log, what, onLost } = leased
  while (!signal.aborted) {
    const lease = await takeLease(leased, signal)
    if (lease === undefined) return
    let loss: unknown
    try {
      await using held = lease
      await work(held, AbortSignal.any([signal, held.lost]))
    } catch (error) {
      // A refused append says so, and work that stops by its signal fails of the signal's reason.
      if (error === lease.lost.reason || (error instanceof AppError && error.code === 'lease_lost')) loss = error
      else {
        if (!(error instanceof AppError && error.retryable)) throw error
        log.warn({ code: error.code }, `${what} begins anew: ${error.message}`)
      }
    }
    if (signal.aborted) return
    loss ??= lease.lost.reason
    if (loss !== undefined) onLost(loss instanceof Error ? loss.message : String(loss))
    await pause(RELEASE_PAUSE_MS, signal)
  }
}

/** Says when it takes as long as it does where another process has the lease. */
async function takeLease(
  { eventLog, log, lease, what, waitingMs = WAITING_MS }: Leased,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const tell = () => log.info({ lease }, `${what} waits for its lease: another process may have it`)
  const timer = setTimeout(tell, waitingMs)
  try {
    return await retryWithBackoff({ log, signal, what }, () => eventLog.lease(lease, signal))
  } finally {
    clearTimeout(timer)
  }
}
