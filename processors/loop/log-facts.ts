import { randomUUID } from 'node:crypto'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { networkOfUnnamedLog } from '../../schemas/events/beacon-epoch.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { decodeEvent, encodeEvent, type Topic, UNNAMED_CHAIN } from '../../schemas/events/codec.ts'
import {
  type ChainRemoved,
  chainRemoved,
  type EpochsRetracted,
  epochsRetracted,
  isRetracted,
  LOG_FACTS_KEY,
  logMade,
} from '../../schemas/events/log-facts.ts'

/** What a log says of itself. */
export interface LogFacts {
  readonly logId: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  /** The newest removal of each chain that was ever removed. */
  readonly removed: ReadonlyMap<string, Removal>
  /** Epochs that no longer count, by the ids of the facts. */
  readonly retracted: ReadonlyMap<string, EpochsRetracted>
}

/** Ids of all facts by which events no longer count. */
export function takenBackBy({ removed, retracted }: LogFacts): readonly string[] {
  return [...[...removed.values()].map(({ removalId }) => removalId), ...retracted.keys()]
}

/** Epochs that were retracted between the first facts and the second, newer ones. */
export function retractedSince(before: LogFacts, now: LogFacts): readonly EpochsRetracted[] {
  return [...now.retracted].filter(([id]) => !before.retracted.has(id)).map(([, retracted]) => retracted)
}

export interface Removal {
  readonly removalId: string
  /** By topic and partition, the offset before which the chain's events no longer count. */
  readonly before: ChainRemoved['before']
}

/** The facts of the log; undefined while nobody has made its identity. */
export async function readLogFacts(eventLog: EventLog, signal: AbortSignal): Promise<LogFacts | undefined> {
  let made: { readonly logId: string; readonly unnamedChain: string } | undefined
  const removed = new Map<string, Removal>()
  const retracted = new Map<string, EpochsRetracted>()
  for await (const { event } of eventLog.read({ topic: 'log', signal })) {
    if (event.type === logMade.name) made ??= decodeEvent(logMade, event)
    if (event.type === chainRemoved.name) {
      const { chain, before } = decodeEvent(chainRemoved, event)
      removed.set(chain, { removalId: event.id, before })
    }
    if (event.type === epochsRetracted.name) retracted.set(event.id, decodeEvent(epochsRetracted, event))
  }
  return made === undefined ? undefined : { ...made, removed, retracted }
}

/**
 * The facts of the log, which gets its identity if it has none. Of two processes that give it one at the same moment the first
 * counts for both. `now` is Unix seconds.
 */
export async function openLogFacts(eventLog: EventLog, now: number, signal: AbortSignal): Promise<LogFacts> {
  const known = await readLogFacts(eventLog, signal)
  if (known !== undefined) return known
  const logId = randomUUID()
  const unnamedChain = (await chainBefore(eventLog, signal)) ?? UNNAMED_CHAIN
  await eventLog.append('log', [
    encodeEvent(logMade, {
      id: `log.made:${logId}`,
      key: LOG_FACTS_KEY,
      time: formatInstant(Math.floor(now)),
      data: { logId, unnamedChain },
    }),
  ])
  const facts = await readLogFacts(eventLog, signal)
  if (facts === undefined) throw new Error('the log does not hold the identity that was just appended')
  return facts
}

/** The name that an older release gave its only chain: its epochs told it. */
async function chainBefore(eventLog: EventLog, signal: AbortSignal): Promise<string | undefined> {
  for await (const { event } of eventLog.read({ topic: 'beacon.epochs', signal })) {
    const network = networkOfUnnamedLog(event)
    if (network !== undefined) return network
    if (event.version > 1) return undefined // events have named their chain from the beginning
  }
  return undefined
}

/** Whether an event still counts: one of a chain that was removed behind it does not, nor does one of retracted epochs. */
export function stillCounts(topic: Topic, stored: StoredEvent, facts: LogFacts): boolean {
  return !isOfRemoved(topic, stored, facts) && !isOfRetracted(topic, stored, facts)
}

/** Whether the event is of a chain that was removed behind it. */
export function isOfRemoved(topic: Topic, { event, position }: StoredEvent, facts: LogFacts): boolean {
  const before = facts.removed.get(chainOfEvent(event, facts.unnamedChain))?.before[topic]?.[String(position.partition)]
  return before !== undefined && position.offset < BigInt(before)
}

function isOfRetracted(topic: Topic, { event, position }: StoredEvent, { retracted, unnamedChain }: LogFacts): boolean {
  if (topic !== 'beacon.epochs' || retracted.size === 0) return false
  const chain = chainOfEvent(event, unnamedChain)
  return [...retracted.values()].some((fact) => fact.chain === chain && isRetracted(fact, event, position))
}

/** Where the facts of a log are asked for. */
export interface FactsSource {
  /** As they were when they were last read: good enough to begin a batch with. */
  readonly known: LogFacts
  /** As they are now: another object than `known` was when something was added. */
  current(): Promise<LogFacts>
}

export interface FollowedFacts {
  readonly eventLog: EventLog
  /** Unix seconds. */
  readonly now: number
  readonly signal: AbortSignal
  /** Called with facts that take something back, at the start and at each new one, before anybody else sees them. */
  readonly onRemovals?: (facts: LogFacts) => Promise<void>
}

/** Follows the facts of a log. */
export class LogFactsReader implements FactsSource {
  readonly #options: FollowedFacts
  #known: LogFacts
  /** End of the topic at which they were read. */
  #end: string
  #reading: Promise<unknown> = Promise.resolve()
  #next: Promise<LogFacts> | undefined

  private constructor(options: FollowedFacts, facts: LogFacts, end: string) {
    this.#options = options
    this.#known = facts
    this.#end = end
  }

  static async open(options: FollowedFacts): Promise<LogFactsReader> {
    const { eventLog, now, signal, onRemovals } = options
    await openLogFacts(eventLog, now, signal)
    // The end first: what comes after it is read again, not missed.
    const end = await endOf(eventLog)
    const facts = await openLogFacts(eventLog, now, signal)
    if (takenBackBy(facts).length > 0) await onRemovals?.(facts)
    return new LogFactsReader(options, facts, end)
  }

  get known(): LogFacts {
    return this.#known
  }

  /** Callers that come while a reading runs share the next one, which begins after their call. */
  current(): Promise<LogFacts> {
    if (this.#next !== undefined) return this.#next
    const next = this.#reading.then(() => {
      this.#next = undefined
      return this.#read()
    })
    this.#reading = next.catch(() => {})
    this.#next = next
    return next
  }

  async #read(): Promise<LogFacts> {
    const { eventLog, signal, onRemovals } = this.#options
    const end = await endOf(eventLog)
    if (end === this.#end) return this.#known
    const facts = await readLogFacts(eventLog, signal)
    if (facts === undefined) throw new Error('the log has lost its identity')
    if (!sameRemovals(facts, this.#known)) {
      await onRemovals?.(facts)
      this.#known = facts
    }
    this.#end = end
    return this.#known
  }
}

async function endOf(eventLog: EventLog): Promise<string> {
  return [...(await eventLog.ends('log'))].map(([partition, end]) => `${partition}:${end}`).join()
}

/** Whether the same was taken back, at the same places: it is all that facts of one log can differ in. */
export function sameRemovals(a: LogFacts, b: LogFacts): boolean {
  return takenBackBy(a).toSorted().join() === takenBackBy(b).toSorted().join()
}
