import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { IngestFigures, IngestSize } from './ingest-run.ts'
import { Report } from './report.ts'

interface Limits {
  readonly secondsPerEpoch: number
  readonly peakRssMb: number
  /** With few validators the epoch's blocks are most of it. */
  readonly logBytes?: number
  /** Requests per epoch besides the beacon blocks themselves. */
  readonly requests?: number
}

interface Case {
  readonly size: IngestSize
  readonly title: string
  readonly limits: Limits
}

const REGISTRY = 1_000_000

/** Of a network of a million; epochs come as fast as they are taken. */
function tracking(tracked: number, epochs: number, limits: Limits): Case {
  const title = `${tracked.toLocaleString('en')} tracked validators of a network of a million`
  return { title, size: { tracked, registry: REGISTRY, epochs, followsHead: false }, limits }
}

/** Sizes and their limits. One epoch of mainnet lasts 384 s: the rest of the rate is for catching up. */
const CASES: readonly Case[] = [
  {
    title: '100 tracked validators of a network of a million, followed slot by slot',
    size: { tracked: 100, registry: REGISTRY, epochs: 6, followsHead: true },
    limits: { secondsPerEpoch: 10, peakRssMb: 1_500, requests: 50 },
  },
  tracking(1_000, 40, { secondsPerEpoch: 0.3, peakRssMb: 1_500, logBytes: 40 }),
  tracking(10_000, 24, { secondsPerEpoch: 0.4, peakRssMb: 1_500, logBytes: 12 }),
  tracking(100_000, 12, { secondsPerEpoch: 0.5, peakRssMb: 3_000, logBytes: 8 }),
]
const CLICKHOUSE_BYTES_MAX = 8

/**
 * Measures finalized epochs, a day's end among them, from the node's answer to the rows: a synthetic node in a process of its own, the event log in
 * SQLite, the processors, ClickHouse in-process. Each size runs in a fresh process. True when all limits hold.
 */
export async function benchIngest(): Promise<boolean> {
  const report = new Report()
  for (const { title, size, limits } of CASES) {
    const figures = await measureIngest(size)
    report.heading(`${title}, ${figures.epochs} epochs`)
    report.info('epochs per second', 1 / figures.secondsPerEpoch, 1)
    const seconds = { digits: 3, unit: 's', max: limits.secondsPerEpoch }
    report.limited('seconds per epoch, end to end', figures.secondsPerEpoch, seconds)
    report.info('CPU seconds per epoch, without the node', figures.cpuSecondsPerEpoch, 3, 's')
    report.limited('peak memory (RSS)', figures.peakRssMb, { digits: 0, unit: 'MB', max: limits.peakRssMb })
    if (limits.logBytes !== undefined) {
      const bytes = { digits: 1, unit: 'B' }
      report.limited('bytes per validator-epoch in the log', figures.logBytes, { ...bytes, max: limits.logBytes })
      const clickhouse = { ...bytes, max: CLICKHOUSE_BYTES_MAX }
      report.limited('bytes per validator-epoch in ClickHouse', figures.clickhouseBytes, clickhouse)
    }
    reportTraffic(report, figures, limits)
  }
  return report.within
}

function reportTraffic(report: Report, { traffic }: IngestFigures, limits: Limits): void {
  for (const [kind, { requests, bytes }] of Object.entries(traffic)) {
    if (requests === 0) continue
    report.info(`requests per epoch: ${kind}`, requests, 1)
    report.info(`kB per epoch: ${kind}`, bytes / 1_000, 1, 'kB')
  }
  const { 'beacon blocks': blocks, ...others } = traffic
  const requests = Object.values(others).reduce((sum, one) => sum + one.requests, 0)
  const name = 'requests per epoch besides beacon blocks'
  if (limits.requests === undefined) report.info(name, requests, 1)
  else report.limited(name, requests, { digits: 1, unit: '', max: limits.requests })
  report.info('kB per epoch in all', Object.values(traffic).reduce((sum, one) => sum + one.bytes, 0) / 1_000, 1, 'kB')
}

/** Of one size, in a fresh process. */
export async function measureIngest(size: IngestSize): Promise<IngestFigures> {
  const child = fork(join(import.meta.dirname, 'ingest-run.ts'), [JSON.stringify(size)])
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the measurement ended with exit code ${code}`)
  })
  exited.catch(() => {}) // expected once the figures are there
  const [figures] = (await Promise.race([once(child, 'message'), exited])) as [IngestFigures]
  return figures
}
