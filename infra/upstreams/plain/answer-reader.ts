import type { IncomingHttpHeaders } from 'node:http'
import { LastHead } from '../../../schemas/last-head.ts'
import { trimBlanks } from '../../../schemas/trim-blanks.ts'

/** Hears an answer as it is read. */
export interface AnswerEvents {
  onHead(status: number, headers: IncomingHttpHeaders): void
  onData(chunk: Buffer): void
  /** Nothing follows. */
  onEnd(): void
}

/** Of a head, and of the trailers of one answer. */
export const HEAD_BYTES_MAX = 16 * 1024
/** Of a line that tells a chunk's size: some append extensions, which mean nothing here. */
export const SIZE_LINE_BYTES_MAX = 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
/** RFC 9112, sections 4 and 5, without what parsers differ in: other ends of lines, folded lines, blanks before colons, control characters. */
const HEAD =
  /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t -~\x80-\xff]*)?\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*\r\n)*)$/
/** Blanks that some parsers take for a part of what says where the answer ends: all but spaces before it. */
const ODD_FRAMING = /^(?:content-length|transfer-encoding):(?! *[!-~]+$)/im
/** What says how the answer, or its connection, ends, cannot stand behind it. */
const TRAILER =
  /^(?!(?:content-length|transfer-encoding|connection|proxy-connection|upgrade):)[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*$/i
const LENGTH = /^[0-9]{1,15}$/
const SIZE = /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=[!#$%&'*+\-.^_`|~0-9A-Za-z]+)?)*$/
const SWITCHING_PROTOCOLS = 101

export interface AnswerHead {
  readonly minor: string
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

type Place = 'head' | 'length' | 'size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-end' | 'over'

/**
 * Reads one answer of HTTP/1.1 from the bytes of a connection (RFC 9112). Strict: where two parsers might disagree on where it ends, it is no
 * answer.
 */
export class AnswerReader {
  readonly #hasNoBody: boolean
  readonly #events: AnswerEvents
  readonly #last: LastHead<AnswerHead>
  #place: Place = 'head'
  /** Of a head or a line that has not come whole. */
  #pending: Buffer | undefined
  /** Of the body, or of a chunk. */
  #left = 0
  #trailerBytes = 0
  /** Whether another answer may follow on the connection. Known once this one is over. */
  isReusable = true
  /** How long the node keeps a connection that is not used; undefined: it has not said. */
  keptSec: number | undefined

  /** `hasNoBody`: whatever its head says, as that of HEAD. `last` is of the node, whatever it is asked: most of its heads are as the one before, until its clock tells another second. */
  constructor(hasNoBody: boolean, events: AnswerEvents, last = new LastHead<AnswerHead>()) {
    this.#hasNoBody = hasNoBody
    this.#events = events
    this.#last = last
  }

  get isOver(): boolean {
    return this.#place === 'over'
  }

  /** Nothing more is wanted: no event follows. */
  stop(): void {
    this.#place = 'over'
    this.isReusable = false
  }

  /** Returns why it is no answer; undefined where nothing is wrong so far. */
  read(bytes: Buffer): string | undefined {
    let rest: Buffer | undefined = bytes
    while (rest !== undefined && rest.length > 0) {
      if (this.#place === 'over') {
        this.isReusable = false // nobody has asked for that
        return undefined
      }
      const next: Buffer | string | undefined = this.#step(rest)
      if (typeof next === 'string') {
        this.stop()
        return next
      }
      rest = next
    }
    return undefined
  }

  /** The connection has ended. Returns why that is no end of an answer. */
  end(): string | undefined {
    if (this.#place !== 'until-end') return this.#place === 'over' ? undefined : 'the connection ended amid an answer'
    this.#finish(0)
    return undefined
  }

  /** Returns the bytes behind what it has read, undefined where more have to come, or what is wrong. */
  #step(bytes: Buffer): Buffer | string | undefined {
    switch (this.#place) {
      case 'head':
        return this.#readHead(bytes)
      case 'length':
      case 'chunk':
        return this.#readBody(bytes)
      case 'until-end':
        this.#events.onData(bytes)
        return undefined
      default:
        return this.#readLine(bytes)
    }
  }

  #readHead(bytes: Buffer): Buffer | string | undefined {
    const known = this.#join(bytes)
    const like = this.#last.of(known)
    if (like !== undefined) return this.#begin(like.read, known.subarray(like.bytes))
    const end = known.indexOf(HEAD_END)
    if (end > HEAD_BYTES_MAX || (end === -1 && known.length > HEAD_BYTES_MAX)) return 'the head is too long'
    if (end === -1) return this.#wait(known)
    const bodyFrom = end + HEAD_END.length
    const [, minor, status, lines] = HEAD.exec(known.toString('latin1', 0, end + LINE_END.length)) ?? []
    if (minor === undefined || lines === undefined) return 'the head is no head of HTTP/1.1'
    if (ODD_FRAMING.test(lines)) return 'a blank is in what says where it ends'
    const head = { minor, status: Number(status), headers: readHeaders(lines) }
    this.#last.keep(known.subarray(0, bodyFrom), head)
    return this.#begin(head, known.subarray(bodyFrom))
  }

  #begin({ minor, status, headers }: AnswerHead, rest: Buffer): Buffer | string | undefined {
    if (status === SWITCHING_PROTOCOLS) return 'nobody has asked for another protocol'
    // What is told before the answer says nothing of it.
    if (status < 200) return rest
    const { 'transfer-encoding': encoding, 'content-length': length, connection, 'keep-alive': kept } = headers
    if (encoding !== undefined && length !== undefined) return 'it has a length and comes in chunks'
    if (encoding !== undefined && (minor === '0' || String(encoding).toLowerCase() !== 'chunked'))
      return 'nobody knows such a transfer encoding'
    if (length !== undefined && (typeof length !== 'string' || !LENGTH.test(length))) return 'its length is none'
    this.isReusable = minor === '1' && !/(?:^|[,\t ])close(?:$|[,\t ])/i.test(String(connection ?? ''))
    const keptSec = /timeout=([0-9]{1,9})/i.exec(String(kept ?? ''))?.[1]
    if (keptSec !== undefined) this.keptSec = Number(keptSec)
    if (this.#hasNoBody || status === 204 || status === 304) this.#place = 'over'
    else if (encoding !== undefined) this.#place = 'size'
    else if (length !== undefined) {
      this.#left = Number(length)
      this.#place = this.#left === 0 ? 'over' : 'length'
    } else this.#place = 'until-end'
    const isWhole = this.#place === 'over'
    if (isWhole) this.#place = 'length' // until it is told
    this.#events.onHead(status, headers)
    // Who has heard the head may have stopped it.
    if (isWhole && this.#place === 'length') this.#finish(rest.length)
    return rest
  }

  #readBody(bytes: Buffer): Buffer | undefined {
    const taken = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
    const isLast = taken.length === this.#left
    const { length } = bytes
    this.#left -= taken.length
    this.#events.onData(taken)
    if (isLast && this.#place === 'chunk') this.#place = 'chunk-end'
    else if (isLast && this.#place === 'length') this.#finish(length - taken.length)
    return taken.length === length ? undefined : bytes.subarray(taken.length)
  }

  #readLine(bytes: Buffer): Buffer | string | undefined {
    const known = this.#join(bytes)
    const end = known.indexOf(LINE_END)
    const bytesMax = this.#place === 'trailer' ? HEAD_BYTES_MAX : SIZE_LINE_BYTES_MAX
    if (end > bytesMax || (end === -1 && known.length > bytesMax)) return 'a line of its chunks is too long'
    if (end === -1) return this.#wait(known)
    const rest = known.subarray(end + LINE_END.length)
    return this.#takeLine(known.toString('latin1', 0, end), rest.length) ?? rest
  }

  /** Returns what is wrong with it. `behind` bytes are known to follow it. */
  #takeLine(line: string, behind: number): string | undefined {
    if (this.#place === 'chunk-end') {
      if (line !== '') return 'a chunk is longer than it says'
      this.#place = 'size'
    } else if (this.#place === 'size') {
      const size = SIZE.exec(line)?.[1]
      if (size === undefined) return 'a chunk does not say its size'
      this.#left = Number.parseInt(size, 16)
      this.#place = this.#left === 0 ? 'trailer' : 'chunk'
    } else if (line === '') this.#finish(behind)
    else {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > HEAD_BYTES_MAX) return 'its trailers are too long'
      if (!TRAILER.test(line)) return 'a trailer is none'
    }
    return undefined
  }

  #finish(behind: number): void {
    if (behind > 0 || this.#place === 'until-end') this.isReusable = false
    this.#place = 'over'
    this.#events.onEnd()
  }

  #join(bytes: Buffer): Buffer {
    const known = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = undefined
    return known
  }

  #wait(known: Buffer): undefined {
    this.#pending = known
  }
}

/** Of lines that have the form of headers. One that is there several times has all its values. */
function readHeaders(lines: string): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  let at = 0
  while (at < lines.length) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf('\r\n', colon)
    const name = lines.slice(at, colon).toLowerCase()
    const value = trimBlanks(lines, colon + 1, end)
    const known = headers[name]
    if (known === undefined) headers[name] = value
    else headers[name] = typeof known === 'string' ? [known, value] : [...known, value]
    at = end + 2
  }
  return headers as IncomingHttpHeaders
}
