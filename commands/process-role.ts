import { measureLag } from '../processors/loop/measure-health.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { runProcessing } from '../processors/run-processing.ts'
import { pause } from '../schemas/wait.ts'
import { allOrNone } from './ingest-role.ts'
import type { Ports, Role, Running } from './role.ts'
import { nowSec } from './setting.ts'

const STATUS_INTERVAL_MS = 1_000

/** Event log -> warehouse. As many processes as wanted share the work. */
export const processRole: Role = {
  name: 'process',
  needs: ['eventLog', 'warehouse', 'jobQueue'],
  async run(ports, running, signal) {
    const stop = new AbortController()
    const ending = AbortSignal.any([signal, stop.signal])
    await allOrNone(
      [runProcessing({ ...ports, log: running.log, now: nowSec }, ending), showProcessing(ports, running, ending)],
      stop,
    )
  },
}

/** One line for the processors, and a sentence for every day that closes. */
async function showProcessing(ports: Ports, { progress }: Running, ending: AbortSignal): Promise<void> {
  const { eventLog, warehouse } = ports
  const told = new Set<string>()
  while (!ending.aborted) {
    const lag = await measureLag(eventLog, PROJECTORS)
    const events = Object.values(lag).reduce((sum, one) => sum + one, 0)
    const behind = lag.finalized ?? 0
    const [row] = await warehouse.query<{ epochs: string }>('SELECT count() AS epochs FROM epochs FINAL')
    const done = Number(row?.epochs ?? 0)
    progress.update('process', { done, total: done + (behind > 0 ? 1 : 0), note: `epochs, lag ${events} events` })
    const days = await warehouse.query<{
      chain: string
      day: string
      validators: number
      validators_unexplained: number
    }>('SELECT chain, day, validators, validators_unexplained FROM closed_days FINAL ORDER BY day, chain')
    for (const { chain, day, validators, validators_unexplained: unexplained } of days) {
      const id = `${chain} ${day}`
      if (told.has(id)) continue
      told.add(id)
      process.stdout.write(
        `day ${day}    closed on ${chain}: ${validators} validators, ${unexplained} with unexplained balance changes\n`,
      )
    }
    await pause(STATUS_INTERVAL_MS, ending)
  }
}
