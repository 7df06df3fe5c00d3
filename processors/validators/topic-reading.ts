import type { EventLog } from '../../infra/ports/event-log.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'

export interface ReadTopic {
  readonly topic: Topic
  readonly signal: AbortSignal
  /** Gets each event once, in order per key. */
  add(event: EncodedEvent): void
}

/**
 * A topic that is read on when somebody asks, and nothing twice. The log opens no reader where nothing is new: its ends lie behind what a
 * log keeps beside the events, like the markers that follow a lease's in Kafka, so they are remembered too.
 */
export class TopicReading {
  readonly #eventLog: Pick<EventLog, 'read' | 'ends'>
  readonly #topic: ReadTopic
  readonly #next = new Map<number, bigint>()
  #reading: Promise<void> = Promise.resolve()

  constructor(eventLog: Pick<EventLog, 'read' | 'ends'>, topic: ReadTopic) {
    this.#eventLog = eventLog
    this.#topic = topic
  }

  /** Resolves when `add` has got everything that the log held at the call. */
  readOn(): Promise<void> {
    const reading = this.#reading.catch(() => {}).then(() => this.#readOn()) // who asked before has the failure
    this.#reading = reading
    return reading
  }

  async #readOn(): Promise<void> {
    const { topic, signal, add } = this.#topic
    const ends = await this.#eventLog.ends(topic)
    if ([...ends].every(([partition, end]) => this.#nextOf(partition) >= end)) return
    for await (const { event, position } of this.#eventLog.read({ topic, from: this.#next, signal })) {
      add(event)
      this.#next.set(position.partition, position.offset + 1n)
    }
    for (const [partition, end] of ends) if (this.#nextOf(partition) < end) this.#next.set(partition, end)
  }

  #nextOf(partition: number): bigint {
    return this.#next.get(partition) ?? 0n
  }
}
