import { setTimeout as wait } from 'node:timers/promises'
import { eventually } from '../e2e/processes.ts'
import { callOnce, IDENTITY, openNode, START_MS_MAX, timesOf } from './gateway-beside.ts'
import { openGatewayProgram, residentMb } from './gateway-program.ts'
import { Report } from './report.ts'

const MINUTES_DEFAULT = 10
const MINUTE_MS = 60_000
const LOOK_EVERY_MS = 30_000
/** Until then the heap grows to what its collector is content with. */
const SETTLING_MS = 2 * MINUTE_MS
const ADDED_MB_MAX = 32

/** `npm run bench gateway-steady`: the gateway's memory under load that goes on, `BENCH_GATEWAY_MINUTES` long. */
export async function benchGatewaySteady(): Promise<boolean> {
  const minutes = Number(process.env.BENCH_GATEWAY_MINUTES ?? MINUTES_DEFAULT)
  if (!(minutes > 0)) throw new Error('BENCH_GATEWAY_MINUTES is no number of minutes')
  const report = new Report()
  await using open = new AsyncDisposableStack()
  const upstreams = [{ url: open.use(await openNode()).url }]
  const { program, key } = open.use(await openGatewayProgram({ 'ethereum/mainnet': { upstreams, identity: IDENTITY } }))
  const url = `${program.url}/ethereum/mainnet/${key}`
  await eventually('an answer', async () => (await callOnce(url)) || undefined, START_MS_MAX)

  report.heading(`calls for ${minutes} min`)
  const lengthMs = minutes * MINUTE_MS
  const begin = performance.now()
  const calls = timesOf(url, AbortSignal.timeout(lengthMs))
  const looks: number[] = []
  for (let atMs = LOOK_EVERY_MS; atMs <= lengthMs; atMs += LOOK_EVERY_MS) {
    await Promise.race([wait(begin + atMs - performance.now()), calls])
    const mb = residentMb(program)
    report.info(`memory after ${atMs / 1_000} s`, mb, 1, 'MB')
    if (atMs >= SETTLING_MS) looks.push(mb)
  }
  report.info('calls', (await calls).length, 0)
  // The collector lets memory rise and fall by some 200 MB; what leaks lifts the lowest of it.
  const half = Math.floor(looks.length / 2)
  if (half === 0) report.heading(`too short to judge: memory settles for ${SETTLING_MS / MINUTE_MS} min`)
  else {
    const addedMb = Math.min(...looks.slice(half)) - Math.min(...looks.slice(0, half))
    report.limited('added to the lowest, first to second half', addedMb, { digits: 1, unit: 'MB', max: ADDED_MB_MAX })
  }
  return report.within
}
