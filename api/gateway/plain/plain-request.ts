import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { LastHead } from '../../../schemas/last-head.ts'
import { trimBlanks } from '../../../schemas/trim-blanks.ts'
import type { AskedTarget } from '../asked-target.ts'

/** What stands before a request's body. */
interface PlainHead {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly bodyBytes: number
}

/** A request that has come whole, in one piece, and that all parsers read alike. Its members are those of Node's own request. */
export class PlainRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly socket: Socket
  readonly httpVersion = '1.1'
  readonly complete = true
  /** Of requests with the same head. */
  readonly kept: KeptHead

  constructor(kept: KeptHead, body: Buffer, socket: Socket) {
    const { method, url, headers } = kept.head
    this.method = method
    this.url = url
    this.headers = headers
    this.body = body
    this.socket = socket
    this.kept = kept
  }
}

/** A head, and what is known of it. */
interface KeptHead {
  readonly head: PlainHead
  /** What its target asks for, once somebody has looked. */
  target: AskedTarget | undefined
}

/** Longer heads are seldom, and their limit is Node's to tell. */
const HEAD_BYTES_MAX = 8 * 1024
/** As much as one read of a socket brings. */
const PLAIN_BYTES_MAX = 64 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
/** RFC 9112, without all that parsers differ in: other ends of lines, folded lines, blanks before colons, tabs, characters beyond ASCII. */
const HEAD = /^(GET|POST) (\/[!-~]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[ -~]*\r\n)+)$/
const LENGTH = /^(?:0|[1-9][0-9]{0,5})$/
/** What is said of the connection, or of how the body comes, is for a parser that knows all of it. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['transfer-encoding', 'expect', 'upgrade', 'proxy-connection', 'trailer', 'te', 'http2-settings'],
])

/** Reads the requests of one connection. Programs that ask over and over send one head over and over: it is read once. */
export class PlainRequestReader {
  readonly #socket: Socket
  readonly #last = new LastHead<KeptHead>()

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /**
   * The request whose bytes these are, and nothing before or after it; undefined: they are something else, or not all of it, and nothing
   * has been decided about them. What is read here Node's parser reads likewise (RFC 9112, sections 3, 5 and 6.3).
   */
  read(bytes: Buffer): PlainRequest | undefined {
    if (bytes.length > PLAIN_BYTES_MAX) return undefined
    const known = this.#last.of(bytes)
    if (known !== undefined && bytes.length === known.bytes + known.read.head.bodyBytes)
      return new PlainRequest(known.read, bytes.subarray(known.bytes), this.#socket)
    const end = bytes.indexOf(HEAD_END)
    if (end === -1 || end > HEAD_BYTES_MAX) return undefined
    const bodyFrom = end + HEAD_END.length
    const head = readHead(bytes.toString('latin1', 0, end + 2), bytes.length - bodyFrom)
    if (head === undefined) return undefined
    const kept = { head, target: undefined }
    this.#last.keep(bytes.subarray(0, bodyFrom), kept)
    return new PlainRequest(kept, bytes.subarray(bodyFrom), this.#socket)
  }
}

/** `text` ends with its last line; so many bytes have come behind it. */
function readHead(text: string, bodyBytes: number): PlainHead | undefined {
  const [, method, url, lines] = HEAD.exec(text) ?? []
  if (url === undefined || lines === undefined) return undefined
  const headers = readHeaders(lines)
  if (headers?.host === undefined) return undefined
  const { connection, 'content-length': length } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  if (method === 'GET') {
    if (length !== undefined || bodyBytes > 0) return undefined
  } else if (length === undefined || !LENGTH.test(length) || Number(length) !== bodyBytes) return undefined
  return { method: method as 'GET' | 'POST', url, headers, bodyBytes }
}

/** Of lines that have the form of headers. Undefined: one of them is there twice, or makes the request a special one. */
function readHeaders(lines: string): IncomingHttpHeaders | undefined {
  const headers: Record<string, string> = {}
  let at = 0
  while (at < lines.length) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf('\r\n', colon)
    const name = lines.slice(at, colon).toLowerCase()
    // Likewise of a name that every object has.
    if (name in headers || NOT_PLAIN.has(name)) return undefined
    headers[name] = trimBlanks(lines, colon + 1, end)
    at = end + 2
  }
  return headers
}
