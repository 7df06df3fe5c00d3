/**
 * Threads of Node's pool that the program asks for. A statement of the engine in this process holds one for as long as it runs;
 * files, names and compression need the others. Node reads the variable when the pool is first used.
 */
export const POOL_THREADS = 12
const POOL_THREADS_DEFAULT = 4

/** To be called before anything uses the pool; what the operator has set stays. */
export function sizeThreadPool(): void {
  process.env.UV_THREADPOOL_SIZE ??= String(POOL_THREADS)
}

export function poolThreads(): number {
  return Number(process.env.UV_THREADPOOL_SIZE ?? POOL_THREADS_DEFAULT)
}
