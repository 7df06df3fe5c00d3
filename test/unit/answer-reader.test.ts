import { type IncomingHttpHeaders, type IncomingMessage, request as nodeRequest } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AnswerHead,
  AnswerReader,
  HEAD_BYTES_MAX,
  SIZE_LINE_BYTES_MAX,
} from '../../infra/upstreams/plain/answer-reader.ts'
import { LastHead } from '../../schemas/last-head.ts'
import { tries } from '../long-form.ts'
import { nearlyGood, ODD_BYTES } from './nearly-good.ts'

interface Heard {
  status: number
  headers: IncomingHttpHeaders
  body: string
  isWhole: boolean
  fault: string | undefined
  isReusable: boolean
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

/** What is read of an answer that comes in these pieces, and then of the end of the connection, unless it is kept. */
function read(
  pieces: readonly Buffer[],
  { hasNoBody = false, isKept = false, last = new LastHead<AnswerHead>() } = {},
): Heard {
  const heard: Heard = { status: 0, headers: {}, body: '', isWhole: false, fault: undefined, isReusable: false }
  const reader = new AnswerReader(
    hasNoBody,
    {
      onHead: (status, headers) => {
        expect(heard.status).toBe(0)
        Object.assign(heard, { status, headers })
      },
      onData: (chunk) => {
        expect([heard.isWhole, chunk.length > 0]).toEqual([false, true])
        heard.body += chunk.toString('latin1')
      },
      onEnd: () => {
        expect(heard.isWhole).toBe(false)
        heard.isWhole = true
      },
    },
    last,
  )
  for (const piece of pieces) heard.fault ??= reader.read(piece)
  if (!isKept && heard.fault === undefined) heard.fault = reader.end()
  heard.isReusable = reader.isOver && reader.isReusable
  return heard
}

const answer = (lines: readonly string[], body = '', first = 'HTTP/1.1 200 OK'): string =>
  [first, ...lines, '', body].join('\r\n')
const kept = (text: string) => read([bytesOf(text)], { isKept: true })

describe('an answer is read', () => {
  test.each<[string, string, string, boolean]>([
    ['of a known length', answer(['Content-Length: 4'], 'body'), 'body', true],
    ['that is empty', answer(['Content-Length: 0']), '', true],
    ['without words for its status', answer(['Content-Length: 1'], 'b', 'HTTP/1.1 200'), 'b', true],
    [
      'in chunks',
      answer(['Transfer-Encoding: chunked'], '3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n'),
      'abc0123456789',
      true,
    ],
    [
      'in chunks, with trailers',
      answer(['Transfer-Encoding: Chunked'], '1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\n'),
      'a',
      true,
    ],
    [
      'behind others that only announce it',
      `${answer([], '', 'HTTP/1.1 103 Hints')}${answer(['Content-Length: 1'], 'b')}`,
      'b',
      true,
    ],
    ['whose connection ends', answer(['Content-Length: 1', 'Connection: x, Close'], 'b'), 'b', false],
    ['of HTTP/1.0', answer(['Content-Length: 1'], 'b', 'HTTP/1.0 200 OK'), 'b', false],
    ['that something follows', answer(['Content-Length: 1'], 'bc'), 'b', false],
    ['that says 204', answer([], '', 'HTTP/1.1 204 No Content'), '', true],
    [
      'that says 304, and how long it would be',
      answer(['Content-Length: 9'], '', 'HTTP/1.1 304 Not Modified'),
      '',
      true,
    ],
  ])('%s', (_what, text, body, isReusable) => {
    expect(kept(text)).toMatchObject({ body, isWhole: true, fault: undefined, isReusable })
  })

  test('until the connection ends, where it does not say how long it is', () => {
    expect(kept(answer([], 'abc'))).toMatchObject({ body: 'abc', isWhole: false })
    expect(read([bytesOf(answer([], 'abc'))])).toMatchObject({ body: 'abc', isWhole: true, isReusable: false })
  })

  test('of HEAD, whatever length it tells', () => {
    const heard = read([bytesOf(answer(['Content-Length: 9']))], { hasNoBody: true, isKept: true })
    expect(heard).toMatchObject({ body: '', isWhole: true, isReusable: true, headers: { 'content-length': '9' } })
  })

  test('with all values of a header, without blanks around them', () => {
    const { headers } = kept(answer(['ETag: \t"a" ', 'Vary:a', 'vary: b', '__proto__: c', 'Content-Length: 0']))
    expect(Object.entries(headers)).toEqual([
      ['etag', '"a"'],
      ['vary', ['a', 'b']],
      ['__proto__', 'c'],
      ['content-length', '0'],
    ])
  })
})

describe('is no answer', () => {
  const CHUNKED = 'Transfer-Encoding: chunked'
  test.each<[string, string]>([
    ['a length and chunks', answer(['Content-Length: 4', CHUNKED], '0\r\n\r\n')],
    ['two lengths', answer(['Content-Length: 1', 'Content-Length: 2'], 'bc')],
    ['two equal lengths', answer(['Content-Length: 1', 'Content-Length: 1'], 'b')],
    ['a list of lengths', answer(['Content-Length: 1, 1'], 'b')],
    ['a length with a sign', answer(['Content-Length: +1'], 'b')],
    ['an empty length', answer(['Content-Length:'], 'b')],
    ['a length beyond all', answer([`Content-Length: ${'9'.repeat(20)}`], 'b')],
    ['another encoding', answer(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n')],
    ['a tab behind an encoding', answer([`${CHUNKED}\t`], '0\r\n\r\n')],
    ['a blank behind a length', answer(['Content-Length: 1 '], 'b')],
    ['two encodings', answer([CHUNKED, CHUNKED], '0\r\n\r\n')],
    ['chunks of HTTP/1.0', answer([CHUNKED], '0\r\n\r\n', 'HTTP/1.0 200 OK')],
    ['a size that is none', answer([CHUNKED], 'x\r\n')],
    ['a negative size', answer([CHUNKED], '-1\r\na\r\n0\r\n\r\n')],
    ['a size with 0x', answer([CHUNKED], '0x1\r\na\r\n0\r\n\r\n')],
    ['an empty size', answer([CHUNKED], '\r\na\r\n0\r\n\r\n')],
    ['a size that is too large', answer([CHUNKED], `${'f'.repeat(17)}\r\n`)],
    ['a size that ends with LF', answer([CHUNKED], '1\na\r\n0\r\n\r\n')],
    ['a chunk that is longer than it says', answer([CHUNKED], '1\r\nab\r\n0\r\n\r\n')],
    ['a long line before a chunk', answer([CHUNKED], `1;${'x'.repeat(SIZE_LINE_BYTES_MAX)}\r\n`)],
    ['a trailer that is none', answer([CHUNKED], '0\r\na b\r\n\r\n')],
    ['a trailer that is a length', answer([CHUNKED], '0\r\nContent-Length: 1\r\n\r\n')],
    ['a blank behind a size', answer([CHUNKED], '1 \r\na\r\n0\r\n\r\n')],
    ['trailers without end', answer([CHUNKED], `0\r\n${'X: y\r\n'.repeat(HEAD_BYTES_MAX)}`)],
    ['a folded line', answer(['X: a', ' b', 'Content-Length: 0'])],
    ['a blank before a colon', answer(['Content-Length : 0'])],
    ['a line without a colon', answer(['a', 'Content-Length: 0'])],
    ['lines that end with LF', 'HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n'],
    ['a CR in a value', answer(['X: a\rb', 'Content-Length: 0'])],
    ['a NUL in a value', answer(['X: a\0b', 'Content-Length: 0'])],
    ['HTTP/2', answer(['Content-Length: 0'], '', 'HTTP/2 200')],
    ['HTTP/0.9', 'result\r\n\r\n'],
    ['a status of four digits', answer(['Content-Length: 0'], '', 'HTTP/1.1 2000 OK')],
    ['a status below 100', answer(['Content-Length: 0'], '', 'HTTP/1.1 099 No')],
    ['another protocol', answer(['Upgrade: x'], '', 'HTTP/1.1 101 Switching Protocols')],
    ['a head that is too long', answer([`X: ${'a'.repeat(HEAD_BYTES_MAX)}`, 'Content-Length: 0'])],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(HEAD_BYTES_MAX)}`],
  ])('%s', (_what, text) => {
    expect(kept(text)).toMatchObject({ isWhole: false, fault: expect.any(String), isReusable: false })
  })

  test.each<[string, string]>([
    ['nothing', ''],
    ['half a head', 'HTTP/1.1 200 OK\r\nConte'],
    ['half a body', answer(['Content-Length: 4'], 'bo')],
    ['half a chunk', answer([CHUNKED], '4\r\nbo')],
    ['chunks without their end', answer([CHUNKED], '2\r\nbo\r\n')],
    ['no end of trailers', answer([CHUNKED], '2\r\nbo\r\n0\r\n')],
  ])('%s, where the connection ends', (_what, text) => {
    expect(read([bytesOf(text)])).toMatchObject({ isWhole: false, fault: 'the connection ended amid an answer' })
  })
})

test('who stops it hears nothing more', () => {
  const heard: string[] = []
  const reader: AnswerReader = new AnswerReader(false, {
    onHead: () => {
      heard.push('head')
      reader.stop()
    },
    onData: () => heard.push('data'),
    onEnd: () => heard.push('end'),
  })
  for (const text of [answer(['Content-Length: 1'], 'b'), answer(['Content-Length: 0'])])
    expect(reader.read(bytesOf(text))).toBeUndefined()
  expect(heard).toEqual(['head'])
  expect(reader.isReusable).toBe(false)
})

/** How many of the bytes are the answer. */
function bytesRead(sent: Buffer): number {
  const reader = new AnswerReader(false, { onHead: () => {}, onData: () => {}, onEnd: () => {} })
  let at = 0
  while (at < sent.length && !reader.isOver) reader.read(sent.subarray(at, ++at))
  return at
}

/** What Node's own parser makes of the bytes of a connection, which then ends. */
function readByNode(bytes: Buffer): Promise<Pick<Heard, 'status' | 'body' | 'isWhole'> & { readonly lines: string[] }> {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof readByNode>>>()
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, onWritten) => onWritten() })
  const asked = nodeRequest({ createConnection: () => connection })
  asked.on('response', (response: IncomingMessage) => {
    let body = ''
    response.setEncoding('latin1').on('data', (text: string) => {
      body += text
    })
    const { statusCode: status = 0, rawHeaders: lines } = response
    response.on('error', () => {})
    response.on('close', () => resolve({ status, lines, body, isWhole: response.complete }))
  })
  asked.on('error', () => resolve({ status: 0, lines: [], body: '', isWhole: false }))
  asked.on('socket', () =>
    setImmediate(() => {
      connection.push(bytes)
      connection.push(null)
    }),
  )
  asked.end()
  return promise
}

const PIECES = [
  ...ODD_BYTES,
  ...['HTTP/1.1 ', 'HTTP/1.0 ', '200', '204', '304', '100', '0'],
  ...[
    'Content-Length: 0\r\n',
    'Content-Length: 1\r\n',
    'content-length:4\r\n',
    'Content-Length: 4,4\r\n',
    'Content-Length:\t4\t\r\n',
  ],
  ...[
    'Content-Length : 4\r\n',
    'Content-Length:\r\n',
    'Content-Length: 99999999999999999999\r\n',
    ' folded\r\n',
    'X: \xe9\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding:\tCHUNKED\r\n',
    'transfer-encoding: xchunked\r\n',
    'Transfer-Encoding: identity\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Keep-Alive: timeout=5\r\n',
    'ETag: a\r\n',
    'ETag: b\r\n',
    'X-A:\r\n',
  ],
  ...[
    '4\r\nbody\r\n',
    '0\r\n\r\n',
    '0\r\nX: y\r\n\r\n',
    '00000004;a=b\r\nbody\r\n',
    'body',
    'HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n',
  ],
]
const WHOLE: readonly string[] = [
  answer(['Content-Type: application/json', 'Content-Length: 4'], 'body'),
  answer(['ETag: a', 'Transfer-Encoding: chunked'], '4\r\nbody\r\n2;x\r\n{}\r\n0\r\nX: y\r\n\r\n'),
  answer(['Connection: close'], 'body'),
]
const piece = fc.constantFrom(...PIECES)
const mutated = nearlyGood(WHOLE, { pieces: PIECES, places: 110 })
const composed = fc
  .tuple(fc.array(piece, { maxLength: 5 }), fc.array(piece, { maxLength: 4 }))
  .map(([lines, body]) => `HTTP/1.1 200 OK\r\n${lines.join('')}\r\n${body.join('')}`)
const bytes = fc.oneof(mutated, composed).map(bytesOf)

test('whatever is an answer is the same one for Node, and ends at the same byte', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      const { status, headers, body, isWhole } = read([sent])
      if (!isWhole) return
      taken++
      const nodes = await readByNode(sent.subarray(0, bytesRead(sent)))
      expect({ status, body, isWhole }).toEqual({ status: nodes.status, body: nodes.body, isWhole: nodes.isWhole })
      const lines = Object.entries(headers).map(([name, value]) => [name, [value].flat()])
      const named = Map.groupBy(
        nodes.lines.flatMap((name, i) =>
          i % 2 === 0 ? [[name.toLowerCase(), nodes.lines[i + 1] as string] as const] : [],
        ),
        ([name]) => name,
      )
      expect(new Map(lines as [string, string[]][])).toEqual(
        new Map([...named].map(([name, values]) => [name, values.map(([, value]) => value)])),
      )
    }),
    { numRuns: tries(10_000, 300_000) },
  )
  expect(taken).toBeGreaterThan(tries(1_000, 30_000))
})

test('it is the same however its bytes come', () => {
  const cuts = fc.array(fc.nat(150), { maxLength: 8 })
  fc.assert(
    fc.property(bytes, cuts, fc.boolean(), (sent, at, isKept) => {
      const sorted = [0, ...at.toSorted((a, b) => a - b), sent.length]
      const pieces = sorted.slice(1).map((end, i) => sent.subarray(sorted[i], end))
      const [whole, parts] = [read([sent], { isKept }), read(pieces, { isKept })]
      // Where it breaks off, what has come before it may have been told already.
      expect(parts).toEqual(whole)
    }),
    { numRuns: tries(10_000, 300_000) },
  )
})

test('it is the same whatever the node has answered before', () => {
  // Of one head in other pieces, and of heads that begin alike.
  const cut = fc.nat(150)
  const alike = fc
    .constantFrom(...WHOLE, answer(['Content-Type: application/json', 'Content-Length: 3'], 'abc'))
    .map(bytesOf)
  let kept = 0
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(bytes, alike), cut), { minLength: 2, maxLength: 6 }), (answers) => {
      const last = new LastHead<AnswerHead>()
      const seen = new Set<object>()
      for (const [sent, at] of answers.flatMap((one) => [one, one])) {
        const pieces = [sent.subarray(0, at), sent.subarray(at)]
        const heard = read(pieces, { last })
        expect(heard).toEqual(read(pieces))
        if (seen.has(heard.headers)) kept++
        seen.add(heard.headers)
      }
    }),
    { numRuns: tries(3_000, 100_000) },
  )
  expect(kept).toBeGreaterThan(1_000)
})

test('a long head is read each time', () => {
  const last = new LastHead<AnswerHead>()
  const sent = [bytesOf(answer([`X: ${'a'.repeat(1_100)}`, 'Content-Length: 0']))]
  const [first, second] = [read(sent, { last }), read(sent, { last })]
  expect(second).toEqual(first)
  expect(second.headers).not.toBe(first.headers)
})
