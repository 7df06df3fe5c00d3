import type { EventLog, Offsets, StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import {
  decodeEvent,
  type EncodedEvent,
  encodeEvent,
  type Topic,
  unlessUndecodable,
} from '../../schemas/events/codec.ts'
import { type DeadLetterData, deadLetter, deadLetterResolved, NO_TYPE } from '../../schemas/events/dead-letter.ts'
import { CHAINLESS_TOPICS } from '../../schemas/events/envelope.ts'
import type { Projected } from './rows.ts'
import { versionOf } from './rows.ts'

const NEVER = new AbortController().signal
/** Time of an event that tells none. */
const NO_TIME = '1970-01-01T00:00:00.000Z'
/** What other processes have set aside is looked at this often: an event seldom comes again sooner. */
const REFRESH_MS = 5_000

/** An event that cannot be processed, and who found so. */
export interface Unprocessable {
  readonly group: string
  readonly topic: Topic
  readonly stored: StoredEvent
  readonly reason: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
}

/** What is written of a letter; its position is that of the event that was set aside. */
export type DeadLetter = DeadLetterData

/** Events that were set aside: each is told once, and once more when one of its id can be processed after all. */
export class DeadLetters {
  readonly #eventLog: EventLog
  readonly #tellResolved: (event: EncodedEvent) => Promise<void>
  readonly #told = new Set<string>()
  /** By group, topic and id of the event. */
  readonly #open = new Map<string, DeadLetter>()
  #readUntil: Offsets = new Map()
  #readAtMs = Number.NEGATIVE_INFINITY

  private constructor(eventLog: EventLog, tellResolved: (event: EncodedEvent) => Promise<void>) {
    this.#eventLog = eventLog
    this.#tellResolved = tellResolved
  }

  /** `tellResolved` for whoever fills tables that are not the live ones yet: by default it is appended at once. */
  static async open(
    eventLog: EventLog,
    tellResolved = async (event: EncodedEvent): Promise<void> => void (await eventLog.append('dead-letters', [event])),
  ): Promise<DeadLetters> {
    const letters = new DeadLetters(eventLog, tellResolved)
    await letters.#refresh()
    return letters
  }

  /** Those of which no event of the same id was processed since. */
  get unresolved(): readonly DeadLetter[] {
    return [...this.#open.values()]
  }

  /** Sets an event aside, unless it was before. */
  async add(unprocessable: Unprocessable): Promise<void> {
    await this.#refreshIfOld()
    const { group, topic, stored } = unprocessable
    const { partition, offset } = stored.position
    const id = `dead-letter:${group}:${topic}:${partition}:${offset}`
    if (this.#told.has(id)) return
    const data = letterOf(unprocessable)
    await this.#eventLog.append('dead-letters', [
      encodeEvent(deadLetter, { id, key: topic, time: data.eventTime, data }),
    ])
    this.#told.add(id)
    this.#open.set(nameOf(data), data)
  }

  /** Tells of events that were processed, whose rows are in the warehouse, which of them had been set aside before. */
  async resolve(group: string, topic: Topic, processed: readonly StoredEvent[]): Promise<void> {
    await this.#refreshIfOld()
    if (this.#open.size === 0) return
    for (const { event, position } of processed) {
      const letter = this.#open.get(nameOf({ group, topic, eventId: event.id }))
      if (letter === undefined || !isFrom(letter, position)) continue
      const place = { partition: position.partition, offset: position.offset.toString() }
      await this.#tellResolved(
        encodeEvent(deadLetterResolved, {
          id: `dead-letter.resolved:${group}:${topic}:${place.partition}:${place.offset}`,
          key: topic,
          time: event.time,
          data: { chain: letter.chain, topic, group, eventId: event.id, ...place },
        }),
      )
      this.#open.delete(nameOf(letter))
    }
  }

  async #refreshIfOld(): Promise<void> {
    if (performance.now() - this.#readAtMs > REFRESH_MS) await this.#refresh()
  }

  async #refresh(): Promise<void> {
    const ends = await this.#eventLog.ends('dead-letters')
    for await (const { event } of this.#eventLog.read({
      topic: 'dead-letters',
      signal: NEVER,
      from: this.#readUntil,
    })) {
      this.#take(event)
    }
    this.#readUntil = ends
    this.#readAtMs = performance.now()
  }

  /** What is neither of the two is set aside itself, by the group that reads this topic. */
  #take(event: EncodedEvent): void {
    unlessUndecodable(() => {
      if (event.type === deadLetter.name) {
        const letter = decodeEvent(deadLetter, event)
        this.#told.add(event.id)
        this.#open.set(nameOf(letter), letter)
      } else if (event.type === deadLetterResolved.name) {
        this.#open.delete(nameOf(decodeEvent(deadLetterResolved, event)))
      }
    })
  }
}

function nameOf({ group, topic, eventId }: Pick<DeadLetter, 'group' | 'topic' | 'eventId'>): string {
  return `${group} ${topic} ${eventId}`
}

/** Whether the position is the letter's or a later one; of two partitions the other is where the key lies now. */
function isFrom({ partition, offset }: DeadLetter, position: StoredEvent['position']): boolean {
  return position.partition !== partition || position.offset >= BigInt(offset)
}

/** Whatever the message says, this can be written: a message of somebody else may say nothing at all. */
function letterOf({ group, topic, stored, reason, unnamedChain }: Unprocessable): DeadLetter {
  const { event, position } = stored
  const isChainless = event.type === NO_TYPE || CHAINLESS_TOPICS.has(topic)
  return {
    chain: isChainless ? '' : chainOfEvent(event, unnamedChain),
    topic,
    partition: position.partition,
    offset: position.offset.toString(),
    group,
    eventId: event.id === '' ? `${topic}/${position.partition}/${position.offset}` : event.id,
    eventType: event.type,
    eventVersion: Number.isSafeInteger(event.version) && event.version >= 0 ? event.version : 0,
    eventTime: isInstant(event.time) ? event.time : NO_TIME,
    reason,
  }
}

/** Throws AppError `undecodable` for what none of our writers has made: its rows would have no time. */
export function refuseNoEnvelope({ id, type, time }: EncodedEvent): void {
  if (type === NO_TYPE) throw new AppError('undecodable', 'not an event of this program: it has no type')
  if (id === '' || !isInstant(time)) throw new AppError('undecodable', `an event ${type} without id or time`)
}

function isInstant(text: string): boolean {
  const ms = Date.parse(text)
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text
}

/** What one event of `dead-letters` becomes. */
export function projectDeadLetter(stored: StoredEvent): Projected {
  const isResolved = stored.event.type === deadLetterResolved.name
  const letter = isResolved
    ? {
        ...decodeEvent(deadLetterResolved, stored.event),
        eventType: '',
        eventTime: stored.event.time,
        reason: '',
      }
    : decodeEvent(deadLetter, stored.event)
  return {
    rows: [
      {
        table: 'dead_letters',
        columns: {
          chain: [letter.chain],
          event_id: [letter.eventId],
          consumer_group: [letter.group],
          topic: [letter.topic],
          event_type: [letter.eventType],
          event_time: BigInt64Array.of(BigInt(Date.parse(letter.eventTime))),
          reason: [letter.reason],
          is_resolved: Uint8Array.of(isResolved ? 1 : 0),
          version: BigUint64Array.of(versionOf(stored.position)),
        },
      },
    ],
  }
}
