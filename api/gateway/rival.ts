import type { IncomingHttpHeaders } from 'node:http'
import type { AnswerHandler, Flow, UpstreamFault } from '../../infra/ports/upstreams.ts'
import { type Expected, mayBegin, verdictOf } from './node-answer.ts'

/** Answers up to here are sent as one piece, once they are whole; longer ones as they come. */
export const WHOLE_BYTES_MAX = 64 * 1024

interface RivalOptions {
  /** It has a whole answer, or more of one than is waited for: `passTo` says who gets it. */
  onAnswer(): void
  onFault(): void
}

/** The second node that a slow read was sent to. It keeps what it hears until it is first. */
export class Rival implements AnswerHandler {
  readonly node: string
  /** Ends it early. */
  cancel: (() => void) | undefined
  readonly #expected: Expected
  readonly #options: RivalOptions
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #flow: Flow | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  #isWhole = false
  /** Who hears it from now on. */
  #heir: AnswerHandler | undefined

  constructor(node: string, expected: Expected, options: RivalOptions) {
    this.node = node
    this.#expected = expected
    this.#options = options
  }

  onHeaders(status: number, headers: IncomingHttpHeaders, flow: Flow): void {
    this.#status = status
    this.#headers = headers
    this.#flow = flow
  }

  onData(chunk: Buffer): void {
    if (this.#heir !== undefined) {
      this.#heir.onData(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes <= WHOLE_BYTES_MAX) return
    const head = { status: this.#status, headers: this.#headers }
    if (mayBegin(Buffer.concat(this.#chunks), head, this.#expected)) this.#options.onAnswer()
    else {
      this.cancel?.()
      this.#options.onFault()
    }
  }

  onEnd(): boolean {
    if (this.#heir !== undefined) return this.#heir.onEnd()
    this.#isWhole = true
    const head = { status: this.#status, headers: this.#headers }
    const isAnswer = verdictOf(Buffer.concat(this.#chunks), head, this.#expected) === 'answer'
    if (isAnswer) this.#options.onAnswer()
    else this.#options.onFault()
    return isAnswer
  }

  onFault(fault: UpstreamFault): void {
    if (this.#heir === undefined) this.#options.onFault()
    else this.#heir.onFault(fault)
  }

  /** What it has heard, and all that follows. */
  passTo(heir: AnswerHandler): void {
    this.#heir = heir
    heir.onHeaders(this.#status, this.#headers, this.#flow as Flow)
    for (const chunk of this.#chunks) heir.onData(chunk)
    this.#chunks = []
    if (this.#isWhole) heir.onEnd()
  }
}
