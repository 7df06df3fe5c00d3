import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { deriveDay } from '../../schemas/jobs/derive-day.ts'
import { pause } from '../../schemas/wait.ts'
import { DERIVING_JOBS } from '../derive.ts'
import { measureLag } from '../loop/measure-health.ts'
import { PROJECTORS } from '../projections.ts'

/** What the program says of itself, and of who asks it, makes no figure, and its last word comes when its tables are closed. */
const PROVEN = PROJECTORS.filter(({ topic }) => topic !== 'roles' && topic !== 'usage')

/** Between two looks. */
const LOOK_MS = 250
/** Without any progress for so long nobody is processing. */
const STANDSTILL_MS = 5_000
/** A log that is being caught up with is told to be incomplete after this. */
const WAIT_MAX_MS = 60_000

/** The first epoch of a day has 129 events where the whole registry is tracked; in a minute a chain's head brings fewer. */
const FOLLOWING_EVENTS_MAX = 140

/** What is still to be done for the log as it was at one moment. */
export interface Unprocessed {
  /** Offsets behind the newest events of that moment. */
  readonly ends: ReadonlyMap<Topic, Offsets>
  /** Events by topic; topics without any are left out. */
  readonly events: ReadonlyMap<Topic, number>
  /** Jobs by name, likewise. */
  readonly jobs: ReadonlyMap<string, number>
  /** While processors were waited for and went on with it; undefined where they are done, stand still, or were not waited for. */
  readonly catchingUp: CatchingUp | undefined
}

export interface CatchingUp {
  /** What waits of the log as it was in the end: more may have come meanwhile. */
  readonly events: number
  readonly eventsPerSec: number
}

interface Processing {
  readonly eventLog: EventLog
  readonly jobQueue: Pick<JobQueue, 'pending'>
}

interface Waiting {
  readonly wait: boolean
  readonly waitMsMax?: number | undefined
  /** Jobs about days of this chain alone; of all where it is empty. A job about an account is of all its chains. */
  readonly chain?: string | undefined
  readonly signal: AbortSignal
}

/**
 * What of the log as it is now is not in the tables. With `wait`, processors are waited for until they are done with it, stand
 * still or take too long: what is appended meanwhile does not count.
 */
export async function untilProcessed(
  ports: Processing,
  { wait, waitMsMax = WAIT_MAX_MS, chain = '', signal }: Waiting,
): Promise<Unprocessed> {
  const begin = performance.now()
  const ends = await endsOf(ports.eventLog)
  let least = Number.POSITIVE_INFINITY
  let first: number | undefined
  let most = Number.NEGATIVE_INFINITY
  let progressMs = begin
  for (;;) {
    const { events, jobs, lag, done } = await leftOf(ports, { until: ends, chain })
    const total = [...events.values(), ...jobs.values()].reduce((sum, one) => sum + one, 0)
    const now = performance.now()
    first ??= done
    // Jobs that wait may be those of events that have come since.
    if (total < least || done > most) progressMs = now
    least = Math.min(least, total)
    most = Math.max(most, done)
    const isStill = now - progressMs > STANDSTILL_MS
    if (total === 0 || !wait || isStill || now - begin > waitMsMax || signal.aborted) {
      // At the head of its chains a program has few events at a time: what waits for long then is told for itself.
      const isBehind = events.size > 0 || lag > FOLLOWING_EVENTS_MAX || most - first > FOLLOWING_EVENTS_MAX
      const isCatchingUp = wait && total > 0 && !isStill && most > first && isBehind
      const eventsPerSec = ((most - first) * 1_000) / Math.max(1, now - begin)
      return { ends, events, jobs, catchingUp: isCatchingUp ? { events: lag, eventsPerSec } : undefined }
    }
    await pause(LOOK_MS, signal)
  }
}

interface Looking {
  readonly until: ReadonlyMap<Topic, Offsets>
  readonly chain: string
}

async function leftOf({ eventLog, jobQueue }: Processing, { until, chain }: Looking) {
  const ends = await endsOf(eventLog)
  const lags = await measureLag(eventLog, PROVEN)
  const lefts = await measureLag(eventLog, PROVEN, until)
  const events = new Map<Topic, number>()
  let [lag, done] = [0, 0]
  for (const { group, topic } of PROVEN) {
    const waiting = lags[group] ?? 0
    const left = lefts[group] ?? 0
    if (left > 0) events.set(topic, Math.max(left, events.get(topic) ?? 0))
    lag += waiting
    done += sum(ends.get(topic)) - waiting
  }
  const jobs = new Map<string, number>()
  for (const name of DERIVING_JOBS) {
    const prefix = name === deriveDay.name && chain !== '' ? deriveDay.idPrefixOf(chain) : ''
    const pending = await jobQueue.pending(name, prefix)
    if (pending > 0) jobs.set(name, pending)
  }
  return { events, jobs, lag, done }
}

async function endsOf(eventLog: EventLog): Promise<ReadonlyMap<Topic, Offsets>> {
  return new Map(await Promise.all(PROVEN.map(async ({ topic }) => [topic, await eventLog.ends(topic)] as const)))
}

function sum(ends: Offsets | undefined): number {
  return Number([...(ends?.values() ?? [])].reduce((total, end) => total + end, 0n))
}
