import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { pause } from '../../schemas/wait.ts'
import { DERIVING_JOBS } from '../derive.ts'
import { measureLag } from '../loop/measure-health.ts'
import { PROJECTORS } from '../projections.ts'

/** Between two looks. */
const LOOK_MS = 250
/** Without any progress for so long nobody is processing. */
const STANDSTILL_MS = 5_000
/** A log that is being caught up with is told to be incomplete after this. */
const WAIT_MAX_MS = 60_000

/** What is still to be done for the log as it was at one moment. */
export interface Unprocessed {
  /** Offsets behind the newest events of that moment. */
  readonly ends: ReadonlyMap<Topic, Offsets>
  /** Events by topic; topics without any are left out. */
  readonly events: ReadonlyMap<Topic, number>
  /** Jobs by name, likewise. */
  readonly jobs: ReadonlyMap<string, number>
}

interface Processing {
  readonly eventLog: EventLog
  readonly jobQueue: Pick<JobQueue, 'pending'>
}

/**
 * What of the log as it is now is not in the tables. With `wait`, processors are waited for until they are done with it, stand
 * still or take too long: what is appended meanwhile does not count.
 */
export async function untilProcessed(
  ports: Processing,
  {
    wait,
    waitMsMax = WAIT_MAX_MS,
    signal,
  }: { readonly wait: boolean; readonly waitMsMax?: number; readonly signal: AbortSignal },
): Promise<Unprocessed> {
  const begin = performance.now()
  const ends = await endsOf(ports.eventLog)
  let least = Number.POSITIVE_INFINITY
  let progressMs = begin
  for (;;) {
    const left = await leftOf(ports, ends)
    const total = [...left.events.values(), ...left.jobs.values()].reduce((sum, one) => sum + one, 0)
    const now = performance.now()
    if (total < least) progressMs = now
    least = Math.min(least, total)
    const isHopeless = now - progressMs > STANDSTILL_MS || now - begin > waitMsMax
    if (total === 0 || !wait || isHopeless || signal.aborted) return { ends, ...left }
    await pause(LOOK_MS, signal)
  }
}

async function leftOf({ eventLog, jobQueue }: Processing, until: ReadonlyMap<Topic, Offsets>) {
  const ends = await endsOf(eventLog) // before the lag: what comes between the two is told as left, and the next look knows better
  const lag = await measureLag(eventLog, PROJECTORS)
  const events = new Map<Topic, number>()
  for (const { group, topic } of PROJECTORS) {
    const since = sum(ends.get(topic)) - sum(until.get(topic))
    const left = (lag[group] ?? 0) - since
    if (left > 0) events.set(topic, left)
  }
  const jobs = new Map<string, number>()
  for (const name of DERIVING_JOBS) {
    const pending = await jobQueue.pending(name)
    if (pending > 0) jobs.set(name, pending)
  }
  return { events, jobs }
}

async function endsOf(eventLog: EventLog): Promise<ReadonlyMap<Topic, Offsets>> {
  return new Map(await Promise.all(PROJECTORS.map(async ({ topic }) => [topic, await eventLog.ends(topic)] as const)))
}

function sum(ends: Offsets | undefined): number {
  return Number([...(ends?.values() ?? [])].reduce((total, end) => total + end, 0n))
}
