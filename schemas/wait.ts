// The one way to wait. It lies here because every room waits, and rooms share nothing but schemas.
// A wait that ends early is the rule: aborting a controller of its own would make two errors with their stacks each time.

/** Resolves after the time, or at once when the signal aborts: a loop that waits looks at its signal anyway. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return pauseUnlessWoken(ms, signal, () => {})
}

/** As `pause`; `onSleep` is given what ends the pause at once, before it begins. */
export async function pauseUnlessWoken(
  ms: number,
  signal: AbortSignal,
  onSleep: (wake: () => void) => void,
): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve: wake } = Promise.withResolvers<void>()
  const timer = setTimeout(wake, ms)
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort)
  onSleep(wake)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Resolves when the signal aborts, at once if it already has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

/** Resolves or rejects as the promise does, or resolves at once when the signal aborts. */
export async function settledOrAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>()
  const onAbort = () => aborted.resolve()
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Whether the error only says that the signal has aborted: what was under way ended because it was asked to. */
export function isAbortOf(signal: AbortSignal, error: unknown): boolean {
  if (!signal.aborted) return false
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError')
}
