import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { REQUEST_TIMEOUT_MS } from '../../api/http/limits.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import type { Plan } from '../../schemas/plans.ts'
import { isLong } from '../long-form.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import {
  type GivenGateway,
  networkOn,
  openGivenGateway,
  openStub,
  rpcAnswer,
  type Stub,
  untilHealthy,
} from './given-gateway.ts'
import {
  type Client,
  handshake,
  openClient,
  parseRaw,
  type SocketStub,
  sendRaw,
  socketsOn,
  socketUrl,
  withSockets,
} from './given-socket.ts'

// What is refused before a node hears of it: in which order, how large it may be, and what pages see of it.

const PLACE = 'ethereum/mainnet'
/** A network with WebSocket that nobody has configured. */
const UNCONFIGURED = 'bsc/mainnet'
const HASTY = 'hasty-1'
/** Two keys of one account, which has three requests a day. */
const SPENDERS = ['spender-1', 'spender-2'] as const
const PLANS: Readonly<Record<string, Plan>> = {
  hasty: { name: 'hasty', requestsPerSecond: 1, requestsPerDay: 1 },
  spender: { name: 'spender', requestsPerDay: 3 },
}
const BODY_BYTES_MAX = 10 * 1024 * 1024
const NATIVE_BODY_BYTES_MAX = 64 * 1024 * 1024
const PAGE = 'https://app.example.org'

const open = new AsyncDisposableStack()
let node: Stub
let nodeSockets: SocketStub
let beacon: Stub
let gateway: GivenGateway
beforeAll(async () => {
  node = open.use(await openStub('ethereum', 'mainnet'))
  beacon = open.use(await openStub('ethereum2', 'mainnet'))
  nodeSockets = withSockets(node)
  const counters = open.use(await openMemoryCounters())
  const planOf = (account: string) => PLANS[account] ?? { name: 'default' }
  const meter = open.use(new Meter({ counters, clientCounters: counters, planOf, log: silentLog }))
  gateway = open.use(
    await openGivenGateway([socketsOn(PLACE, node), networkOn('ethereum2/mainnet', beacon)], { meter }),
  )
  const keys = [HASTY, ...SPENDERS].map((key) => {
    const [account = ''] = key.split('-')
    return { token_hash: hashToken(key), account, version: 1, is_deleted: 0 }
  })
  await insertRows(gateway.given.warehouse, 'access_tokens', keys)
  for (const place of [PLACE, 'ethereum2/mainnet']) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())
beforeEach(() => {
  for (const stub of [node, beacon]) {
    stub.got.length = 0
    stub.answer = rpcAnswer
  }
})

interface Refused {
  readonly error: { readonly code: number; readonly message: string; readonly data?: { readonly reason: string } }
}

/** As from a page. */
const post = (place: string, token: string, method: string) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method })
  return gateway.ask(place, { token, method: 'POST', body, headers: { origin: PAGE } })
}

test('what is wrong in every way is refused for its address, key, method, second, day and node, in this order', async () => {
  const asked = async (place: string, token: string, method = 'eth_chainId') => {
    const response = await post(place, token, method)
    const { error } = (await response.json()) as Partial<Refused>
    return [response.status, error?.data?.reason]
  }
  expect(await asked(PLACE, HASTY), 'the day has one').toEqual([200, undefined])
  expect(await asked('bsc/nowhere', 'nobody', 'admin_peers')).toEqual([404, undefined])
  expect(await asked(UNCONFIGURED, 'nobody', 'admin_peers')).toEqual([401, undefined])
  expect(await asked(UNCONFIGURED, HASTY, 'admin_peers')).toEqual([403, undefined])
  expect(await asked(UNCONFIGURED, HASTY)).toEqual([429, 'daily_quota'])
  // A second's are counted at each endpoint: this one was asked once.
  expect(await asked(UNCONFIGURED, HASTY)).toEqual([429, 'rate_limit'])
  expect(await asked(UNCONFIGURED, TOKEN)).toEqual([503, undefined])
  expect(node.got).toHaveLength(1)
})

test('a day that is used up ends the sockets of its account that are told anything, and the others stay', async () => {
  nodeSockets.answer = (text, socket) =>
    socket.send(JSON.stringify({ ...{ jsonrpc: '2.0', result: '0x1' }, id: (JSON.parse(text) as { id: unknown }).id }))
  const ask = (client: Client, method: string, ...params: readonly string[]) =>
    client
      .ask(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
      .then((answer) => JSON.parse(answer) as Refused)
  const [first, second] = SPENDERS
  using told = await openClient(socketUrl(gateway, PLACE, first))
  using asking = await openClient(socketUrl(gateway, PLACE, second))
  expect(await ask(told, 'eth_subscribe', 'newPendingTransactions')).toMatchObject({ result: expect.anything() })
  for (const _ of [2, 3]) expect(await ask(asking, 'eth_chainId')).toMatchObject({ result: expect.anything() })
  expect(told.socket.readyState).toBe(told.socket.OPEN)
  expect((await post(PLACE, second, 'eth_chainId')).status).toBe(429)
  expect(await told.closed).toEqual({ code: 1008, reason: 'the requests of the day are used up' })
  const usedUp = { error: { data: { reason: 'daily_quota' } } }
  expect(await ask(asking, 'eth_subscribe', 'newPendingTransactions')).toMatchObject(usedUp)
  expect(await ask(asking, 'eth_chainId')).toMatchObject(usedUp)
})

test('a message over WebSocket is refused for its method, second and day in this order, and its socket before for address, key and node', async () => {
  const refusedAt = async (place: string, token: string) => {
    const upgrade = handshake(`/ws/${place}/${token}`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')
    const [status] = parseRaw(await sendRaw(gateway, ...upgrade))
    return status
  }
  expect(await refusedAt('worldchain/mainnet', 'nobody'), 'has no WebSocket').toBe(404)
  expect(await refusedAt(UNCONFIGURED, 'nobody')).toBe(401)
  expect(await refusedAt(UNCONFIGURED, HASTY)).toBe(503)
  using client = await openClient(socketUrl(gateway, PLACE, HASTY))
  const asked = async (method: string) => {
    const { error } = JSON.parse(
      await client.ask(JSON.stringify({ jsonrpc: '2.0', id: 7, method })),
    ) as Partial<Refused>
    return [error?.code, error?.data?.reason]
  }
  await expect.poll(() => asked('eth_chainId'), { interval: 100 }).toEqual([-32005, 'daily_quota'])
  // Its day is used up, and its second too.
  expect(await asked('admin_peers')).toEqual([-32601, undefined])
  expect(await asked('eth_chainId')).toEqual([-32005, 'rate_limit'])
  expect(node.got).toEqual([])
})

describe('a JSON-RPC call', () => {
  test('is one of a hundred of a batch at most', async () => {
    const send = (calls: number) => {
      const batch = Array.from({ length: calls }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId' }))
      return gateway.ask(PLACE, { method: 'POST', body: JSON.stringify(batch) })
    }
    expect(((await (await send(100)).json()) as unknown[]).length).toBe(100)
    node.got.length = 0
    const response = await send(101)
    expect([response.status, await response.json()]).toEqual([
      413,
      {
        ...{ jsonrpc: '2.0', id: null },
        error: { code: -32600, message: 'Invalid Request: the batch has more than 100 calls' },
      },
    ])
    expect(node.got).toEqual([])
  })

  test.each([
    ['a length that is told', true],
    ['chunks', false],
  ])('has at most 10 MB, by %s, and is refused as soon as that is known', async (_what, isTold) => {
    const call = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":["'
    const ofBytes = (bytes: number) => `${call}${'x'.repeat(bytes - call.length - 3)}"]}`
    const send = async (body: string) => {
      const headers = isTold ? { 'content-length': Buffer.byteLength(body) } : {}
      const asking = request(`${gateway.api.url}/${PLACE}/${TOKEN}`, { method: 'POST', headers })
      const answered = once(asking, 'response')
      // The connection goes while there is more to send.
      asking.on('error', () => {})
      asking.write(body.slice(0, 1_000))
      asking.end(body.slice(1_000))
      const [response] = await answered
      return [response.statusCode, JSON.parse(await text(response)).error?.message]
    }
    expect(await send(ofBytes(BODY_BYTES_MAX))).toEqual([200, undefined])
    expect(node.got.map(({ body }) => body.length)).toEqual([BODY_BYTES_MAX])
    expect(await send(ofBytes(BODY_BYTES_MAX + 1))).toEqual([413, 'Invalid Request: the body is too large'])
    expect(node.got).toHaveLength(1)
  })

  test.runIf(isLong)(
    'that its node says nothing to is given up in time, and is not sent again',
    async () => {
      node.answer = () => {}
      const response = await post(PLACE, TOKEN, 'eth_sendTransaction')
      const { error } = (await response.json()) as Refused
      expect([response.status, error.code]).toEqual([504, -32015])
      expect(node.got).toHaveLength(1)
    },
    60_000,
  )
})

test.each([
  ['a length that is told', true],
  ['chunks', false],
])(
  'a native request has at most 64 MB of a body, by %s, which are not kept',
  async (_what, isTold) => {
    beacon.answer = (_got, response) => response.end('{}')
    const send = async (bytes: number) => {
      const headers = isTold ? { 'content-length': bytes } : {}
      const url = `${gateway.api.url}/ethereum2/mainnet/${TOKEN}/eth/v1/beacon/pool/attestations`
      const asking = request(url, { method: 'POST', headers })
      const answered = once(asking, 'response')
      // The connection goes while there is more to send.
      asking.on('error', () => {})
      const chunk = Buffer.alloc(1024 * 1024, ' ')
      for (let left = bytes; left > 0 && !asking.destroyed; left -= chunk.length)
        if (!asking.write(chunk.subarray(0, left)))
          await Promise.race([once(asking, 'drain'), once(asking, 'close'), answered])
      asking.end()
      const [response] = await answered
      return [response.statusCode, JSON.parse(await text(response)).message]
    }
    expect(await send(NATIVE_BODY_BYTES_MAX)).toEqual([200, undefined])
    expect(beacon.got.map(({ body }) => body.length)).toEqual([NATIVE_BODY_BYTES_MAX])
    expect(await send(NATIVE_BODY_BYTES_MAX + 1)).toEqual([413, 'Invalid Request: the body is too large'])
    expect(beacon.got).toHaveLength(1)
    // Its node has not failed by it.
    for (let i = 0; i < 10; i++) expect((await send(NATIVE_BODY_BYTES_MAX + 1))[0]).toBe(413)
    expect((await gateway.ask('ethereum2/mainnet', { path: '/eth/v1/node/version' })).status).toBe(200)
  },
  60_000,
)

test.runIf(isLong).each([
  ['no bytes', ''],
  ['half a head', `POST /${PLACE}/${TOKEN} HTTP/1.1\r\nHost: a\r\n`],
  ['half a body', `POST /${PLACE}/${TOKEN} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"jsonrpc"`],
])(
  'a connection with %s of a request is ended when its time is over',
  async (_what, bytes) => {
    const { hostname, port } = new URL(gateway.api.url)
    const socket = connect(Number(port), hostname)
    if (bytes !== '') socket.write(bytes)
    const beganMs = performance.now()
    await text(socket)
    // It is looked at twice a minute.
    expect(performance.now() - beganMs).toBeLessThan(2 * REQUEST_TIMEOUT_MS + 5_000)
    expect(node.got).toEqual([])
  },
  90_000,
)

test('a key has a thousand sockets at a time, and the next one is refused before it is a WebSocket', async () => {
  const clients: Client[] = []
  for (let i = 0; i < 10; i++)
    clients.push(...(await Promise.all(Array.from({ length: 100 }, () => openClient(socketUrl(gateway, PLACE))))))
  await expect(openClient(socketUrl(gateway, PLACE))).rejects.toThrow('429')
  clients[0]?.socket.close()
  await clients[0]?.closed
  using _next = await openClient(socketUrl(gateway, PLACE))
  for (const client of clients) client[Symbol.dispose]()
})

test('a key has 32 streams of events at a time at a network, and the next one is refused; other calls and keys go on', async () => {
  beacon.answer = ({ path }, response) => {
    if (path === '/eth/v1/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    else response.end('{}')
  }
  const key = { token_hash: hashToken('other-streams'), account: 'other', version: 1, is_deleted: 0 }
  await insertRows(gateway.given.warehouse, 'access_tokens', [key])
  const stop = new AbortController()
  const listen = (token: string, signal = stop.signal) =>
    gateway.ask('ethereum2/mainnet', { token, path: '/eth/v1/events', signal })
  const leaving = new AbortController()
  const streams = [listen(TOKEN, leaving.signal), ...Array.from({ length: 31 }, () => listen(TOKEN))]
  expect((await Promise.all(streams)).map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200))
  const refused = await listen(TOKEN)
  expect([refused.status, await refused.json()]).toEqual([
    429,
    { code: 429, message: 'Too Many Requests: too many open streams' },
  ])
  expect((await gateway.ask('ethereum2/mainnet', { path: '/eth/v1/node/version' })).status).toBe(200)
  expect((await listen('other-streams')).status).toBe(200)
  leaving.abort()
  await expect.poll(async () => (await listen(TOKEN)).status, { interval: 20 }).toBe(200)
  stop.abort()
})

describe('pages of every origin', () => {
  const allowed = ({ headers }: Response) => [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-allow-credentials'),
  ]

  test.each([
    ['a call', `/${PLACE}/${TOKEN}`, 'POST'],
    ['a native request', `/ethereum2/mainnet/${TOKEN}/eth/v1/node/syncing`, 'GET'],
    ['public access', `/public/${PLACE}`, 'POST'],
  ])('are told before %s that they may, whatever they want to send', async (_what, path, verb) => {
    const headers = {
      ...{ origin: PAGE, 'access-control-request-method': verb },
      'access-control-request-headers': 'content-type, consistent-hash',
    }
    const response = await fetch(`${gateway.api.url}${path}`, { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    expect(allowed(response)).toEqual(['*', null])
    expect(response.headers.get('access-control-allow-methods')).toContain(verb)
    expect(response.headers.get('access-control-allow-headers')).toBe('*')
    expect([...node.got, ...beacon.got]).toEqual([])
  })

  test('see answers and refusals, and when they may ask again', async () => {
    beacon.answer = (_got, response) =>
      response.writeHead(200, { 'access-control-allow-origin': 'https://node' }).end('{}')
    const headers = { origin: PAGE }
    const native = await gateway.ask('ethereum2/mainnet', { path: '/eth/v1/node/version', headers })
    const responses = [
      native,
      await post(PLACE, TOKEN, 'eth_chainId'),
      await post(PLACE, 'nobody', 'eth_chainId'),
      await post(PLACE, TOKEN, 'admin_peers'),
      await post(PLACE, HASTY, 'eth_chainId'),
      await post(UNCONFIGURED, TOKEN, 'eth_chainId'),
      await gateway.ask('ethereum/nowhere', { headers }),
    ]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 401, 403, 429, 503, 404])
    for (const response of responses) {
      expect(allowed(response), String(response.status)).toEqual(['*', null])
      expect(response.headers.get('access-control-expose-headers'), String(response.status)).toBe('*')
    }
  })
})
