import type { IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Dispatcher, errors } from 'undici'
import { LastHead } from '../../../schemas/last-head.ts'
import type { UpstreamRequest } from '../../ports/upstreams.ts'
import { type AnswerHead, AnswerReader } from './answer-reader.ts'

export interface PlainPoolOptions {
  /** `http:`, with nothing but a host and a port. */
  readonly origin: URL
  /** In each request, names and values in turn. */
  readonly headers: readonly string[]
  readonly connectionsMax: number
  readonly connectTimeoutMs: number
  /** Until a connection is free. */
  readonly queueTimeoutMs: number
  readonly headersTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly keepAliveMs: number
}

/** A request whose bytes are known. */
export interface PlainUpstreamRequest extends UpstreamRequest {
  readonly body: Uint8Array | null
}

type Handler = Dispatcher.DispatchHandler

const LOOK_MS = 1_000
/** What all connections read into, one at a time: a buffer for each read would be garbage outside of the heap. */
const READ = Buffer.allocUnsafeSlow(64 * 1024)
/** Of few requests none waits for others. */
const WRITTEN_AT_ONCE_MAX = 4
/** To open a connection takes as long as ten answers: further requests wait for the next time, or for a connection that is free sooner. */
const OPENED_AT_ONCE_MAX = 4
const OPENED_AGAIN_MS = 1
/** Longer bodies are not copied. */
const ONE_PIECE_BYTES_MAX = 8 * 1024
/** Of what nodes say that they keep a connection for: theirs began earlier. */
const KEPT_LESS_MS = 1_000
const PATH = /^\/[!-~]*$/
const TEXT = /^[\t -~]*$/
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** These are ours to say, or say more of a connection than is known here. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'upgrade', 'keep-alive', 'te', 'trailer'],
])

/** Whether a pool may be opened: no TLS, and headers that say nothing of connections. */
export function isPlainUpstream(origin: URL, headers: readonly string[]): boolean {
  return origin.protocol === 'http:' && headers.every((text, i) => (i % 2 === 0 ? isPlainName(text) : TEXT.test(text)))
}

function isPlainName(name: string): boolean {
  const lower = name.toLowerCase()
  return NAME.test(lower) && !NOT_PLAIN.has(lower)
}

/** Whether it can be sent by a pool, to this path. */
export function isPlainUpstreamRequest(request: UpstreamRequest, path: string): request is PlainUpstreamRequest {
  const { body, headers, isEndless, verb } = request
  if (isEndless || !PATH.test(path)) return false
  if (verb === 'POST' ? !(body instanceof Uint8Array) : body !== null) return false
  for (let i = 1; i < headers.length; i += 2) if (!TEXT.test(headers[i] as string)) return false
  return true
}

/**
 * Kept connections of HTTP/1.1 without TLS to one upstream, one request at a time over each. Handlers hear what undici's dispatchers tell
 * them, with the same errors.
 */
export class PlainPool {
  readonly #options: PlainPoolOptions
  readonly #fixed: string
  readonly #last = new LastHead<AnswerHead>()
  readonly #all = new Set<Connection>()
  readonly #idle: Connection[] = []
  /** Whose answer has just ended: a node that closes its connection without having said so has a turn of the loop for it. */
  readonly #resting: Connection[] = []
  readonly #waiting: Sending[] = []
  /** Those of one turn of the loop are written together: a node that is woken by each of them takes us more time than all else. */
  readonly #toWrite: Connection[] = []
  #openedAtOnce = 0
  #looking: NodeJS.Timeout | undefined
  #isClosed = false
  readonly #ended = Promise.withResolvers<void>()

  constructor(options: PlainPoolOptions) {
    this.#options = options
    const { headers, origin } = options
    let fixed = ` HTTP/1.1\r\nhost: ${origin.host}\r\nconnection: keep-alive\r\n`
    for (let i = 0; i < headers.length; i += 2) fixed += `${headers[i]}: ${headers[i + 1]}\r\n`
    this.#fixed = fixed
  }

  /** `path` is the request's at this upstream. */
  dispatch(request: PlainUpstreamRequest, path: string, handler: Handler): void {
    const sending = new Sending(this.#headOf(request, path), request, handler)
    handler.onRequestStart?.(sending, undefined)
    if (sending.isOver) return
    if (this.#isClosed) sending.fail(new errors.ClientClosedError())
    else this.#send(sending)
  }

  /** Accepts nothing new, and ends when what runs has ended. */
  close(): Promise<void> {
    this.#isClosed = true
    for (const connection of [...this.#idle.splice(0), ...this.#resting.splice(0)]) connection.destroy()
    if (this.#all.size === 0) this.#ended.resolve()
    return this.#ended.promise
  }

  /** Ends at once what runs. */
  destroy(): Promise<void> {
    const ended = this.close()
    const error = new errors.ClientDestroyedError()
    for (const sending of this.#waiting.splice(0)) sending.fail(error)
    for (const connection of this.#all) connection.destroy(error)
    return ended
  }

  #send(sending: Sending): void {
    const connection = this.#idle.pop() ?? this.#openInTime()
    if (connection === undefined) this.#waiting.push(sending)
    else this.#write(connection, sending)
  }

  #write(connection: Connection, sending: Sending): void {
    connection.begin(sending)
    const underWay = this.#all.size - this.#idle.length - this.#resting.length
    if (underWay <= WRITTEN_AT_ONCE_MAX) connection.write()
    else if (this.#toWrite.push(connection) === 1) setImmediate(() => this.#writeAll())
  }

  #writeAll(): void {
    for (const connection of this.#toWrite.splice(0)) connection.write()
  }

  #headOf({ verb, headers, body }: PlainUpstreamRequest, path: string): string {
    let head = `${verb} ${path}${this.#fixed}`
    for (let i = 0; i < headers.length; i += 2)
      if (headers[i] !== 'content-length') head += `${headers[i]}: ${headers[i + 1]}\r\n`
    return body === null ? `${head}\r\n` : `${head}content-length: ${body.length}\r\n\r\n`
  }

  #openInTime(): Connection | undefined {
    if (this.#openedAtOnce >= OPENED_AT_ONCE_MAX) return undefined
    const connection = this.#open()
    if (connection !== undefined && this.#openedAtOnce++ === 0) setTimeout(() => this.#openFurther(), OPENED_AGAIN_MS)
    return connection
  }

  #openFurther(): void {
    this.#openedAtOnce = 0
    while (this.#openedAtOnce < OPENED_AT_ONCE_MAX && this.#all.size < this.#options.connectionsMax) {
      const next = this.#nextWaiting()
      if (next === undefined) return
      this.#send(next)
    }
  }

  #open(): Connection | undefined {
    if (this.#all.size >= this.#options.connectionsMax) return undefined
    const connection = new Connection(this.#options, this.#last, {
      onFree: () => {
        if (this.#resting.push(connection) === 1) setImmediate(() => this.#endRest())
      },
      onGone: () => this.#onGone(connection),
    })
    this.#all.add(connection)
    this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
    return connection
  }

  #look(): void {
    for (const one of this.#all) one.look()
    const late: Sending[] = []
    for (const sending of this.#waiting.splice(0)) {
      if (sending.isOver) continue
      if (sending.waitedMs >= this.#options.queueTimeoutMs) late.push(sending)
      else this.#waiting.push(sending)
      sending.waitedMs += LOOK_MS
    }
    // No node has seen it, as where none is reached.
    for (const sending of late) sending.fail(new errors.ConnectTimeoutError('no connection was free'))
  }

  #endRest(): void {
    for (const connection of this.#resting.splice(0)) {
      if (connection.isGone) continue
      const next = this.#nextWaiting()
      if (next !== undefined) this.#write(connection, next)
      else if (this.#isClosed) connection.destroy()
      else this.#idle.push(connection)
    }
  }

  #nextWaiting(): Sending | undefined {
    let next = this.#waiting.shift()
    while (next?.isOver === true) next = this.#waiting.shift()
    return next
  }

  #onGone(connection: Connection): void {
    this.#all.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
    const next = this.#nextWaiting()
    if (next !== undefined) this.#send(next)
    if (this.#all.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
    if (this.#isClosed) this.#ended.resolve()
  }
}

/** One request, from when it is asked for to its end. */
class Sending implements Dispatcher.DispatchController {
  readonly head: string
  readonly body: Uint8Array | null
  readonly isHead: boolean
  readonly handler: Handler
  isOver = false
  paused = false
  aborted = false
  reason: Error | null = null
  /** For a connection, in steps of `LOOK_MS`. */
  waitedMs = 0
  /** Undefined: it waits for one. */
  connection: Connection | undefined

  constructor(head: string, { verb, body }: PlainUpstreamRequest, handler: Handler) {
    this.head = head
    this.body = body
    this.isHead = verb === 'HEAD'
    this.handler = handler
  }

  /** The handler hears nothing after that. */
  abort(reason: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.aborted = true
    this.reason = reason
    this.connection?.destroy()
  }

  pause(): void {
    this.paused = true
    if (!this.isOver) this.connection?.socket.pause()
  }

  resume(): void {
    this.paused = false
    if (!this.isOver) this.connection?.socket.resume()
  }

  fail(error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.handler.onResponseError?.(this, error)
  }
}

interface ConnectionEvents {
  onFree(): void
  onGone(): void
}

class Connection {
  readonly socket: Socket
  readonly #options: PlainPoolOptions
  readonly #last: LastHead<AnswerHead>
  readonly #events: ConnectionEvents
  readonly #connecting: NodeJS.Timeout
  #sending: Sending | undefined
  #reader: AnswerReader | undefined
  /** Of what is waited for, or of the time that it is kept. */
  #leftMs = 0
  #keptMs: number
  #hasHead = false
  isGone = false

  constructor(options: PlainPoolOptions, last: LastHead<AnswerHead>, events: ConnectionEvents) {
    const { origin, connectTimeoutMs } = options
    this.#options = options
    this.#last = last
    this.#events = events
    this.#keptMs = options.keepAliveMs
    // An address of IPv6 has brackets in a URL.
    const host = origin.hostname.replace(/^\[|\]$/g, '')
    const onread = {
      buffer: READ,
      callback: (length: number): boolean => {
        this.#onData(Buffer.from(READ.subarray(0, length)))
        return true
      },
    }
    this.socket = connect({ host, port: Number(origin.port || 80), noDelay: true, onread })
    this.#connecting = setTimeout(() => this.destroy(new errors.ConnectTimeoutError()), connectTimeoutMs)
    this.socket.on('connect', () => clearTimeout(this.#connecting))
    this.socket.on('end', () => this.#onEnd())
    this.socket.on('error', (error) => this.destroy(error))
    this.socket.on('close', () => this.destroy())
  }

  /** `write` follows. */
  begin(sending: Sending): void {
    this.#sending = sending
    sending.connection = this
    this.#reader = new AnswerReader(sending.isHead, this, this.#last)
    this.#hasHead = false
    this.#leftMs = this.#options.headersTimeoutMs
  }

  write(): void {
    // It may have been given up before.
    if (this.#sending === undefined) return
    const { head, body } = this.#sending
    if (body === null) this.socket.write(head, 'latin1')
    else if (body.length <= ONE_PIECE_BYTES_MAX) {
      // As one text, which the engine writes as one piece; in Latin-1 each byte is a character.
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
      this.socket.write(head + bytes.toString('latin1'), 'latin1')
    } else {
      this.socket.cork()
      this.socket.write(head, 'latin1')
      this.socket.write(body)
      this.socket.uncork()
    }
  }

  /** To be called every `LOOK_MS`. */
  look(): void {
    const sending = this.#sending
    // Who holds the answer back is not waited for, and its node has its whole time afterwards.
    if (sending?.paused === true) this.#leftMs = this.#options.bodyTimeoutMs
    if (sending?.paused === true || (sending !== undefined && this.socket.connecting)) return
    this.#leftMs -= LOOK_MS
    // One that is kept is closed before its node may do it; whoever is waited for has his whole time.
    if (sending === undefined ? this.#leftMs > 0 : this.#leftMs >= 0) return
    if (sending === undefined) this.destroy()
    else this.destroy(this.#hasHead ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError())
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.#hasHead = true
    this.#leftMs = this.#options.bodyTimeoutMs
    const sending = this.#sending as Sending
    sending.handler.onResponseStart?.(sending, status, headers)
  }

  onData(chunk: Buffer): void {
    this.#leftMs = this.#options.bodyTimeoutMs
    const sending = this.#sending as Sending
    sending.handler.onResponseData?.(sending, chunk)
  }

  onEnd(): void {
    const sending = this.#sending as Sending
    const { isReusable = false, keptSec } = this.#reader ?? {}
    this.#sending = undefined
    sending.isOver = true
    if (keptSec !== undefined) this.#keptMs = Math.min(this.#options.keepAliveMs, keptSec * 1_000 - KEPT_LESS_MS)
    // What the node has not taken of the request would be the next one's beginning.
    if (!isReusable || this.#keptMs <= 0 || this.socket.writableLength > 0) this.destroy()
    else {
      this.#leftMs = this.#keptMs
      if (sending.paused) this.socket.resume()
      this.#events.onFree()
    }
    sending.handler.onResponseEnd?.(sending, {})
  }

  /** Ends it, and what is asked over it. */
  destroy(error?: Error): void {
    if (this.isGone) return
    this.isGone = true
    clearTimeout(this.#connecting)
    this.#reader?.stop()
    this.socket.destroy()
    const sending = this.#sending
    this.#sending = undefined
    sending?.fail(error ?? new errors.SocketError('the node has closed the connection'))
    this.#events.onGone()
  }

  #onData(bytes: Buffer): void {
    // Nobody has asked for anything.
    if (this.#sending === undefined || this.#reader === undefined) {
      this.destroy()
      return
    }
    const fault = this.#reader.read(bytes)
    if (fault !== undefined) this.destroy(new errors.HTTPParserError(fault))
  }

  #onEnd(): void {
    const fault = this.#reader?.end()
    this.destroy(fault === undefined ? undefined : new errors.SocketError(fault))
  }
}
