import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { UpstreamRequest } from '../../infra/ports/upstreams.ts'
import {
  isPlainUpstream,
  isPlainUpstreamRequest,
  PlainPool,
  type PlainPoolOptions,
  type PlainUpstreamRequest,
} from '../../infra/upstreams/plain/plain-pool.ts'

// A pool before a node that gets and writes bytes.

const SOON = { interval: 5 }
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
const PATIENT_MS = 60_000

interface Got {
  readonly socket: Socket
  readonly connection: number
  readonly text: string
}

let node: Server
let pool: PlainPool
let sockets: Socket[]
let got: Got[]
let answer: (got: Got) => void

beforeEach(async () => {
  sockets = []
  got = []
  answer = ({ socket }) => socket.write(ANSWER)
  node = createServer((socket) => {
    const connection = sockets.push(socket) - 1
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1 || text.length < end + 4 + Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)) return
      const one = { socket, connection, text }
      text = ''
      got.push(one)
      answer(one)
    })
  }).listen(0, '127.0.0.1')
  await once(node, 'listening')
  pool = openPool()
})
afterEach(async () => {
  await pool.destroy()
  for (const socket of sockets) socket.destroy()
  node.close()
})

function openPool(options: Partial<PlainPoolOptions> = {}): PlainPool {
  return new PlainPool({
    origin: new URL(`http://127.0.0.1:${(node.address() as AddressInfo).port}`),
    headers: [],
    connectionsMax: 8,
    connectTimeoutMs: 2_000,
    queueTimeoutMs: PATIENT_MS,
    headersTimeoutMs: PATIENT_MS,
    bodyTimeoutMs: PATIENT_MS,
    keepAliveMs: PATIENT_MS,
    ...options,
  })
}

interface Asked {
  controller: Dispatcher.DispatchController | undefined
  status: number
  body: string
  /** `whole`, or what an error says. */
  end: string | undefined
}

const BODY = Buffer.from('{"id":1}')

function ask(request: Partial<PlainUpstreamRequest> = {}, path = '/a'): Asked {
  const asked: Asked = { controller: undefined, status: 0, body: '', end: undefined }
  const whole: PlainUpstreamRequest = { verb: 'POST', path, headers: [], body: BODY, isEndless: false, ...request }
  const end = (word: string): void => {
    expect(asked.end).toBeUndefined()
    asked.end = word
  }
  pool.dispatch(whole, path, {
    onRequestStart: (controller) => {
      asked.controller = controller
    },
    onResponseStart: (_controller, status) => {
      asked.status = status
    },
    onResponseData: (_controller, chunk) => {
      asked.body += chunk.toString('latin1')
    },
    onResponseEnd: () => end('whole'),
    onResponseError: (_controller, error) => end((error as { readonly code?: string }).code ?? error.message),
  })
  return asked
}

const untilEnd = (asked: Asked) => expect.poll(() => asked.end, { ...SOON, timeout: 10_000 })

test('requests are written as they are, one after the other over one connection', async () => {
  await pool.destroy()
  pool = openPool({ headers: ['authorization', 'Basic eDp5'] })
  const first = ask({ headers: ['accept', 'a/b', 'content-length', '8'] })
  await untilEnd(first).toBe('whole')
  const second = ask({ verb: 'GET', body: null }, '/b?c=%20')
  await untilEnd(second).toBe('whole')
  const { port } = node.address() as AddressInfo
  const common = `host: 127.0.0.1:${port}\r\nconnection: keep-alive\r\nauthorization: Basic eDp5\r\n`
  expect(got.map(({ text, connection }) => [text, connection])).toEqual([
    [`POST /a HTTP/1.1\r\n${common}accept: a/b\r\ncontent-length: 8\r\n\r\n{"id":1}`, 0],
    [`GET /b?c=%20 HTTP/1.1\r\n${common}\r\n`, 0],
  ])
  expect([first.status, first.body]).toEqual([200, '{}'])
})

test.each([9, 8_192, 8_193, 3_000_000])('a body of %i bytes arrives byte for byte', async (length) => {
  const body = Buffer.from(Array.from({ length }, (_, i) => (i * 7) % 256))
  await untilEnd(ask({ body })).toBe('whole')
  const text = got[0]?.text ?? ''
  expect(text.slice(text.indexOf('\r\n\r\n') + 4) === body.toString('latin1')).toBe(true)
})

test('many at once have an answer each, over no more connections than there may be', async () => {
  answer = ({ socket, text }) => {
    const path = /^POST (\S+)/.exec(text)?.[1] as string
    setTimeout(() => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`), got.length % 5)
  }
  const all = Array.from({ length: 100 }, (_, i) => ask({}, `/${i}`))
  await expect.poll(() => all.filter(({ end }) => end === 'whole'), SOON).toHaveLength(100)
  expect(all.map(({ body }) => body)).toEqual(all.map((_, i) => `/${i}`))
  expect(sockets).toHaveLength(8)
})

describe('many at once', () => {
  const MANY = 100
  const askMany = async (): Promise<void> => {
    await pool.destroy()
    pool = openPool({ connectionsMax: 2 * MANY })
    const all = Array.from({ length: MANY }, () => ask())
    // `expect.poll` would let the pool's time pass, where that is held.
    while (all.some(({ end }) => end === undefined)) await wait(5)
    expect(all.filter(({ end }) => end === 'whole')).toHaveLength(MANY)
  }

  test('do not open a connection each before time has passed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      await askMany()
      expect(sockets).toHaveLength(4)
    } finally {
      vi.useRealTimers()
    }
  })

  test("do not wait for each other's answers", async () => {
    answer = () => {
      if (got.length === MANY) for (const { socket } of got) socket.write(ANSWER)
    }
    await askMany()
    expect(sockets).toHaveLength(MANY)
  })
})

describe('a connection is not used again', () => {
  test.each<[string, string]>([
    ['when its node says so', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}'],
    [
      'when its node keeps it for a moment only',
      'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    ['when more comes than was asked for', `${ANSWER}${ANSWER}`],
    ['when its node speaks HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}'],
  ])('%s', async (_what, text) => {
    answer = ({ socket }) => socket.write(text)
    for (let i = 0; i < 2; i++) {
      const asked = ask()
      await untilEnd(asked).toBe('whole')
      expect(asked.body).toBe('{}')
    }
    expect(got.map(({ connection }) => connection)).toEqual([0, 1])
  })

  test.each<[string, (socket: Socket) => void]>([
    ['that its node has closed', (socket) => socket.end()],
    ['over which something comes that nobody has asked for', (socket) => socket.write(ANSWER)],
  ])('%s', async (_what, act) => {
    await untilEnd(ask()).toBe('whole')
    act(sockets[0] as Socket)
    await expect.poll(() => sockets[0]?.closed, SOON).toBe(true)
    const asked = ask()
    await untilEnd(asked).toBe('whole')
    expect([asked.body, got.map(({ connection }) => connection)]).toEqual(['{}', [0, 1]])
  })

  test('that was not used for long', async () => {
    await pool.destroy()
    pool = openPool({ keepAliveMs: 500 })
    await untilEnd(ask()).toBe('whole')
    await expect.poll(() => sockets[0]?.closed, SOON).toBe(true)
  })
})

test('an answer may begin before its request is out: the rest of that is no next request', async () => {
  node.removeAllListeners('connection')
  node.on('connection', (socket: Socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.once('data', () => {
      socket.pause()
      socket.write(ANSWER)
    })
  })
  await untilEnd(ask({ body: Buffer.alloc(32_000_000) })).toBe('whole')
  await untilEnd(ask()).toBe('whole')
  expect(sockets).toHaveLength(2)
})

describe('a failure is told', () => {
  test.each<[string, string, string, string]>([
    [
      'of what is no answer',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
      '',
      'it has a length and comes in chunks',
    ],
    [
      'of a chunk that is none',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nx\r\n',
      'a',
      'a chunk does not say its size',
    ],
  ])('%s', async (_what, text, body, why) => {
    answer = ({ socket }) => socket.write(text)
    const asked = ask()
    await untilEnd(asked).toBe(why)
    expect(asked.body).toBe(body)
    await expect.poll(() => sockets[0]?.closed, SOON).toBe(true)
  })

  test.each<[string, string, string]>([
    ['before it answers', '', ''],
    ['amid its head', 'HTTP/1.1 200 OK\r\n', ''],
    ['amid its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', 'abc'],
  ])('when the node closes the connection %s', async (_what, text, body) => {
    answer = ({ socket }) => socket.end(text)
    const asked = ask()
    await untilEnd(asked).toBe('UND_ERR_SOCKET')
    expect(asked.body).toBe(body)
  })

  test('when the connection is reset', async () => {
    answer = ({ socket }) => socket.resetAndDestroy()
    await untilEnd(ask()).toBe('ECONNRESET')
  })

  test('when nobody listens', async () => {
    node.close()
    await untilEnd(ask()).toBe('ECONNREFUSED')
  })

  test.each<[string, string, string]>([
    ['nothing', '', 'UND_ERR_HEADERS_TIMEOUT'],
    ['a part of a head', 'HTTP/1.1 200 OK\r\n', 'UND_ERR_HEADERS_TIMEOUT'],
    ['a part of its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', 'UND_ERR_BODY_TIMEOUT'],
  ])('when the node says %s and no more', async (_what, text, code) => {
    await pool.destroy()
    pool = openPool({ headersTimeoutMs: 800, bodyTimeoutMs: 800 })
    answer = ({ socket }) => socket.write(text)
    await untilEnd(ask()).toBe(code)
  })
})

test('what is given up is ended at the node, and nothing is heard of it', async () => {
  answer = () => {}
  const asked = ask()
  await expect.poll(() => got, SOON).toHaveLength(1)
  asked.controller?.abort(new Error('given up'))
  await expect.poll(() => sockets[0]?.closed, SOON).toBe(true)
  expect([asked.end, asked.status]).toEqual([undefined, 0])
})

test('what is given up while it waits for a connection is not sent', async () => {
  await pool.destroy()
  pool = openPool({ connectionsMax: 1 })
  answer = ({ socket }) => setTimeout(() => socket.write(ANSWER), 30)
  const [first, second, third] = [ask({}, '/1'), ask({}, '/2'), ask({}, '/3')]
  second.controller?.abort(new Error('given up'))
  await untilEnd(third).toBe('whole')
  expect([first.end, second.end]).toEqual(['whole', undefined])
  expect(got.map(({ text }) => text.slice(0, 7))).toEqual(['POST /1', 'POST /3'])
})

test('what no connection is free for in time is not sent, and what comes later waits for itself', async () => {
  await pool.destroy()
  pool = openPool({ connectionsMax: 1, queueTimeoutMs: 1_000 })
  answer = () => {}
  const [first, second] = [ask({}, '/1'), ask({}, '/2')]
  await untilEnd(second).toBe('UND_ERR_CONNECT_TIMEOUT')
  answer = ({ socket }) => socket.write(ANSWER)
  const third = ask({}, '/3')
  got[0]?.socket.write(ANSWER)
  await untilEnd(third).toBe('whole')
  expect(first.end).toBe('whole')
  expect(got.map(({ text }) => text.slice(0, 7))).toEqual(['POST /1', 'POST /3'])
})

test('what waits for a connection that breaks has another one', async () => {
  await pool.destroy()
  pool = openPool({ connectionsMax: 1 })
  answer = ({ socket, connection }) => (connection === 0 ? socket.destroy() : socket.write(ANSWER))
  const [first, second] = [ask(), ask()]
  await untilEnd(second).toBe('whole')
  expect(first.end).toMatch(/UND_ERR_SOCKET|ECONNRESET/)
})

test('an answer that is held back stops its node, and is not given up for it', async () => {
  await pool.destroy()
  pool = openPool({ bodyTimeoutMs: 1_000 })
  const bytes = 64_000_000
  answer = ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
  const asked = ask()
  await expect.poll(() => asked.status, SOON).toBe(200)
  asked.controller?.pause()
  sockets[0]?.write(Buffer.alloc(bytes, 'x'))
  await wait(2_500)
  expect(asked.body.length).toBeLessThan(1_000_000)
  expect(asked.end).toBeUndefined()
  asked.controller?.resume()
  await untilEnd(asked).toBe('whole')
  expect(asked.body).toHaveLength(bytes)
})

test('it is drained when what runs and waits has ended, and takes nothing new', async () => {
  await pool.destroy()
  pool = openPool({ connectionsMax: 1 })
  const [first, second] = [ask(), ask()]
  const isEnded = pool.close()
  await untilEnd(ask()).toBe('UND_ERR_CLOSED')
  await isEnded
  expect([first.end, second.end]).toEqual(['whole', 'whole'])
  await expect.poll(() => sockets[0]?.closed, SOON).toBe(true)
})

test('what runs and waits fails when it is destroyed', async () => {
  await pool.destroy()
  pool = openPool({ connectionsMax: 1 })
  answer = () => {}
  const all = [ask(), ask()]
  await expect.poll(() => got, SOON).toHaveLength(1)
  await pool.destroy()
  expect(all.map(({ end }) => end)).toEqual(['UND_ERR_DESTROYED', 'UND_ERR_DESTROYED'])
})

test.each<[string, Partial<UpstreamRequest>, string]>([
  ['an answer without end', { isEndless: true }, '/'],
  ['a body that is not there yet', { body: null }, '/'],
  ['a body of GET', { verb: 'GET' }, '/'],
  ['a header that is not ASCII', { headers: ['range', '\xe9'] }, '/'],
  ['a header of two lines', { headers: ['range', 'a\r\nb: c'] }, '/'],
  ['a path with a blank', {}, '/a b'],
  ['a path of two lines', {}, '/a\r\nb: c'],
  ['a path that is not ASCII', {}, '/\xe9'],
])('%s is not for it', (_what, change, path) => {
  const request: UpstreamRequest = { verb: 'POST', path: '/', headers: [], body: BODY, isEndless: false }
  expect(isPlainUpstreamRequest(request, '/')).toBe(true)
  expect(isPlainUpstreamRequest({ ...request, ...change }, path)).toBe(false)
})

test.each<[string, readonly string[], boolean]>([
  ['http://a:1/b', ['x-key', 'secret'], true],
  ['https://a', [], false],
  ['http://a', ['Host', 'b'], false],
  ['http://a', ['connection', 'close'], false],
  ['http://a', ['Transfer-Encoding', 'chunked'], false],
  ['http://a', ['x key', 'a'], false],
  ['http://a', ['x-key', 'a\r\nb: c'], false],
])('an upstream at %s with the headers %j: %s', (url, headers, isPlain) => {
  expect(isPlainUpstream(new URL(url), headers)).toBe(isPlain)
})
