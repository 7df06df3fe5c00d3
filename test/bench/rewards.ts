import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { measureIngest } from './ingest.ts'
import { Report } from './report.ts'
import type { RewardsFigures, RewardsSize } from './rewards-run.ts'

/** Mainnet has 2.2 validators in the registry for each that is active. */
function sized(active: number, measured: number): RewardsSize {
  return { active, registry: Math.round(2.2 * active), tracked: active, measured }
}

const WHOLE = [sized(10_000, 50), sized(100_000, 50), sized(1_000_000, 50)]
const SMALL = [sized(10_000, 8), sized(100_000, 8)]

const SECONDS_MAX = 1.2
const RSS_MB_MAX = 1_500
const DAYS_PER_HOUR_MIN = 20
const CLICKHOUSE_BYTES_MAX = 5
const LOG_BYTES_MAX = 5
const VERIFIED_PER_SECOND_MIN = 5_000_000
/** Limits of what is told by reward endpoints. */
const ENDPOINTS_SECONDS_MAX = 0.25
const ENDPOINTS = { tracked: 100_000, registry: 1_000_000, epochs: 50, followsHead: false }
const EPOCHS_PER_DAY = 225
const SECONDS_PER_HOUR = 3_600
const MILLION = 1_000_000

/**
 * Measures rewards that are computed from states, from the request to the rows: epochs of a chain by the rules of the specification, a whole
 * day among them, told by a node in a process of its own; then `verify`. A size runs in a fresh process, the largest within the limits;
 * `--small` runs the small ones alone. A balance that is not explained, or an epoch whose states the chain does not name, fails the bench. True
 * when all limits hold.
 */
export async function benchRewards(): Promise<boolean> {
  const report = new Report()
  const sizes = process.argv.includes('--small') ? SMALL : WHOLE
  let smaller: { readonly size: RewardsSize; readonly figures: RewardsFigures } | undefined
  for (const size of sizes) {
    const { registry, tracked, measured } = size
    report.heading(
      `${tracked.toLocaleString('en')} active validators, all tracked, of a registry of ${registry.toLocaleString('en')}, ${measured} epochs`,
    )
    const figures = await measure(size)
    if (tracked === MILLION) reportLimits(report, figures)
    else reportFigures(report, figures)
    if (smaller !== undefined) {
      const growth = figures.secondsPerEpoch - smaller.figures.secondsPerEpoch
      report.info(
        'slope: s per epoch and further million',
        (growth / (tracked - smaller.size.tracked)) * MILLION,
        2,
        's',
      )
    }
    smaller = { size, figures }
  }
  if (process.argv.includes('--small')) return report.within
  report.heading('100,000 tracked validators of a network of a million, told by reward endpoints')
  const { secondsPerEpoch, cpuSecondsPerEpoch } = await measureIngest(ENDPOINTS)
  report.limited('seconds per epoch', secondsPerEpoch, { digits: 3, unit: 's', max: ENDPOINTS_SECONDS_MAX })
  report.info('CPU seconds per epoch, without the node', cpuSecondsPerEpoch, 3, 's')
  return report.within
}

function daysPerHour({ secondsPerEpoch }: RewardsFigures): number {
  return SECONDS_PER_HOUR / secondsPerEpoch / EPOCHS_PER_DAY
}

function reportLimits(report: Report, figures: RewardsFigures): void {
  const megabytes = { digits: 0, unit: 'MB', max: RSS_MB_MAX }
  report.limited('seconds per epoch, to the rows', figures.secondsPerEpoch, { digits: 3, unit: 's', max: SECONDS_MAX })
  report.info('CPU seconds per epoch, without the node', figures.cpuSecondsPerEpoch, 3, 's')
  report.atLeast('days per hour, at this pace', daysPerHour(figures), { digits: 1, unit: '', min: DAYS_PER_HOUR_MIN })
  report.limited('peak memory (RSS)', figures.peakRssMb, megabytes)
  const clickhouse = { digits: 2, unit: 'B', max: CLICKHOUSE_BYTES_MAX }
  report.limited('bytes per validator-epoch in ClickHouse', figures.clickhouseBytes, clickhouse)
  report.limited('bytes per validator-epoch in the log', figures.logBytes, { ...clickhouse, max: LOG_BYTES_MAX })
  const rate = { digits: 2, unit: 'mio', min: VERIFIED_PER_SECOND_MIN / MILLION }
  report.atLeast('validator-epochs verified per second', figures.verifiedPerSecond / MILLION, rate)
  report.info('peak memory behind verify', figures.verifyRssMb, 0, 'MB')
}

/** Where fixed costs are a part of it, nothing is limited. */
function reportFigures(report: Report, figures: RewardsFigures): void {
  report.info('seconds per epoch, to the rows', figures.secondsPerEpoch, 3, 's')
  report.info('CPU seconds per epoch, without the node', figures.cpuSecondsPerEpoch, 3, 's')
  report.info('days per hour, at this pace', daysPerHour(figures), 1)
  report.info('peak memory (RSS)', figures.peakRssMb, 0, 'MB')
  report.info('bytes per validator-epoch in ClickHouse', figures.clickhouseBytes, 2, 'B')
  report.info('bytes per validator-epoch in the log', figures.logBytes, 2, 'B')
  report.info('validator-epochs verified per second', figures.verifiedPerSecond / MILLION, 2, 'mio')
  report.info('peak memory behind verify', figures.verifyRssMb, 0, 'MB')
}

async function measure(size: RewardsSize): Promise<RewardsFigures> {
  const child = fork(join(import.meta.dirname, 'rewards-run.ts'), [JSON.stringify(size)])
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the measurement ended with exit code ${code}`)
  })
  exited.catch(() => {}) // expected once the figures are there
  const [figures] = (await Promise.race([once(child, 'message'), exited])) as [RewardsFigures]
  return figures
}
