import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { runProcessing } from '../../processors/run-processing.ts'
import { deriveDay } from '../../schemas/jobs/derive-day.ts'
import { givenChain } from './given-chain.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const given = givenChain()
const stores = storesOfFile()

it('does what the last batches have asked for before it ends', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  const directory = mkdtempSync(join(tmpdir(), 'drain-'))
  {
    await using jobQueue = await openSqliteJobQueue({ file: join(directory, 'jobs.sqlite'), log: silentLog })
    const stop = new AbortController()
    const now = () => Date.now() / 1_000
    const processing = runProcessing(
      { eventLog, warehouse, jobQueue, log: silentLog, now, drainMsMax: TEST_MS },
      stop.signal,
    )
    const lag = () => eventLog.lag('beacon.epochs', 'finalized')
    await expect.poll(lag, { timeout: TEST_MS, interval: 20 }).toBe(0n)
    await expect.poll(() => jobQueue.pending(deriveDay.name), { timeout: TEST_MS, interval: 20 }).toBeGreaterThan(0)
    stop.abort()
    await processing
    expect(await jobQueue.pending(deriveDay.name)).toBe(0)
  }
  rmSync(directory, { recursive: true })
})
