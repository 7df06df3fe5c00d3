import { EventEmitter } from 'node:events'
import type { AnswerSink } from './exchange.ts'
import type { HeldBytes } from './held-bytes.ts'

/** Of an answer that is sent as one message. */
export const MESSAGE_BYTES_MAX = 32 * 1024 * 1024

/** Takes an answer that is wanted whole, as fast as its socket may hold it. Resolves with it; with `too-long`, or, where it broke off or is not wanted any more, `gone`. */
export class MessageSink extends EventEmitter implements AnswerSink {
  readonly answer: Promise<Buffer | 'too-long' | 'gone'>
  destroyed = false
  /** HTTP's, of an answer. */
  status = 200
  readonly #held: HeldBytes
  readonly #settle: (answer: Buffer | 'too-long' | 'gone') => void
  readonly #chunks: Buffer[] = []
  #bytes = 0

  constructor(held: HeldBytes) {
    super()
    this.#held = held
    const { promise, resolve } = Promise.withResolvers<Buffer | 'too-long' | 'gone'>()
    this.answer = promise
    this.#settle = resolve
  }

  /** Of its answer, so far. */
  get bytes(): number {
    return this.#bytes
  }

  writeHead(status: number): this {
    this.status = status
    return this
  }

  write(chunk: Buffer): boolean {
    if (this.destroyed) return true
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#held.hold(chunk.length)
    if (this.#bytes > MESSAGE_BYTES_MAX) this.#end('too-long')
    return this.#held.mayGrow(this)
  }

  end(chunk?: Buffer | string, encoding?: BufferEncoding): this {
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    this.#end(Buffer.concat(this.#chunks, this.#bytes))
    return this
  }

  destroy(): this {
    this.#end('gone')
    return this
  }

  #end(answer: Buffer | 'too-long' | 'gone'): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#settle(answer)
    this.emit('close')
  }
}
