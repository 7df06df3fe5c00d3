import { setFlagsFromString } from 'node:v8'
import { sizeThreadPool } from './thread-pool.ts'

/** What this program wants of Node, whatever command it runs; to be called before anything else. */
export function prepareRuntime(): void {
  sizeThreadPool()
  // Columns are memory outside of the heap. V8 looks through the whole heap for every 64 MiB that come, unless it counts them to the heap:
  // while months were folded that was a fifth of all time, for half a gigabyte less at its peak.
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}
