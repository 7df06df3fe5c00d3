import { measureHealth, measureLag } from '../processors/loop/measure-health.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { runProcessing } from '../processors/run-processing.ts'
import { atIntervals } from './at-intervals.ts'
import { correctLockedDays } from './correct-locked.ts'
import { wantExitCalls } from './exit-calls.ts'
import { watchedChains } from './health.ts'
import { allOrNone } from './ingest-role.ts'
import type { Ports, Role, Running } from './role.ts'
import { nowSec } from './setting.ts'

const PROGRESS_INTERVAL_MS = 1_000
/** A measurement is ten statements, a tenth of a second of work. */
const HEALTH_INTERVAL_MS = 5_000

/** Event log -> warehouse. As many processes as wanted share the work. */
export const processRole: Role = {
  name: 'process',
  needs: ['eventLog', 'warehouse', 'jobQueue'],
  async run(ports, running, signal) {
    const stop = new AbortController()
    const ending = AbortSignal.any([signal, stop.signal])
    await allOrNone(
      [
        runProcessing({ ...ports, log: running.log, now: nowSec }, ending),
        showProcessing(ports, running, ending),
        wantExitCalls(ports, running, ending),
        correctLockedDays(ports, running, ending),
      ],
      stop,
    )
  },
}

/** One line for the processors, and a sentence whenever a chain has been caught up with, or no longer. */
async function showProcessing(ports: Ports, running: Running, ending: AbortSignal): Promise<void> {
  await Promise.all([showProgress(ports, running, ending), tellOfChains(ports, running, ending)])
}

function showProgress({ eventLog, warehouse }: Ports, { log, progress }: Running, ending: AbortSignal): Promise<void> {
  const show = async (): Promise<void> => {
    const lag = await measureLag(eventLog, PROJECTORS)
    const events = Object.values(lag).reduce((sum, one) => sum + one, 0)
    const behind = lag.finalized ?? 0
    const [row] = await warehouse.query<{ epochs: string }>('SELECT count() AS epochs FROM epochs FINAL')
    const done = Number(row?.epochs ?? 0)
    progress.update('process', { done, total: done + (behind > 0 ? 1 : 0), note: `epochs, lag ${events} events` })
  }
  return atIntervals({ log, what: 'the progress line', intervalMs: PROGRESS_INTERVAL_MS }, show, ending)
}

function tellOfChains(ports: Ports, running: Running, ending: AbortSignal): Promise<void> {
  const { log } = running
  const caughtUp = new Map<string, boolean>()
  const tell = async (): Promise<void> => {
    const health = await measureHealth(
      { ...ports, projectors: PROJECTORS },
      watchedChains(running).filter(({ paused }) => paused !== true),
      nowSec(),
    )
    for (const [chain, { checks }] of Object.entries(health.chains)) {
      const isCaughtUp = Object.values(checks).every((holds) => holds)
      if (isCaughtUp === (caughtUp.get(chain) ?? false)) continue
      caughtUp.set(chain, isCaughtUp)
      if (isCaughtUp) log.info({ chain }, 'caught up: what is served is as new as the chain')
      else log.warn({ chain, ...checks }, 'fell behind the chain: /ready says where')
    }
  }
  return atIntervals({ log, what: 'the watch over chains', intervalMs: HEALTH_INTERVAL_MS }, tell, ending)
}
