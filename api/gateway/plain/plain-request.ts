import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { trimBlanks } from '../../../schemas/trim-blanks.ts'

/** A request that has come whole, in one piece, and that all parsers read alike. Its members are those of Node's own request. */
export class PlainRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly socket: Socket
  readonly httpVersion = '1.1'
  readonly complete = true

  constructor(
    { method, url, headers, body }: Pick<PlainRequest, 'method' | 'url' | 'headers' | 'body'>,
    socket: Socket,
  ) {
    this.method = method
    this.url = url
    this.headers = headers
    this.body = body
    this.socket = socket
  }
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

/**
 * The request whose bytes these are, and nothing before or after it; undefined: they are something else, or not all of it, and nothing
 * has been decided about them. What is read here Node's parser reads likewise (RFC 9112, sections 3, 5 and 6.3).
 */
export function readPlainRequest(bytes: Buffer, socket: Socket): PlainRequest | undefined {
  if (bytes.length > PLAIN_BYTES_MAX) return undefined
  const end = bytes.indexOf(HEAD_END)
  if (end === -1 || end > HEAD_BYTES_MAX) return undefined
  const bodyFrom = end + HEAD_END.length
  const [, method, url, lines] = HEAD.exec(bytes.toString('latin1', 0, end + 2)) ?? []
  if (url === undefined || lines === undefined) return undefined
  const headers = readHeaders(lines)
  if (headers?.host === undefined) return undefined
  const { connection, 'content-length': length } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  const bodyBytes = bytes.length - bodyFrom
  if (method === 'GET') {
    if (length !== undefined || bodyBytes > 0) return undefined
  } else if (length === undefined || !LENGTH.test(length) || Number(length) !== bodyBytes) return undefined
  return new PlainRequest({ method: method as 'GET' | 'POST', url, headers, body: bytes.subarray(bodyFrom) }, socket)
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
