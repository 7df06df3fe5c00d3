import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AnswerHandler, Flow, UpstreamFault, UpstreamGroup, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import type { Probe } from '../../schemas/protocols/protocol.ts'
import { isRedirect } from '../../schemas/redirects.ts'
import { type Bill, CLIENT_LEFT } from './bill.ts'
import { toClientHeaders } from './headers.ts'
import { newestBlockIn } from './newest-block.ts'
import { type Expected, mayBegin, verdictOf } from './node-answer.ts'
import { type OwnAnswer, ownAmong, ownFirst } from './own-among.ts'
import { clearOfRefusals } from './partly-refused.ts'
import { type Refusal, refusalOf } from './refusals.ts'
import { Rival, WHOLE_BYTES_MAX } from './rival.ts'
import { lookFor, refusedOf, type SentTransaction, tellTaken } from './sent-transaction.ts'

/** Of an answer that is edited. */
const EDITED_BYTES_MAX = 64 * 1024 * 1024
/**
 * Until a client has taken what it was sent of a long answer, 200 kB at most: for as long its node's connection is held back, and one that
 * reads two kilobytes a second is quicker than that for nobody.
 */
const UNTAKEN_MS_MAX = 60_000
/** Longer ones are not copied. */
const ONE_PIECE_BYTES_MAX = 8 * 1024
/** The header that names the node, opaquely, to who asks for one and the same. */
const NODE_HEADER = 'x-node-id'

/** Where an answer goes: to a client of its own, or into a message. */
export type AnswerSink = Pick<ServerResponse, 'destroyed'> & {
  once(event: 'close' | 'drain', listener: () => void): unknown
  writeHead(status: number, headers: string[]): unknown
  /** False: not before it drains. */
  write(chunk: Buffer): boolean
  end(): unknown
  end(chunk: Buffer): unknown
  end(chunk: string, encoding: BufferEncoding): unknown
  destroy(): unknown
}

/** What has to be known of a call to forward it. */
export interface ExchangeOptions {
  readonly group: UpstreamGroup
  readonly request: UpstreamRequest
  readonly response: AnswerSink
  /** Whether it may be sent again where a node may have done it. */
  readonly isRepeatable: boolean
  readonly expected: Expected
  /** Signed transactions in it that can be looked for: where it is sent again, nodes may refuse what they have taken. */
  readonly sent?: readonly SentTransaction[] | undefined
  /** Calls of one key go to one node. */
  readonly key: string | undefined
  /** Whether the answer names its node. */
  readonly isNamed: boolean
  /** The only node that can answer; undefined: any. */
  readonly node?: string | undefined
  /** It needs the state of an old block. */
  readonly isArchival: boolean
  /** It asks for the newest block, and this finds it in the answer; undefined: it asks for something else, or one node alone. */
  readonly headProbe?: Probe | undefined
  /** Milliseconds without a first byte after which another node is asked, too; undefined: none is. */
  readonly hedgeMs: number | undefined
  /** Answers of ours in that to a batch: among the node's, or before them in one that is streamed. */
  readonly answers?: readonly OwnAnswer[] | undefined
  /** What becomes of the answer of a node; then it is held until it is whole. */
  readonly editAnswer?: ((answer: Buffer, node: string) => Buffer) | undefined
  /** Up to how many bytes an answer is held until it is whole; undefined: `WHOLE_BYTES_MAX`. */
  readonly heldBytesMax?: number
  /** For how long a client may take nothing of an answer that is streamed; undefined: `UNTAKEN_MS_MAX`. */
  readonly untakenMsMax?: number
  /** Headers of ours, in every answer. */
  readonly ownHeaders: readonly string[]
  /** Told of calls of a batch that no node has answered though it has answered others, by their ids as `meantBy` has them: before the answer is. */
  readonly onUnanswered?: ((ids: ReadonlySet<string>) => void) | undefined
  /** Told of the answer; undefined: whoever takes it does that. */
  readonly bill?: Pick<Bill, 'answered' | 'failed' | 'streamed'> | undefined
  /** Told once, where no answer comes or one breaks off: too late for the client to hear of it then, which has got `sentBytes` of its body. */
  readonly refuse: (refusal: Refusal, sentBytes?: number) => void
}

/** An answer that is not told while another node may know better. */
interface Held {
  readonly answer: Buffer
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly node: string
}

interface Behind extends Held {
  readonly number: number
}

/** One client's call until it is answered: sent to one upstream after the other, as far as that is safe, and passed back. */
export class Exchange implements AnswerHandler {
  readonly #options: ExchangeOptions
  readonly #tried: string[] = []
  #cancel: (() => void) | undefined
  #node = ''
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #flow: Flow | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  /** Something of the answer is on its way to the client. */
  #isStreaming = false
  #isDraining = false
  /** Of an answer that is streamed. */
  #sentBytes = 0
  #timer: NodeJS.Timeout | undefined
  /** Runs while the client takes nothing. */
  #untaken: NodeJS.Timeout | undefined
  #rival: Rival | undefined
  /** Why the first node has no answer, while the second one may have. */
  #held: UpstreamFault | undefined
  /** Of those that were behind what clients were told, the one that was least. */
  #behind: Behind | undefined
  /** Of a native interface that cannot answer now, the first one: told where nobody else can. */
  #unwell: Held | undefined
  /** An answer to a batch that is about us in part, the first one: told likewise, without these parts. */
  #partly: Held | undefined
  /** A node may have taken its transactions, and was lost before it said so. */
  #mayBeTaken = false
  /** What is under way was paid for by what calls have earned. */
  #isRetry = false

  constructor(options: ExchangeOptions) {
    this.#options = options
    options.group.countCall()
    options.response.once('close', () => this.#endAll())
    const isSent = this.#send()
    const { hedgeMs, key, node } = options
    // What is to go to one node goes to no other.
    if (isSent && hedgeMs !== undefined && key === undefined && node === undefined)
      this.#timer = setTimeout(() => this.#hedge(), hedgeMs)
  }

  onHeaders(status: number, headers: IncomingHttpHeaders, flow: Flow): void {
    clearTimeout(this.#timer)
    this.#status = status
    this.#headers = headers
    this.#flow = flow
    // What has no end may begin long before there is something in it.
    if (this.#options.request.isEndless && status === 200) this.#stream()
  }

  onData(chunk: Buffer): void {
    if (this.#isStreaming) {
      this.#write(chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const { editAnswer, heldBytesMax = WHOLE_BYTES_MAX } = this.#options
    if (editAnswer !== undefined) {
      // No client waits for what is larger than this.
      if (this.#bytes > EDITED_BYTES_MAX) this.giveUp({ kind: 'bad-answer' })
    } else if (this.#bytes > heldBytesMax) this.#stream()
  }

  onEnd(): boolean {
    this.#cancel = undefined
    const { response, expected } = this.#options
    if (this.#isStreaming) {
      response.end()
      this.#options.bill?.answered(this.#status, this.#sentBytes)
      return true
    }
    const answer = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#bytes)
    const verdict = verdictOf(answer, { status: this.#status, headers: this.#headers }, expected)
    if (verdict === 'answer') {
      this.#dropRival()
      if (!this.#isLookedFor(answer) && !this.#isAskedElsewhere(answer)) this.#tell(answer)
      return true
    }
    if (verdict === 'unwell')
      this.#unwell ??= { answer, status: this.#status, headers: this.#headers, node: this.#node }
    if (verdict === 'partly')
      this.#partly ??= { answer, status: this.#status, headers: this.#headers, node: this.#node }
    this.onFault(verdict === 'refused' ? 'refused' : 'lost')
    return false
  }

  /** Whether the node is asked which transactions it has of those that it refuses: another one may have taken them and passed them on. */
  #isLookedFor(answer: Buffer): boolean {
    const { group, request, sent = [] } = this.#options
    const refused = this.#mayBeTaken ? refusedOf(sent, answer) : []
    const upstream = refused.length === 0 ? undefined : group.choose({ tried: [], id: this.#node })
    if (upstream === undefined) return false
    this.#cancel = lookFor({ sent: refused, upstream, request }, (found) => {
      this.#cancel = undefined
      if (this.#options.response.destroyed) return
      if (found.length > 0) this.#status = 200
      this.#tell(tellTaken(answer, found))
    })
    return true
  }

  #tell(answer: Buffer, isOfUse = true): void {
    const { response, answers = [], editAnswer } = this.#options
    const edited = editAnswer?.(answer, this.#node) ?? answer
    const body = answers.length === 0 ? edited : ownAmong(edited, answers)
    // Of calls that want no answer.
    if (answers.length > 0 && this.#status === 204) this.#status = 200
    this.#writeHead(body.length)
    // With its headers as one text, which the engine writes as one piece; in Latin-1 each byte is a character.
    if (body.length <= ONE_PIECE_BYTES_MAX) response.end(body.toString('latin1'), 'latin1')
    else response.end(body)
    if (isOfUse) this.#options.bill?.answered(this.#status, body.length)
    else this.#options.bill?.failed(this.#status, body.length)
  }

  onFault(fault: UpstreamFault): void {
    this.#cancel = undefined
    clearTimeout(this.#timer)
    const { response, group, isRepeatable, refuse } = this.#options
    // One that no node has seen goes on with what was paid.
    if (this.#isRetry && fault !== 'unreached') {
      group.retryFailed()
      this.#isRetry = false
    }
    if (response.destroyed) return
    if (this.#rival !== undefined) {
      this.#held = fault
      return
    }
    // A shortened answer that looks whole is worse than none.
    if (this.#isStreaming) {
      refuse(refusalOf(fault), this.#sentBytes)
      response.destroy()
      return
    }
    const isSafe = this.#canSendAgain && (fault === 'unreached' || fault === 'refused' || isRepeatable)
    if (fault !== 'unreached' && fault !== 'refused') this.#mayBeTaken = true
    // What no node has seen costs none of them anything.
    if (isSafe && (fault === 'unreached' ? this.#send() : this.#sendAgain())) return
    if (this.#behind !== undefined) this.#tellHeld(this.#behind)
    else if (this.#unwell !== undefined) this.#tellHeld(this.#unwell, false)
    else if (this.#partly !== undefined) this.#tellCleared(this.#partly)
    else refuse(refusalOf(fault))
  }

  /** False where no retry is left, or nobody to ask. */
  #sendAgain(): boolean {
    if (!this.#options.group.takeRetry()) return false
    this.#isRetry = true
    return this.#send()
  }

  /** What came as a stream is gone. */
  get #canSendAgain(): boolean {
    const { body } = this.#options.request
    return body === null || body instanceof Uint8Array
  }

  /** Whether a node that is behind what clients were told of the chain is not heard yet: for whoever asks twice it would go back. */
  #isAskedElsewhere(answer: Buffer): boolean {
    const { headProbe, group } = this.#options
    const number = headProbe === undefined ? undefined : newestBlockIn(answer, headProbe)
    if (number === undefined && this.#behind !== undefined) {
      this.#tellHeld(this.#behind)
      return true
    }
    if (number === undefined || group.tellsHead(this.#node, number)) return false
    if (number > (this.#behind?.number ?? -1))
      this.#behind = { number, answer, status: this.#status, headers: this.#headers, node: this.#node }
    const behind = this.#behind as Behind
    if (!this.#canSendAgain || !group.takeRetry()) this.#tellHeld(behind)
    else if (!this.#send()) {
      group.headGoesBack(behind.number)
      this.#tellHeld(behind)
    }
    return true
  }

  /** Nobody who was asked knows better. */
  #tellHeld({ answer, status, headers, node }: Held, isOfUse = true): void {
    this.#status = status
    this.#headers = headers
    this.#node = node
    this.#tell(answer, isOfUse)
  }

  /** What other calls of the batch have come to is not lost with those that were refused about us. */
  #tellCleared(held: Held): void {
    const { answer, unanswered } = clearOfRefusals(held.answer)
    this.#options.onUnanswered?.(unanswered)
    this.#tellHeld({ ...held, answer })
  }

  /** The first node has said nothing yet: whoever of the two has a whole answer first is heard. */
  #hedge(): void {
    const { group, isArchival, request } = this.#options
    const isOfHead = this.#options.headProbe !== undefined
    const upstream = group.choose({ tried: this.#tried, isArchival, isOfHead, isSpare: true })
    if (upstream === undefined || !group.takeHedge()) return
    this.#tried.push(upstream.id)
    const rival = new Rival(upstream.id, this.#options.expected, {
      onAnswer: () => this.#yieldTo(rival),
      onFault: () => this.#onRivalLost(),
    })
    this.#rival = rival
    rival.cancel = upstream.send(request, rival)
  }

  /** From here on the second node is the one that answers. */
  #yieldTo(rival: Rival): void {
    this.#cancel?.()
    this.#cancel = rival.cancel
    this.#takeRival()
    this.#node = rival.node
    this.#chunks = []
    this.#bytes = 0
    rival.passTo(this)
  }

  #onRivalLost(): void {
    this.#takeRival()
    if (this.#held !== undefined) this.onFault(this.#held)
  }

  #dropRival(): void {
    this.#takeRival()?.cancel?.()
  }

  /** Nobody else waits for it any more. */
  #takeRival(): Rival | undefined {
    const rival = this.#rival
    if (rival !== undefined) this.#options.group.hedgeEnded()
    this.#rival = undefined
    return rival
  }

  #endAll(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#untaken)
    this.#cancel?.()
    this.#dropRival()
    this.#options.bill?.answered(CLIENT_LEFT, this.#sentBytes)
  }

  /** False where nobody is left to ask. */
  #send(): boolean {
    const { group, key, node, isArchival, headProbe, request, refuse } = this.#options
    const isOfHead = headProbe !== undefined
    const upstream = group.choose({ tried: this.#tried, key, id: node, isArchival, isOfHead })
    if (upstream === undefined) {
      if (this.#tried.length === 0) refuse({ kind: 'none-healthy' })
      return false
    }
    this.#tried.push(upstream.id)
    this.#node = upstream.id
    this.#chunks = []
    this.#bytes = 0
    this.#cancel = upstream.send(request, this)
    return true
  }

  #stream(): void {
    const { answers = [], expected } = this.#options
    const begun = Buffer.concat(this.#chunks, this.#bytes)
    if (!mayBegin(begun, { status: this.#status, headers: this.#headers }, expected)) {
      this.#cancel?.()
      this.onFault('lost')
      return
    }
    this.#isStreaming = true
    this.#dropRival()
    this.#writeHead(undefined)
    this.#write(answers.length === 0 ? begun : ownFirst(begun, answers))
    this.#chunks = []
  }

  /** Ends it at the node, and refuses it if it is not being answered. */
  giveUp(refusal: Refusal): void {
    clearTimeout(this.#timer)
    this.#cancel?.()
    this.#cancel = undefined
    this.#dropRival()
    this.#options.refuse(refusal, this.#sentBytes)
    if (this.#isStreaming) this.#options.response.destroy()
  }

  #write(chunk: Buffer): void {
    const { response, request, bill, untakenMsMax = UNTAKEN_MS_MAX } = this.#options
    this.#sentBytes += chunk.length
    if (request.isEndless) bill?.streamed(this.#status, chunk.length)
    if (response.write(chunk) || this.#isDraining) return
    this.#isDraining = true
    this.#flow?.pause()
    // Its connection's end ends the exchange.
    this.#untaken = setTimeout(() => response.destroy(), untakenMsMax)
    response.once('drain', () => {
      clearTimeout(this.#untaken)
      this.#isDraining = false
      this.#flow?.resume()
    })
  }

  /** `length` is that of a whole answer, as it is sent. */
  #writeHead(length: number | undefined): void {
    const { response, isNamed, ownHeaders, request, expected, answers = [] } = this.#options
    const hasBody = request.verb !== 'HEAD' && this.#status !== 204 && this.#status !== 304
    const isOurs = hasBody && (length !== undefined || answers.length > 0)
    const headers = toClientHeaders(this.#headers, expected.isJson, isOurs)
    headers.push(...ownHeaders)
    const { location } = this.#headers
    if (location !== undefined && isRedirect(this.#status)) headers.push('location', location)
    if (isNamed) headers.push(NODE_HEADER, this.#node)
    if (isOurs && length !== undefined) headers.push('content-length', String(length))
    response.writeHead(this.#status, headers)
  }
}
