import { randomUUID } from 'node:crypto'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { networkOfUnnamedLog } from '../../schemas/events/beacon-epoch.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { decodeEvent, encodeEvent, type Topic, UNNAMED_CHAIN } from '../../schemas/events/codec.ts'
import { type ChainRemoved, chainRemoved, LOG_FACTS_KEY, logMade } from '../../schemas/events/log-facts.ts'

/** What a log says of itself. */
export interface LogFacts {
  readonly logId: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  /** The newest removal of each chain that was ever removed. */
  readonly removed: ReadonlyMap<string, Removal>
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
  for await (const { event } of eventLog.read({ topic: 'log', signal })) {
    if (event.type === logMade.name) made ??= decodeEvent(logMade, event)
    if (event.type === chainRemoved.name) {
      const { chain, before } = decodeEvent(chainRemoved, event)
      removed.set(chain, { removalId: event.id, before })
    }
  }
  return made === undefined ? undefined : { ...made, removed }
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

/** Whether an event still counts: one of a chain that was removed behind it does not. */
export function stillCounts(topic: Topic, { event, position }: StoredEvent, facts: LogFacts): boolean {
  const before = facts.removed.get(chainOfEvent(event, facts.unnamedChain))?.before[topic]?.[String(position.partition)]
  return before === undefined || position.offset >= BigInt(before)
}

/** Follows the facts of a log: `current` reads what was added since, and gives the same object as long as nothing was. */
export class LogFactsReader {
  readonly #eventLog: EventLog
  #facts: LogFacts
  #end: string

  private constructor(eventLog: EventLog, facts: LogFacts, end: string) {
    this.#eventLog = eventLog
    this.#facts = facts
    this.#end = end
  }

  static async open(eventLog: EventLog, now: number, signal: AbortSignal): Promise<LogFactsReader> {
    const facts = await openLogFacts(eventLog, now, signal)
    // Read before the end is asked for: what comes in between is read again, not missed.
    return new LogFactsReader(eventLog, facts, '')
  }

  readonly current = async (): Promise<LogFacts> => {
    const end = String([...(await this.#eventLog.ends('log'))])
    if (end === this.#end) return this.#facts
    const facts = await readLogFacts(this.#eventLog, NEVER)
    if (facts !== undefined && facts.removed.size + this.#facts.removed.size > 0) this.#facts = facts
    this.#end = end
    return this.#facts
  }
}

const NEVER = new AbortController().signal
