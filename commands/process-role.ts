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
import { warnOfWithheld } from './withheld-status.ts'

/** While there is work to do, and while there is none: a look costs as much as an insert. */
const PROGRESS_INTERVAL_MS = { working: 1_000, resting: 5_000 }
/** While a chain is behind, and while none is: a measurement is ten statements, a tenth of a second of work. */
const HEALTH_INTERVAL_MS = { behind: 5_000, caughtUp: 15_000 }

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

/** One line for the processors, and a sentence whenever a chain has been caught up with, or no longer, and about days that are withheld at the start. */
async function showProcessing(ports: Ports, running: Running, ending: AbortSignal): Promise<void> {
  await Promise.all([showProgress(ports, running, ending), tellOfChains(ports, running, ending)])
}

function showProgress({ eventLog, warehouse }: Ports, { log, progress }: Running, ending: AbortSignal): Promise<void> {
  let events = 0
  let counted: { readonly writes: number | undefined; readonly done: number } | undefined
  const countEpochs = async (): Promise<number> => {
    const writes = warehouse.writesOf?.(['epochs'])
    if (counted !== undefined && writes !== undefined && counted.writes === writes) return counted.done
    const [row] = await warehouse.query<{ epochs: string }>('SELECT count() AS epochs FROM epochs FINAL')
    counted = { writes, done: Number(row?.epochs ?? 0) }
    return counted.done
  }
  const show = async (): Promise<void> => {
    const lag = await measureLag(eventLog, PROJECTORS)
    events = Object.values(lag).reduce((sum, one) => sum + one, 0)
    const behind = lag.finalized ?? 0
    const done = await countEpochs()
    progress.update('process', { done, total: done + (behind > 0 ? 1 : 0), note: `epochs, lag ${events} events` })
  }
  const { working, resting } = PROGRESS_INTERVAL_MS
  const intervalMs = () => (events > 0 ? working : resting)
  return atIntervals({ log, what: 'the progress line', intervalMs }, show, ending)
}

function tellOfChains(ports: Ports, running: Running, ending: AbortSignal): Promise<void> {
  const { log } = running
  const caughtUp = new Map<string, boolean>()
  // What the operator has served all the same is withheld from totals alone.
  let isWarned = running.config.unproven === 'serve'
  const tell = async (): Promise<void> => {
    const health = await measureHealth(
      { ...ports, projectors: PROJECTORS },
      watchedChains(running).filter(({ paused }) => paused !== true),
      nowSec(),
    )
    // Days are closed anew while tables are filled.
    if (!isWarned && health.checks.tables_filled === true) {
      await warnOfWithheld(ports.warehouse, log)
      isWarned = true
    }
    for (const [chain, { checks }] of Object.entries(health.chains)) {
      const isCaughtUp = Object.values(checks).every((holds) => holds)
      const hadCaughtUp = caughtUp.get(chain) ?? false
      caughtUp.set(chain, isCaughtUp)
      if (isCaughtUp === hadCaughtUp) continue
      if (isCaughtUp) log.info({ chain }, 'caught up: what is served is as new as the chain')
      else log.warn({ chain, ...checks }, 'fell behind the chain: /ready says where')
    }
  }
  const { behind, caughtUp: resting } = HEALTH_INTERVAL_MS
  const intervalMs = () => ([...caughtUp.values()].every((isCaughtUp) => isCaughtUp) ? resting : behind)
  return atIntervals({ log, what: 'the watch over chains', intervalMs }, tell, ending)
}
