import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../infra/ports/log.ts'
import { AppError, isNodeFault } from '../schemas/errors.ts'

/** Sources have tried for seconds before they give up; after that there is no hurry. */
const WAIT_FIRST_MS = 1_000
const WAIT_MAX_MS = 30_000

export interface RetryOptions {
  readonly log: Log
  readonly signal: AbortSignal
  /** Who waits, as the log names it. */
  readonly what: string
  readonly firstMs?: number | undefined
}

/**
 * Repeats the work until it succeeds, while what fails is a node or something else that passes; waits longer each time.
 * Resolves with undefined when the signal aborts. Other errors are thrown.
 */
export async function retryWithBackoff<Result>(
  { log, signal, what, firstMs = WAIT_FIRST_MS }: RetryOptions,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  for (let waitNextMs = firstMs; !signal.aborted; waitNextMs = Math.min(waitNextMs * 2, WAIT_MAX_MS)) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isNodeFault(error) && !(error instanceof AppError && error.retryable)) throw error
      log.warn({ code: error.code, waitMs: waitNextMs }, `${what} waits: ${error.message}`)
      await pause(waitNextMs, signal)
    }
  }
  return undefined
}

/** Resolves after the time, or when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Lets a loop sleep until something happens; a wake while nobody sleeps is kept for the next sleep. */
export class Waker {
  #sleep = new AbortController()

  readonly wake = (): void => this.#sleep.abort()

  /** Resolves at a wake, after the time, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, AbortSignal.any([signal, this.#sleep.signal]))
    this.#sleep = new AbortController()
  }
}
