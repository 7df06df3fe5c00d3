/**
 * Threads of Node's pool that the program asks for. A statement of the engine in this process holds one for as long as it runs;
 * files, names and compression need the others. Node reads the variable when the pool is first used.
 */
export const POOL_THREADS = 16
const POOL_THREADS_DEFAULT = 4
/** More Node does not start. */
const POOL_THREADS_MAX = 1_024

/** To be called before anything uses the pool; what the operator has set stays, unless it is no number of threads. */
export function sizeThreadPool(environment: NodeJS.ProcessEnv = process.env): void {
  if (threadsOf(environment) === undefined) environment.UV_THREADPOOL_SIZE = String(POOL_THREADS)
}

export function poolThreads(environment: NodeJS.ProcessEnv = process.env): number {
  if (environment.UV_THREADPOOL_SIZE === undefined) return POOL_THREADS_DEFAULT
  // Of text that is no number Node makes one thread.
  return Math.min(threadsOf(environment) ?? 1, POOL_THREADS_MAX)
}

function threadsOf({ UV_THREADPOOL_SIZE: text = '' }: NodeJS.ProcessEnv): number | undefined {
  return /^[0-9]+$/.test(text) && Number(text) > 0 ? Number(text) : undefined
}
