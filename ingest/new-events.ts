import type { EventLog, Offsets, StoredEvent } from '../infra/ports/event-log.ts'
import type { Topic } from '../schemas/events/codec.ts'

/** A topic from its beginning on, read a piece at a time: what has come since the last call. */
export class NewEvents {
  readonly #eventLog: EventLog
  readonly #topic: Topic
  /** Where the next event will lie. */
  readonly #next = new Map<number, bigint>()

  constructor(eventLog: EventLog, topic: Topic) {
    this.#eventLog = eventLog
    this.#topic = topic
  }

  /** The events of all chains that were not read before, each with its data until the next one. One reader at a time. */
  async *read(signal: AbortSignal): AsyncGenerator<StoredEvent> {
    const ends = await this.#eventLog.ends(this.#topic)
    if (!this.#isBehind(ends)) return
    const question = { topic: this.#topic, from: this.#next, signal, oneByOne: true }
    for await (const stored of this.#eventLog.read(question)) {
      this.#next.set(stored.position.partition, stored.position.offset + 1n)
      yield stored
    }
    // The end may lie behind the newest event by what a log writes for itself.
    for (const [partition, end] of ends) if (end > this.#nextOf(partition)) this.#next.set(partition, end)
  }

  #isBehind(ends: Offsets): boolean {
    return [...ends].some(([partition, end]) => end > this.#nextOf(partition))
  }

  #nextOf(partition: number): bigint {
    return this.#next.get(partition) ?? 0n
  }
}
