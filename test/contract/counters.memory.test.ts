import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { countersContract } from './counters.ts'

countersContract('memory', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-counters-'))
  return {
    open: () => openMemoryCounters({ file: join(directory, 'counters.db') }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
})

test('memory counters without a file count, too', async () => {
  await using counters = await openMemoryCounters()
  await counters.take('k', 1, 1, 60_000, 0)
  expect(await counters.take('k', 1, 1, 60_000, 0)).toMatchObject({ allowed: false })
})
