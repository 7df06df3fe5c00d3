import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sizeThreadPool } from './thread-pool.ts'

/** Between two looks at the heap. */
const LOOK_MS = 2_000
/** A heap that has become so much smaller has left as many pages behind, which V8 keeps to grow again. */
const SHRUNK_BYTES_MIN = 64 << 20
/** And has been small for so many looks: while tables are filled it grows and shrinks all the time. */
const SMALL_LOOKS = 3
/** Between two collections that give pages back. */
const TIDIED_MS_MIN = 600_000
/** Of a heap that is collected so: everything stands still meanwhile, the longer the more is in it. */
const TIDIED_BYTES_MAX = 256 << 20

/** How long the embedded engine's allocator (jemalloc) keeps what was freed, before it gives it back at the next look; by default 5 seconds. */
const ENGINE_KEEPS = 'dirty_decay_ms:300'

/** What this program wants of Node and of the embedded engine, whatever command it runs; to be called before anything else. */
export function prepareRuntime(): void {
  sizeThreadPool()
  keepLessFreed()
  // Columns are memory outside of the heap. V8 looks through the whole heap for every 64 MiB of them that come, unless
  // it counts them to the heap, as it does from here on: months are folded in a fifth less time by that, with half a
  // gigabyte more at the peak.
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  tidyHeap()
}

/** The engine's library reads the variable when it is loaded; what the operator has set stays. */
function keepLessFreed(environment: NodeJS.ProcessEnv = process.env): void {
  environment.JE_MALLOC_CONF ??= ENGINE_KEEPS
}

/**
 * Gives back the pages that the heap of this thread does not need any more, as behind the filling of tables: V8 would do so in any quiet
 * moment, but the program is started with `--no-memory-reducer`, as calls that come next would be slow by it (decision 66). With 30 MB in use it
 * takes a tenth of a second or two; it comes once in ten minutes at most.
 */
export function tidyHeap(lookMs = LOOK_MS): void {
  let largest = 0
  let smallLooks = 0
  let tidiedMs = Number.NEGATIVE_INFINITY
  const look = () => {
    const { total_heap_size: size } = getHeapStatistics()
    largest = Math.max(largest, size)
    const isSmall = largest - size >= SHRUNK_BYTES_MIN && size <= TIDIED_BYTES_MAX
    smallLooks = isSmall ? smallLooks + 1 : 0
    if (smallLooks < SMALL_LOOKS || performance.now() - tidiedMs < TIDIED_MS_MIN) return
    collectAll()
    largest = 0
    tidiedMs = performance.now()
  }
  setInterval(look, lookMs).unref()
}

/** V8's last resort before it would run out of memory: the only collection on demand that gives pages back to the system. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
