import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog } from '../infra/ports/event-log.ts'
import type { JobQueue } from '../infra/ports/job-queue.ts'
import type { Log } from '../infra/ports/log.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { DerivationWork, deriveAllUndisturbed } from './derivation-work.ts'
import { DERIVE_DELAY_MS, DERIVING_JOBS, Derivation, wantedByJobs, wantOpenWork } from './derive.ts'
import { DeadLetters } from './loop/dead-letters.ts'
import { dropRemoved } from './loop/drop-chains.ts'
import { LogFactsReader, openLogFacts } from './loop/log-facts.ts'
import { finishFilling, prepareFilling } from './loop/prepare-filling.ts'
import { PROJECTORS, runProjections } from './projections.ts'

/** What was asked for by the last batches is done before the process ends, unless that takes longer: then the next start does it. */
const DRAIN_MS_MAX = 5_000
/** What was asked for last is due by then: what this process has not begun is another's. */
const DRAIN_IDLE_MS = DERIVE_DELAY_MS + 500
const DRAIN_LOOK_MS = 50

export interface Processing {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly jobQueue: JobQueue
  readonly log: Log
  /** Unix seconds. */
  readonly now: () => number
  /** How long what was asked for may take behind the signal. */
  readonly drainMsMax?: number
}

/**
 * Turns the log into tables until the signal aborts: projections, and the jobs that make figures of several events. Any number
 * of processes may do so side by side. What can pass, the warehouse or the log is away, is waited out. Throws AppError `config` for a warehouse that was filled from another log.
 */
export async function runProcessing(ports: Processing, signal: AbortSignal): Promise<void> {
  const { eventLog, warehouse, jobQueue, log, now, drainMsMax = DRAIN_MS_MAX } = ports
  const wanted = wantedByJobs(jobQueue, log)
  const derivation = new Derivation(warehouse, wanted)
  const start = await retryWithBackoff({ log, signal, what: 'the start of the processors' }, async () => {
    const facts = await openLogFacts(eventLog, now(), signal)
    await prepareFilling({ ...ports, facts, projectors: PROJECTORS }, now(), signal)
    const reader = await LogFactsReader.open({
      eventLog,
      now: now(),
      signal,
      onRemovals: async (removals) => {
        await dropRemoved(ports, removals, signal)
        derivation.forgetClocks()
      },
    })
    await wantOpenWork(warehouse, wanted)
    return { facts, reader }
  })
  if (start === undefined) return
  const { facts, reader } = start
  const ended = new AbortController()
  const ending = AbortSignal.any([signal, ended.signal])
  const deriveAll = (until: AbortSignal) => deriveAllUndisturbed({ warehouse, facts: reader }, until)
  const filling = retryWithBackoff({ log, signal: ending, what: 'the filling of tables' }, () =>
    finishFilling({ ...ports, facts, projectors: PROJECTORS }, { now, derive: deriveAll }, ending),
  )
  filling.catch(() => ended.abort()) // awaited below
  const { derive } = derivation
  const idle = new AbortController()
  const work = new DerivationWork({ ...ports, facts: reader })
  const working = work.run(idle.signal)
  working.catch(() => ended.abort()) // awaited below
  try {
    const deadLetters = await DeadLetters.open(eventLog)
    await runProjections({ ...ports, facts: reader, derive, deadLetters }, ending)
    if (!ended.signal.aborted) await drain(jobQueue, work, drainMsMax)
  } finally {
    idle.abort()
    ended.abort()
    await Promise.all([working, filling])
  }
}

/** Waits for what was asked for as long as this process does some of it: others may go on, and end what is left. */
async function drain(jobQueue: JobQueue, work: DerivationWork, msMax: number): Promise<void> {
  work.hurry()
  const begin = performance.now()
  while (performance.now() - begin < msMax) {
    const pending = await Promise.all(DERIVING_JOBS.map((name) => jobQueue.pending(name)))
    if (pending.every((jobs) => jobs === 0)) return
    if (Math.min(work.idleMs(), performance.now() - begin) > DRAIN_IDLE_MS) return
    await sleep(DRAIN_LOOK_MS)
  }
}
