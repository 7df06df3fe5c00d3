import { EventEmitter } from 'node:events'
import { CLIENT_LEFT } from './bill.ts'
import { type AnswerSink, Exchange, type ExchangeOptions } from './exchange.ts'
import { endOfValue, isObjectAt, membersOf, skipBlanks } from './json-text.ts'

/** Who waits for an answer: a call of one client. */
export interface Waiting {
  readonly options: ExchangeOptions
  /** As the client has written it. */
  readonly id: string
}

/** A node's answer to one call, with the place of the call's id in it. */
export interface SharedAnswer {
  readonly status: number
  /** Names and values in turn; its length is not among them. */
  readonly headers: readonly string[]
  /** In Latin-1, each byte a character. */
  readonly beforeId: string
  /** Undefined: the protocol's answers have no id. */
  readonly afterId: string | undefined
}

/** Told once, before anybody is: from then on nobody may join. Without an answer there is none that all can be told. */
type OnOver = (answer: SharedAnswer | undefined, parsed: unknown) => void

/**
 * One read for all who ask the same at a time, sent as the first of them has written it. Who leaves takes nobody along; when all have left
 * it is given up. What fails fails for each of them. An answer that is too long to be held goes to the first one as it comes, and the others
 * ask for themselves; so they do where the answer does not say whose it is.
 */
export class SharedRead extends EventEmitter implements AnswerSink {
  destroyed = false
  readonly #first: Waiting
  readonly #onOver: OnOver
  #waiting: readonly Waiting[]
  #isOver = false
  /** Who gets the answer as it comes. */
  #heir: Waiting | undefined
  #status = 0
  #headers: readonly string[] = []
  /** Of what the heir has got as it came. */
  #bytes = 0

  constructor(first: Waiting, onOver: OnOver) {
    super()
    this.#first = first
    this.#onOver = onOver
    this.#waiting = []
    this.join(first)
  }

  join(one: Waiting): void {
    this.#waiting = [...this.#waiting, one]
    one.options.response.once('close', () => this.#leave(one))
  }

  /** Of each of them. */
  readonly refuse: ExchangeOptions['refuse'] = (refusal, sentBytes) => {
    this.#end(undefined)
    for (const { options } of this.#waiting) options.refuse(refusal, sentBytes)
  }

  writeHead(status: number, headers: readonly string[]): this {
    this.#status = status
    this.#headers = headers
    return this
  }

  write(chunk: Buffer): boolean {
    this.#heir ??= this.#bequeath()
    if (this.#heir === undefined) return true
    const { response } = this.#heir.options
    this.#bytes += chunk.length
    const isFlowing = response.write(chunk)
    if (!isFlowing) response.once('drain', () => this.emit('drain'))
    return isFlowing
  }

  end(chunk?: Buffer | string, encoding?: BufferEncoding): this {
    if (this.#heir !== undefined) {
      this.#heir.options.response.end()
      this.#heir.options.bill?.answered(this.#status, this.#bytes)
    } else this.#tell(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : (chunk ?? Buffer.alloc(0)))
    return this
  }

  destroy(): this {
    this.#heir?.options.response.destroy()
    return this
  }

  #tell(body: Buffer): void {
    const parsed = parse(body)
    const answer = parsed === undefined ? undefined : this.#split(body)
    if (answer === undefined) {
      const heir = this.#bequeath()
      heir?.options.response.end(body)
      heir?.options.bill?.answered(this.#status, body.length)
      return
    }
    this.#end(answer, parsed)
    for (const { options, id } of this.#waiting) tellAnswer(answer, options, id)
  }

  /** Undefined where the answer is not to the first one's id. */
  #split(body: Buffer): SharedAnswer | undefined {
    const start = skipBlanks(body, 0)
    if (!isObjectAt(body, start)) return undefined
    const ids = membersOf(body, start).filter(
      ({ keyFrom, keyTo }) => body.toString('latin1', keyFrom, keyTo) === '"id"',
    )
    const [id] = ids
    const text = body.toString('latin1')
    const head = { status: this.#status, headers: withoutLength(this.#headers) }
    if (id === undefined) return { ...head, beforeId: text, afterId: undefined }
    if (ids.length > 1 || body.toString('utf8', id.from, endOfValue(body, id.from)) !== this.#first.id) return undefined
    return { ...head, beforeId: text.slice(0, id.from), afterId: text.slice(id.to) }
  }

  /** The first one, if it is still there, has the answer to itself from here on. */
  #bequeath(): Waiting | undefined {
    this.#end(undefined)
    const others = this.#waiting.filter((one) => one !== this.#first)
    const heir = this.#waiting.find((one) => one === this.#first)
    this.#waiting = heir === undefined ? [] : [heir]
    for (const { options } of others) new Exchange(options)
    if (heir === undefined) this.#giveUp()
    else heir.options.response.writeHead(this.#status, [...this.#headers, ...heir.options.ownHeaders])
    return heir
  }

  #leave(one: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== one)
    one.options.bill?.answered(CLIENT_LEFT, one === this.#heir ? this.#bytes : 0)
    if (this.#waiting.length > 0) return
    this.#end(undefined)
    this.#giveUp()
  }

  #end(answer: SharedAnswer | undefined, parsed?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onOver(answer, parsed)
  }

  #giveUp(): void {
    this.destroyed = true
    this.emit('close')
  }
}

export function tellAnswer(answer: SharedAnswer, { response, ownHeaders, bill }: ExchangeOptions, id: string): void {
  const { status, headers, beforeId, afterId } = answer
  const text = afterId === undefined ? beforeId : beforeId + Buffer.from(id).toString('latin1') + afterId
  response.writeHead(status, [...headers, ...ownHeaders, 'content-length', String(text.length)])
  response.end(text, 'latin1')
  bill?.answered(status, text.length)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    // What is no JSON is nobody's but the first one's.
    return undefined
  }
}

/** Names and values in turn. */
function withoutLength(headers: readonly string[]): readonly string[] {
  return headers.filter((_, i) => headers[i - (i % 2)] !== 'content-length')
}
