import { AppError, isNodeFault } from './errors.ts'
import { pause } from './wait.ts'

// Beside the one way to wait (wait.ts), the one way to try again: every room that works on needs it.

/** Sources have tried for seconds before they give up; after that there is no hurry. */
const WAIT_FIRST_MS = 1_000
const WAIT_MAX_MS = 30_000
/** The same reason is told again after so long: often enough for whoever looks at the log late. */
const TELL_AGAIN_MS = 600_000

export interface RetryOptions {
  /** A log (infra/ports/log.ts), of which this is all that is needed. */
  readonly log: Record<'debug' | 'info' | 'warn', (fields: object, message: string) => void>
  readonly signal: AbortSignal
  /** Who waits, as the log names it. */
  readonly what: string
  readonly firstMs?: number | undefined
}

/**
 * Repeats the work until it succeeds, while what fails is a node or something else that passes; waits longer each time. Tells
 * why it waits, once for each reason, and when it goes on.
 * Resolves with undefined when the signal aborts. Other errors are thrown.
 */
export async function retryWithBackoff<Result>(
  { log, signal, what, firstMs = WAIT_FIRST_MS }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  let told: { readonly reason: string; readonly atMs: number } | undefined
  let failedSinceMs: number | undefined
  for (let waitNextMs = firstMs; !signal.aborted; waitNextMs = Math.min(waitNextMs * 2, WAIT_MAX_MS)) {
    try {
      const result = await work()
      if (failedSinceMs !== undefined) {
        log.info({}, `${what} goes on after ${Math.round((performance.now() - failedSinceMs) / 1_000)} s`)
      }
      return result
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isNodeFault(error) && !(error instanceof AppError && error.retryable)) throw error
      const nowMs = performance.now()
      failedSinceMs ??= nowMs
      const isNew = told?.reason !== error.message || nowMs - told.atMs > TELL_AGAIN_MS
      if (isNew) told = { reason: error.message, atMs: nowMs }
      log[isNew ? 'warn' : 'debug']({ code: error.code, waitMs: waitNextMs }, `${what} waits: ${error.message}`)
      await pause(waitNextMs, signal)
    }
  }
  return undefined
}
