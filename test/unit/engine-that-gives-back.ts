// A statement of the embedded engine that takes memory, in a process of its own: prints what the process had of the machine's memory at the most, and
// what it still has some time behind it, above what it had before, in MB.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { prepareRuntime } from '../../infra/runtime.ts'

/** What is kept for five seconds is there at the last look, what is kept for 0.3 s at none. */
const LOOK_MS = 500
const LOOKS = 6

async function mbOf(name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
}

prepareRuntime()
const { openWarehouse } = await import('../../infra/warehouse/open.ts')
const directory = await mkdtemp(join(tmpdir(), 'engine-'))
{
  await using warehouse = await openWarehouse({ directory })
  const beforeMb = await mbOf('VmRSS')
  await warehouse.query(
    'SELECT count() FROM (SELECT number % 1500000 AS key, sum(number) FROM numbers(3000000) GROUP BY key)',
  )
  const takenMb = (await mbOf('VmHWM')) - beforeMb
  let keptMb = takenMb
  for (let look = 0; look < LOOKS; look++) {
    await wait(LOOK_MS)
    // The allocator looks at what it may give back when somebody asks it for memory.
    await warehouse.query('SELECT sum(number) FROM numbers_mt(1000)')
    keptMb = Math.min(keptMb, (await mbOf('VmRSS')) - beforeMb)
  }
  process.stdout.write(JSON.stringify({ takenMb, keptMb }))
}
await rm(directory, { recursive: true })
