import { MessageSink } from './message-sink.ts'

/** Of requests and answers of one socket: the longest answer, or three of the longest requests. One more answer may end beyond it. */
export const HELD_BYTES_MAX = 32 * 1024 * 1024

/**
 * What one socket has in memory, of requests that are not answered and of answers that are not out. Where it is full no further message is read,
 * and nodes are held back, but for that of the oldest answer that has begun: of several that are all held back none would ever end.
 */
export class HeldBytes {
  readonly #max: number
  /** Oldest first. */
  readonly #sinks = new Set<MessageSink>()
  #bytes = 0

  constructor(max = HELD_BYTES_MAX) {
    this.#max = max
  }

  get isFull(): boolean {
    return this.#bytes >= this.#max
  }

  hold(bytes: number): void {
    this.#bytes += bytes
  }

  release(bytes: number): void {
    this.#bytes -= bytes
    this.#goOn()
  }

  /** For an answer: what has come of it is held until it is worked up, and then for whoever has it to hold. */
  async withSink<T>(work: (sink: MessageSink) => Promise<T>): Promise<T> {
    const sink = new MessageSink(this)
    this.#sinks.add(sink)
    try {
      return await work(sink)
    } finally {
      this.#sinks.delete(sink)
      this.release(sink.bytes)
    }
  }

  /** Nobody waits for any of the answers. */
  destroySinks(): void {
    for (const sink of this.#sinks) sink.destroy()
  }

  mayGrow(sink: MessageSink): boolean {
    return !this.isFull || this.#oldestBegun() === sink
  }

  #oldestBegun(): MessageSink | undefined {
    for (const sink of this.#sinks) if (sink.bytes > 0) return sink
    return undefined
  }

  #goOn(): void {
    for (const sink of this.#sinks) if (this.mayGrow(sink)) sink.emit('drain')
  }
}
