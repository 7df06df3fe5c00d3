import type { Log } from '../infra/ports/log.ts'
import { AppError, isNodeFault } from '../schemas/errors.ts'

/** Sources have tried for seconds before they give up; after that there is no hurry. */
const WAIT_FIRST_MS = 1_000
const WAIT_MAX_MS = 30_000

export type Patience = Readonly<{ log: Log; signal: AbortSignal; what: string; firstMs?: number | undefined }>

/**
 * Repeats the work until it succeeds, while what fails is a node or something else that passes; waits longer each time.
 * Resolves with undefined when the signal aborts. Other errors are thrown.
 */
export async function withPatience<Result>(
  { log, signal, what, firstMs = WAIT_FIRST_MS }: Patience,
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

/** Resolves after the time, or at once when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Waker().wait(ms, signal)
}

/** Lets a loop sleep until something happens; a wake while nobody sleeps is kept for the next sleep. */
export class Waker {
  #pending = false
  #wake: (() => void) | undefined

  readonly wake = (): void => {
    this.#pending = true
    this.#wake?.()
  }

  /** Resolves at a wake, after the time, or when the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.#wake = undefined
        this.#pending = false
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end)
      this.#wake = end
      if (this.#pending || signal.aborted) end()
    })
  }
}
