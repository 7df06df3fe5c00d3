import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { IngestFigures } from './ingest-run.ts'
import { Report } from './report.ts'

interface Limits {
  readonly secondsPerEpoch: number
  readonly peakRssMb: number
  /** With few validators the epoch's blocks are most of it. */
  readonly logBytes: number
}

/** Sizes and their limits. One epoch of mainnet lasts 384 s: the rest of the rate is for catching up. */
const SIZES: readonly { readonly validators: number; readonly epochs: number; readonly limits: Limits }[] = [
  { validators: 1_000, epochs: 40, limits: { secondsPerEpoch: 0.3, peakRssMb: 1_500, logBytes: 40 } },
  { validators: 10_000, epochs: 24, limits: { secondsPerEpoch: 0.4, peakRssMb: 1_500, logBytes: 12 } },
  { validators: 100_000, epochs: 12, limits: { secondsPerEpoch: 1.0, peakRssMb: 3_000, logBytes: 8 } },
]
const CLICKHOUSE_BYTES_MAX = 8

/**
 * Measures finalized epochs from the node's answer to the rows: a synthetic node in a process of its own, the event log in
 * SQLite, the processors, ClickHouse in-process. Each size runs in a fresh process. True when all limits hold.
 */
export async function benchIngest(): Promise<boolean> {
  const report = new Report()
  for (const { validators, epochs, limits } of SIZES) {
    const figures = await measure(validators, epochs)
    report.heading(`${validators.toLocaleString('en')} tracked validators, ${figures.epochs} epochs`)
    report.info('epochs per second', 1 / figures.secondsPerEpoch, 1)
    const seconds = { digits: 3, unit: 's', max: limits.secondsPerEpoch }
    report.limited('seconds per epoch, end to end', figures.secondsPerEpoch, seconds)
    report.limited('peak memory (RSS)', figures.peakRssMb, { digits: 0, unit: 'MB', max: limits.peakRssMb })
    const bytes = { digits: 1, unit: 'B' }
    report.limited('bytes per validator-epoch in the log', figures.logBytes, { ...bytes, max: limits.logBytes })
    const clickhouse = { ...bytes, max: CLICKHOUSE_BYTES_MAX }
    report.limited('bytes per validator-epoch in ClickHouse', figures.clickhouseBytes, clickhouse)
  }
  return report.within
}

async function measure(validators: number, epochs: number): Promise<IngestFigures> {
  const child = fork(join(import.meta.dirname, 'ingest-run.ts'), [String(validators), String(epochs)])
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the measurement ended with exit code ${code}`)
  })
  exited.catch(() => {}) // expected once the figures are there
  const [figures] = (await Promise.race([once(child, 'message'), exited])) as [IngestFigures]
  return figures
}
