// A statement of the embedded engine that takes memory, in a process of its own: prints what the process has of the machine's memory before it, behind
// it, and when what it has freed may be the system's again, in MB.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { prepareRuntime } from '../../infra/runtime.ts'

/** Longer than the program lets the engine keep what is free, and shorter than the engine would. */
const KEPT_MS = 1_500

const residentMb = async (): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8'))?.[1]) / 1_024

prepareRuntime()
const { openWarehouse } = await import('../../infra/warehouse/open.ts')
const directory = await mkdtemp(join(tmpdir(), 'engine-'))
{
  await using warehouse = await openWarehouse({ directory })
  const beforeMb = await residentMb()
  await warehouse.query(
    'SELECT count() FROM (SELECT number % 1500000 AS key, sum(number) FROM numbers(3000000) GROUP BY key)',
  )
  const behindMb = await residentMb()
  await wait(KEPT_MS)
  // The allocator looks at what it may give back when somebody asks it for memory.
  await warehouse.query('SELECT 1')
  process.stdout.write(JSON.stringify({ takenMb: behindMb - beforeMb, keptMb: (await residentMb()) - beforeMb }))
}
await rm(directory, { recursive: true })
