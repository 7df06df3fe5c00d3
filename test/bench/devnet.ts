import { openDevnet } from '../../infra/devnet/open.ts'
import { SECONDS_PER_SLOT_DEFAULT, SECONDS_PER_SLOT_MAINNET } from '../../infra/devnet/scenario.ts'
import { DAY_SEC } from '../../schemas/eth/time.ts'
import { Report } from './report.ts'

const VALIDATORS = 256
/** A newcomer waits for the first day: a day of history may not take longer than this on 2 cores. */
const DAY_SECONDS_MAX = 25
const PEAK_RSS_MB_MAX = 1_500

/** Measures history in time-lapse, consensus and execution: a day of the devnet, and as many slots as mainnet has in a day. */
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
  const seconds = (): number => (performance.now() - start) / 1_000
  const cpuSeconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6
  const daySlots = DAY_SEC / SECONDS_PER_SLOT_DEFAULT
  await devnet.advanceTo(daySlots)
  report.heading(`${daySlots.toLocaleString('en')} slots of ${SECONDS_PER_SLOT_DEFAULT} s, ${VALIDATORS} validators`)
  report.limited('seconds for a day', seconds(), { digits: 1, unit: 's', max: DAY_SECONDS_MAX })
  const mainnetSlots = DAY_SEC / SECONDS_PER_SLOT_MAINNET
  await devnet.advanceTo(mainnetSlots)
  report.heading(`${mainnetSlots.toLocaleString('en')} slots, what mainnet has in a day`)
  report.info('slots per second', mainnetSlots / seconds(), 0)
  report.info('seconds', seconds(), 1, 's')
  report.info('CPU seconds of the chain and its thread', cpuSeconds(process.threadCpuUsage(own)), 1, 's')
  report.info('CPU seconds of this process, signing included', cpuSeconds(process.cpuUsage(all)), 1, 's')
  const peakRssMb = process.resourceUsage().maxRSS / 1_024
  report.limited('peak memory (RSS), without anvil', peakRssMb, { digits: 0, unit: 'MB', max: PEAK_RSS_MB_MAX })
  return report.within
}
