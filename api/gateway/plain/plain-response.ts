import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Socket } from 'node:net'
import { KEEP_ALIVE_TIMEOUT_MS } from '../../http/limits.ts'
import type { ClientResponse } from '../client-exchange.ts'

const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_TIMEOUT_MS / 1_000}\r\n`
const CLOSED = 'Connection: close\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const CRLF = '\r\n'
const LAST_CHUNK = '0\r\n\r\n'

/** Who says when a write is done. */
export interface Writes {
  write(write: () => void): void
}

/** The answer to a `PlainRequest`, with the same bytes as Node's own response has. */
export class PlainResponse implements ClientResponse {
  headersSent = false
  shouldKeepAlive = true
  /** Its client has gone, or was cut off. */
  destroyed = false
  readonly #socket: Socket
  readonly #onOut: () => void
  readonly #writes: Writes
  /** Until it is out with what follows it. */
  #head = ''
  #isChunked = false
  readonly #own: string[] = []
  readonly #onClose: (() => void)[] = []

  /** `onOut` is called when all of it is with the system; `writes` has the last write of those that are short. */
  constructor(socket: Socket, writes: Writes, onOut: () => void) {
    this.#socket = socket
    this.#writes = writes
    this.#onOut = onOut
  }

  /** `close`: it is out, or its connection is lost. */
  once(event: 'close' | 'drain', listener: () => void): this {
    if (event === 'close') this.#onClose.push(listener)
    else this.#socket.once('drain', listener)
    return this
  }

  /** A header besides those of `writeHead`. */
  setHeader(name: string, value: string): this {
    this.#own.push(name, value)
    return this
  }

  writeHead(status: number, headers: readonly string[]): this {
    let hasLength = false
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${linesOf(this.#own)}`
    for (let i = 0; i < headers.length; i += 2) if (headers[i] === 'content-length') hasLength = true
    head += linesOf(headers)
    this.#isChunked = !hasLength && status !== 204 && status !== 304
    this.#head = `${head}Date: ${dateNow()}\r\n${this.shouldKeepAlive ? KEPT : CLOSED}${this.#isChunked ? CHUNKED : ''}\r\n`
    this.headersSent = true
    return this
  }

  write(chunk: Buffer): boolean {
    const before = this.#takeHead() + (this.#isChunked && chunk.length > 0 ? chunk.length.toString(16) + CRLF : '')
    const isFramed = this.#isChunked && chunk.length > 0
    this.#socket.cork()
    if (before !== '') this.#socket.write(before, 'latin1')
    let takesMore = chunk.length === 0 || this.#socket.write(chunk)
    if (isFramed) takesMore = this.#socket.write(CRLF, 'latin1')
    this.#socket.uncork()
    return takesMore
  }

  end(chunk?: Buffer | string, encoding: BufferEncoding = 'utf8'): this {
    if (typeof chunk === 'string' && encoding === 'latin1' && !this.#isChunked) {
      const text = this.#takeHead() + chunk
      this.#writes.write(() => this.#socket.write(text, encoding, this.#onOut))
      return this
    }
    this.#socket.cork()
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    this.#socket.write(this.#takeHead() + (this.#isChunked ? LAST_CHUNK : ''), 'latin1', this.#onOut)
    this.#socket.uncork()
    return this
  }

  destroy(): this {
    this.destroyed = true
    this.#socket.destroy()
    return this
  }

  /** To be called once: nothing follows. */
  close(): void {
    for (const listener of this.#onClose.splice(0)) listener()
  }

  #takeHead(): string {
    const head = this.#head
    this.#head = ''
    return head
  }
}

function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i] as string, headers[i + 1] as string]
    validateHeaderName(name)
    validateHeaderValue(name, value)
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

let dateSec = 0
let date = ''

/** Made anew once a second. */
function dateNow(): string {
  const nowSec = Math.floor(Date.now() / 1_000)
  if (nowSec !== dateSec) {
    dateSec = nowSec
    date = new Date(nowSec * 1_000).toUTCString()
  }
  return date
}
