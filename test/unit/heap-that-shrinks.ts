// A heap that grows and shrinks, in a process of its own: prints what the process has of the machine's memory at both ends, in MB.
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { tidyHeap } from '../../infra/runtime.ts'

const OBJECTS = 3_000_000
/** What the heap has when most of its garbage has been collected. */
const SHRUNK_BYTES_MAX = 150e6
const LOOK_MS = 50

const residentMb = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024
const heapBytes = (): number => getHeapStatistics().total_heap_size

if (process.argv[2] === 'tidy') tidyHeap(LOOK_MS)
const kept: object[] = []
const keep = (objects: number): void => {
  for (let i = 0; i < objects; i++) kept.push({ i, of: [i] })
}
keep(OBJECTS)
const grownMb = residentMb()
await wait(2 * LOOK_MS) // it is seen as large as it is
kept.length = 0
// V8 collects everything when enough of what is short-lived has become old.
while (heapBytes() > SHRUNK_BYTES_MAX) {
  keep(OBJECTS / 10)
  await wait(1)
  kept.length = 0
}
await wait(10 * LOOK_MS)
process.stdout.write(JSON.stringify({ grownMb, shrunkMb: residentMb() }))
