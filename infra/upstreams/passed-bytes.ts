import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** So much of answers that have passed lies in memory before it is looked for. */
const BYTES_MAX = 8 * 1024 * 1024

// Contexts that are made behind the flag have it; this one was made before.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void

let bytes = 0

/**
 * Counts bytes of an answer. Each read of a socket is a buffer of its own, outside of the heap, and the heap hardly grows by it: V8 would
 * let a hundred megabytes of a long answer pile up before it looks. Buffers that nobody has any more are young, so that looking
 * for them takes a millisecond.
 */
export function countPassed(count: number): void {
  bytes += count
  if (bytes < BYTES_MAX) return
  bytes = 0
  collect({ type: 'minor' })
}
