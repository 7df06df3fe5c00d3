import { openDevnet } from '../../infra/devnet/open.ts'
import { Report } from './report.ts'

const DAY_SLOTS = 7_200
const VALIDATORS = 256
/** A newcomer waits for the first day: a day of history may not take longer than this on 2 cores. */
const DAY_SECONDS_MAX = 25
const PEAK_RSS_MB_MAX = 1_500

/** Measures a day of history in time-lapse: consensus and execution, an execution block for every block. */
export async function benchDevnet(): Promise<boolean> {
  const report = new Report()
  await using devnet = await openDevnet({
    validators: VALIDATORS,
    beaconPort: 0,
    executionPort: 0,
    clock: 'manual',
    seed: 'bench',
  })
  const start = performance.now()
  const all = process.cpuUsage()
  const own = process.threadCpuUsage()
  await devnet.advanceTo(DAY_SLOTS)
  const seconds = (performance.now() - start) / 1_000
  const cpuSeconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6
  report.heading(`${DAY_SLOTS.toLocaleString('en')} slots, ${VALIDATORS} validators`)
  report.info('slots per second', DAY_SLOTS / seconds, 0)
  report.limited('seconds for a day', seconds, { digits: 1, unit: 's', max: DAY_SECONDS_MAX })
  report.info('CPU seconds of the chain and its thread', cpuSeconds(process.threadCpuUsage(own)), 1, 's')
  report.info('CPU seconds of this process, signing included', cpuSeconds(process.cpuUsage(all)), 1, 's')
  const peakRssMb = process.resourceUsage().maxRSS / 1_024
  report.limited('peak memory (RSS), without anvil', peakRssMb, { digits: 0, unit: 'MB', max: PEAK_RSS_MB_MAX })
  return report.within
}
