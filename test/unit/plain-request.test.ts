import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PlainRequestReader } from '../../api/gateway/plain/plain-request.ts'
import { tries } from '../long-form.ts'
import { nearlyGood, ODD_BYTES } from './nearly-good.ts'

const SOCKET = new Socket()
const read = (text: string) => new PlainRequestReader(SOCKET).read(Buffer.from(text, 'latin1'))
const post = (lines: readonly string[], body = '{}', first = 'POST /a HTTP/1.1'): string =>
  [first, ...lines, '', body].join('\r\n')

test('a request that is whole and has nothing odd is read', () => {
  const request = read(
    post(['Host: a:1', 'X-Empty:', 'Accept:  a, b  ', 'Content-Length: 2', 'Connection: Keep-Alive']),
  )
  expect(request).toMatchObject({ method: 'POST', url: '/a', httpVersion: '1.1', complete: true, socket: SOCKET })
  expect(request?.headers).toEqual({
    ...{ host: 'a:1', 'x-empty': '', accept: 'a, b', 'content-length': '2', connection: 'Keep-Alive' },
  })
  expect(request?.body.toString()).toBe('{}')
})

describe('is left to Node', () => {
  const HOST = 'Host: a'
  const LENGTH = 'Content-Length: 2'
  test.each<[string, string]>([
    ['a head that is not whole', 'POST /a HTTP/1.1\r\nHost: a\r\n'],
    ['a body that is not whole', post([HOST, 'Content-Length: 3'])],
    ['what has something behind it', post([HOST, 'Content-Length: 1'])],
    ['a body without a length', post([HOST])],
    ['a body of a GET', post([HOST, LENGTH], '{}', 'GET /a HTTP/1.1')],
    ['a length of a GET', post([HOST, 'Content-Length: 0'], '', 'GET /a HTTP/1.1')],
    ['a length and pieces', post([HOST, LENGTH, 'Transfer-Encoding: chunked'])],
    ['pieces', post([HOST, 'Transfer-Encoding: chunked'], '0\r\n\r\n')],
    ['two lengths', post([HOST, LENGTH, LENGTH])],
    ['a list of lengths', post([HOST, 'Content-Length: 2, 2'])],
    ['a length with a sign', post([HOST, 'Content-Length: +2'])],
    ['a length with zeros', post([HOST, 'Content-Length: 02'])],
    ['a hexadecimal length', post([HOST, 'Content-Length: 0x2'])],
    ['a length behind a blank', post([HOST, 'Content-Length : 2'])],
    ['two hosts', post([HOST, HOST, LENGTH])],
    ['no host', post([LENGTH])],
    ['a folded line', post([HOST, LENGTH, 'X: a', ' b'])],
    ['a line that ends with LF', `POST /a HTTP/1.1\r\nHost: a\nContent-Length: 2\r\n\r\n{}`],
    ['a CR in a value', post([HOST, LENGTH, 'X: a\rb'])],
    ['a NUL in a value', post([HOST, LENGTH, 'X: a\0b'])],
    ['a value beyond ASCII', post([HOST, LENGTH, 'X: \xe9'])],
    ['a name with a blank', post([HOST, LENGTH, 'X Y: a'])],
    ['a line without a name', post([HOST, LENGTH, ': a'])],
    ['a line without a colon', post([HOST, LENGTH, 'a'])],
    ['a name that objects have', post([HOST, LENGTH, '__proto__: a'])],
    ['another verb', post([HOST, LENGTH], '{}', 'PUT /a HTTP/1.1')],
    ['HTTP/1.0', post([HOST, LENGTH], '{}', 'POST /a HTTP/1.0')],
    ['a whole address', post([HOST, LENGTH], '{}', 'POST http://a/ HTTP/1.1')],
    ['a target beyond ASCII', post([HOST, LENGTH], '{}', 'POST /\xe9 HTTP/1.1')],
    ['blanks before the version', post([HOST, LENGTH], '{}', 'POST /a  HTTP/1.1')],
    ['an empty line before it', `\r\n${post([HOST, LENGTH])}`],
    ['a wish to continue', post([HOST, LENGTH, 'Expect: 100-continue'])],
    ['another protocol', post([HOST, 'Upgrade: websocket', 'Connection: Upgrade'], '', 'GET /a HTTP/1.1')],
    ['a connection that ends', post([HOST, LENGTH, 'Connection: close'])],
    ['a connection that ends before a proxy', post([HOST, LENGTH, 'Proxy-Connection: close'])],
    ['a tab', post([HOST, LENGTH, 'X: a\tb'])],
    ['a long head', post([HOST, LENGTH, `X: ${'a'.repeat(9_000)}`])],
  ])('%s', (_what, text) => expect(read(text)).toBeUndefined())
})

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What Node's own parser makes of the bytes of a connection. */
async function readByNode(bytes: Buffer, requests: number): Promise<readonly Seen[]> {
  const seen: Promise<Seen>[] = []
  const { promise: isOver, resolve, reject } = Promise.withResolvers<void>()
  const server = createServer({ requireHostHeader: false }, (request: IncomingMessage) => {
    const { method, url, headers } = request
    seen.push(
      request.toArray().then((body) => ({ method, url, headers, body: Buffer.concat(body).toString('latin1') })),
    )
    if (seen.length === requests) resolve()
  })
  server.on('clientError', reject)
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, onWritten) => onWritten() })
  server.emit('connection', connection)
  connection.push(bytes)
  await isOver
  return await Promise.all(seen)
}

const NEXT = 'POST /next HTTP/1.1\r\nHost: next\r\nContent-Length: 4\r\n\r\nnext'
const PIECES = [
  ...ODD_BYTES,
  ...['GET ', 'POST ', '/', '//', '/?a=%2f#b', '*', '\\'],
  ...[
    ' HTTP/1.1\r\n',
    ' HTTP/1.0\r\n',
    ' http/1.1\r\n',
    'Host: a\r\n',
    'HOST:b\r\n',
    'Host : a\r\n',
    ' folded\r\n',
    'X-É: ü\r\n',
  ],
  ...[
    'Content-Length: 0\r\n',
    'Content-Length: 1\r\n',
    'content-length:2\r\n',
    'Content-Length: 2,2\r\n',
    'Content-Length:\t2\t\r\n',
  ],
  ...[
    'Content-Length:\r\n',
    'Content-Length: 2 2\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Content_Length: 2\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding:\tidentity\r\n',
    'transfer-encoding: xchunked\r\n',
    'TE: trailers\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive, upgrade\r\n',
    'Connection:\r\n',
    'Upgrade: h2c\r\n',
    'Expect: 100-continue\r\n',
  ],
  ...[
    'Cookie: a=1\r\n',
    'cookie: b=2\r\n',
    'Accept: x\r\n',
    'X-A:\r\n',
    'X-B: a:b: c \r\n',
    "!#$%&'*+-.^_`|~9: token\r\n",
    '{}',
    '0\r\n\r\n',
  ],
]
const WHOLE: readonly string[] = [
  'POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'GET /a?b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nUser-Agent: curl/8.0\r\n\r\n',
]
const piece = fc.constantFrom(...PIECES)
const mutated = nearlyGood(WHOLE, { pieces: PIECES, places: 160 })
/** Lines that are each well formed by themselves, in any order and number. */
const composed = fc
  .tuple(
    fc.constantFrom('POST /a HTTP/1.1\r\n', 'GET /a HTTP/1.1\r\n'),
    fc.array(piece, { maxLength: 6 }),
    fc.constantFrom('', '{', '{}'),
  )
  .map(([first, lines, body]) => `${first}Host: h\r\n${lines.join('')}\r\n${body}`)

test('whatever is read, Node reads likewise, and ends it at the same byte', async () => {
  let taken = 0
  const text = fc.oneof(mutated, composed)
  await fc.assert(
    fc.asyncProperty(text, async (request) => {
      const plain = read(request)
      if (plain === undefined) return
      taken++
      const { method, url, headers, body } = plain
      const [first, next, ...others] = await readByNode(Buffer.from(request + NEXT, 'latin1'), 2)
      expect({ method, url, headers, body: body.toString('latin1') }).toEqual(first)
      expect([next?.url, next?.body, others]).toEqual(['/next', 'next', []])
    }),
    { numRuns: tries(20_000, 500_000) },
  )
  expect(taken).toBeGreaterThan(tries(2_000, 50_000))
})

test('what is read over a connection is what each request is by itself, whatever came before', () => {
  const text = fc.oneof(
    fc.constantFrom(...WHOLE, post(['Host: a', 'Content-Length: 3']), post(['Host: a', 'Content-Length: 2'])),
    mutated,
    composed,
  )
  const bodies = fc.constantFrom('{}', '[]', '{', '{} ', '')
  const another = fc.tuple(text, bodies).map(([one, body]) => one.replace(/(?<=\r\n\r\n).*$/s, body))
  let [taken, kept] = [0, 0]
  fc.assert(
    fc.property(fc.array(fc.oneof(text, another), { minLength: 2, maxLength: 6 }), (requests) => {
      const reader = new PlainRequestReader(SOCKET)
      const seen = new Set<object>()
      // Each is sent twice, as most are.
      for (const request of requests.flatMap((one) => [one, one])) {
        const ofConnection = reader.read(Buffer.from(request, 'latin1'))
        const alone = read(request)
        expect(ofConnection === undefined).toBe(alone === undefined)
        if (ofConnection === undefined || alone === undefined) continue
        const { method, url, headers, body } = alone
        expect(ofConnection).toMatchObject({ method, url, headers })
        expect(ofConnection.body.equals(body)).toBe(true)
        taken++
        if (seen.has(ofConnection.headers)) kept++
        seen.add(ofConnection.headers)
      }
    }),
    { numRuns: tries(2_000, 50_000) },
  )
  expect(taken).toBeGreaterThan(1_000)
  expect(kept).toBeGreaterThan(taken / 4)
})

test('a long head is read each time', () => {
  const reader = new PlainRequestReader(SOCKET)
  const request = Buffer.from(post(['Host: a', 'Content-Length: 2', `X: ${'a'.repeat(1_100)}`]))
  const [first, second] = [reader.read(request), reader.read(request)]
  expect(second?.headers).toEqual(first?.headers)
  expect(second?.headers).not.toBe(first?.headers)
})
