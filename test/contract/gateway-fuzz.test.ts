import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashToken } from '../../schemas/events/accounts.ts'
import { matchRoute } from '../../schemas/protocols/match-route.ts'
import type { Service } from '../../schemas/protocols/protocol.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'
import { tries } from '../long-form.ts'
import { insertRows } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import {
  type GivenGateway,
  type Got,
  networkOn,
  openGivenGateway,
  openStub,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'
import { HOSTILE_CALLS, randomOf } from './hostile-calls.ts'

// Requests that nobody sends by mistake, written to the socket byte for byte.

const ANSWER_MS_MAX = 10_000
const AT_ONCE = 16
/** Of another account, which asks as much. */
const OTHER_TOKEN = 'token-of-another-account'
/** What a request has that no other one has; nodes tell it again. */
const marksIn = (text: string): readonly string[] => text.match(/mark-\d+/g) ?? []

let node: Stub
let beacon: Stub
let gateway: GivenGateway
let port: number
beforeAll(async () => {
  node = await openStub('ethereum', 'mainnet')
  beacon = await openStub('ethereum2', 'mainnet')
  node.answer = (got: Got, response) => sendJson(response, { jsonrpc: '2.0', id: 1, result: marksIn(got.body) })
  beacon.answer = (got, response) => sendJson(response, { data: marksIn(got.path) })
  gateway = await openGivenGateway([networkOn('ethereum/mainnet', node), networkOn('ethereum2/mainnet', beacon)])
  await untilHealthy(gateway, 'ethereum/mainnet')
  await untilHealthy(gateway, 'ethereum2/mainnet')
  const other = { token_hash: hashToken(OTHER_TOKEN), account: 'other', version: 1, is_deleted: 0 }
  await insertRows(gateway.given.warehouse, 'access_tokens', [other])
  port = Number(new URL(gateway.api.url).port)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
  await beacon[Symbol.asyncDispose]()
})

const VERBS = ['GET', 'POST', 'POST', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'TRACE', 'CONNECT', 'get', 'PO ST', '']
const PLACES = [
  ...[
    `/ethereum/mainnet/${TOKEN}`,
    `/ethereum2/mainnet/${TOKEN}`,
    `/ethereum/mainnet/none`,
    `/ws/ethereum/mainnet/${TOKEN}`,
  ],
  ...['/public/ethereum/mainnet', '/public/bitcoin/mainnet', `/bsc/mainnet/${TOKEN}`, `/ethereum/nowhere/${TOKEN}`],
  ...[
    `http://127.0.0.1/ethereum/mainnet/${TOKEN}`,
    '*',
    `//ethereum/mainnet/${TOKEN}`,
    `/ethereum//${TOKEN}`,
    '127.0.0.1:443',
  ],
  ...[
    `/ETHEREUM/mainnet/${TOKEN}`,
    `/ethereum/mainnet/${TOKEN}/api/v1/validator/details`,
    `/constructor/mainnet/${TOKEN}`,
    '/__proto__/a/b',
  ],
]
const TAILS = [
  ...[
    '',
    '',
    '',
    '/',
    '/eth/v1/node/syncing',
    '/eth/v1/beacon/states/head/validators',
    '/..',
    '/%2e%2e/admin',
    '/eth/v1/%2e%2e/%2e%2e/metrics',
  ],
  ...[
    '/eth/v1/node/..%2fversion',
    '/eth/v1/events?topics=head',
    '?x=1',
    `?${'y'.repeat(9_000)}`,
    '/\\..\\admin',
    '/eth/v1/node/version\u0000',
    '//',
  ],
  ...['/eth/v1/node/version#a', '/;/admin', '/eth/v1/node/version;a=b', '/é', '/%', '/%zz', '/%25%32%65'],
]
const HEADERS = [
  ...[
    'Host: a',
    'Host: a',
    'Host: a',
    'Host: a\r\nHost: b',
    'host:',
    'X-A: b',
    'Connection: close',
    'Connection: upgrade\r\nUpgrade: websocket',
  ],
  ...[
    'Upgrade: h2c',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding : chunked',
    'Content-Encoding: gzip',
  ],
  ...[
    'Expect: 100-continue',
    'Expect: nothing',
    'Content-Type: text/plain',
    'Accept-Encoding: br',
    'Origin: http://a',
    'CONSISTENT-HASH: true',
  ],
  ...[
    'CONSISTENT-HASH: maybe',
    'Range: bytes=0-1',
    'Cookie: a=b',
    'X-Forwarded-For: 1.2.3.4',
    'A\tB: c',
    `Long: ${'z'.repeat(20_000)}`,
  ],
]
/** A good request but for a part or two. */
function requestOf(random: (below: number) => number, mark: string): Buffer {
  const pick = <One>(from: readonly One[]): One => from[random(from.length)] as One
  const mostly = <One>(good: One, any: readonly One[]): One => (random(4) === 0 ? pick(any) : good)
  const body = Buffer.from(
    mostly(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":["${mark}"]}`, HOSTILE_CALLS),
  )
  const native = [PLACES[1], 'GET', `/eth/v1/node/syncing?x=${mark}`] as const
  const [place, verb, tail] = random(3) === 0 ? native : [PLACES[0], 'POST', '']
  const length = mostly(`Content-Length: ${body.length}`, [
    `Content-Length: ${random(99)}`,
    'Content-Length: -1',
    'X: y',
  ])
  const headers = ['Host: a', length, mostly('Accept: */*', HEADERS), mostly('X-A: b', HEADERS)]
  const version = mostly('HTTP/1.1', ['HTTP/1.0', 'HTTP/2.0', 'HTCPCP/1.0'])
  const ofDemo = `${mostly(place as string, PLACES)}${mostly(tail, TAILS)}`
  const target = random(2) === 0 ? ofDemo : ofDemo.replace(TOKEN, OTHER_TOKEN)
  const head = `${mostly(verb, VERBS)} ${target} ${version}\r\n${headers.join('\r\n')}\r\n\r\n`
  const bytes = Buffer.concat([Buffer.from(head), body])
  // Now and then a few bytes are others.
  for (let flips = random(8) === 0 ? random(6) : 0; flips > 0; flips--) bytes[random(bytes.length)] = random(256)
  return bytes
}

/** What came until the other side was silent or gone; whoever leaves early is a client, too. */
function send(bytes: Buffer, leavesAfterMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1')
    const timer = setTimeout(() => reject(new Error(`no end of ${bytes.subarray(0, 300).toString()}`)), ANSWER_MS_MAX)
    setTimeout(() => socket.destroy(), leavesAfterMs)
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      setTimeout(() => socket.destroy(), 10)
    })
    socket.on('error', () => {
      // A connection that is reset is an answer to some of these.
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    socket.write(bytes)
  })
}

const services = ['ethereum', 'ethereum2'].map((name) => protocolOf(name)?.services[0] as Service)

test('hostile requests of two accounts end, none in a failure of ours or in what another one asked, and a node gets none that is no route for everybody', async () => {
  const random = randomOf(20261124)
  const statuses = new Map<string, number>()
  const bad: string[] = []
  let left = tries(10_000, 100_000)
  let marked = 0
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const bytes = requestOf(random, `mark-${left}`)
      const text = await send(bytes, random(5) === 0 ? random(5) : 200)
      for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        // 503: a network that has no node.
        if (/^5/.test(status) && status !== '503') bad.push(`${status}: ${bytes.subarray(0, 400).toString()}`)
      }
      const isTold = [`:${node.port}`, TOKEN, OTHER_TOKEN].some((secret) => text.includes(secret))
      const own = marksIn(bytes.toString('latin1'))
      marked += marksIn(text).length
      if (isTold || marksIn(text).some((mark) => !own.includes(mark))) bad.push(`told: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  expect(bad).toEqual([])
  expect(marked).toBeGreaterThan(1_000)
  for (const status of ['200', '400', '401', '403', '404', '503'])
    expect(statuses.get(status), status).toBeGreaterThan(0)
  for (const [i, stub] of [node, beacon].entries())
    for (const { verb, path, body } of stub.got) {
      expect(matchRoute(services[i] as Service, verb, path.replace(/\?.*$/s, '')), `${verb} ${path}`).toBeDefined()
      // Bodies of native requests are the node's to read.
      if (stub === node) {
        expect(body).not.toContain('admin_peers')
        const calls = [JSON.parse(body)].flat() as readonly { readonly method?: unknown }[]
        expect(calls.length > 0 && calls.every((call) => typeof call?.method === 'string'), body).toBe(true)
      }
    }
  expect((await gateway.call('ethereum/mainnet', 'eth_chainId')).status).toBe(200)
}, 600_000)
