import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows } from './api-fixture.ts'
import {
  type GivenGateway,
  networkOn,
  openGivenGateway,
  openStub,
  rpcAnswer,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'

// Nodes that are there, answer at once, and say nothing that is of use to a client. A day of each account has one unit.

const [NEAR, COSMOS, LONE, TON] = ['near/mainnet', 'cosmos/mainnet', 'eos/mainnet', 'ton/mainnet/v2']
const KEYS = ['page', 'empty', 'lone', 'batch']
const open = new AsyncDisposableStack()
const nodes: Stub[] = []
const natives: Stub[] = []
let lone: Stub
let ton: Stub
let gateway: GivenGateway
beforeAll(async () => {
  for (let i = 0; i < 2; i++) {
    nodes.push(open.use(await openStub('near', 'mainnet')))
    natives.push(open.use(await openStub('cosmos', 'mainnet')))
  }
  lone = open.use(await openStub('eos', 'mainnet'))
  ton = open.use(await openStub('ton', 'mainnet', 'v2'))
  const counters = open.use(await openMemoryCounters())
  const planOf = (account: string) =>
    KEYS.includes(account) ? { name: 'default', requestsPerDay: 1 } : { name: 'unlimited' }
  const meter = open.use(new Meter({ counters, clientCounters: counters, planOf, log: silentLog }))
  const networks = [
    networkOn(NEAR, ...nodes),
    networkOn(COSMOS, ...natives),
    networkOn(LONE, lone),
    networkOn(TON, ton),
  ]
  gateway = open.use(await openGivenGateway(networks, { meter }))
  const rows = KEYS.map((key) => ({ token_hash: hashToken(key), account: key, version: 2, is_deleted: 0 }))
  await insertRows(gateway.given.warehouse, 'access_tokens', rows)
  for (const place of [NEAR, COSMOS, LONE, TON]) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())
beforeEach(() => {
  for (const node of [...nodes, ...natives, lone]) {
    node.answer = rpcAnswer
    node.got.length = 0
  }
})

const call = (token?: string) =>
  gateway.ask(NEAR, {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":7,"method":"gas_price","params":[null]}',
    ...(token === undefined ? {} : { token }),
  })
const supply = () => gateway.ask(COSMOS, { path: '/cosmos/bank/v1beta1/supply' })

/** Words of a provider, with what no client is to see. */
const BILL = { message: 'limit exceeded: upgrade at http://secret.example/KEY123' }

describe('a node whose proxy says something instead of it', () => {
  test.each([
    ['503 in JSON', (response: Parameters<Stub['answer']>[1]) => sendJson(response, BILL, 503)],
    ['500 in JSON', (response: Parameters<Stub['answer']>[1]) => sendJson(response, BILL, 500)],
    ['404 in JSON', (response: Parameters<Stub['answer']>[1]) => sendJson(response, { error: 'Not Found' }, 404)],
    ['407', (response: Parameters<Stub['answer']>[1]) => sendJson(response, BILL, 407)],
    ['nothing', (response: Parameters<Stub['answer']>[1]) => response.writeHead(200).end()],
    ['no content', (response: Parameters<Stub['answer']>[1]) => response.writeHead(204).end()],
    [
      'a bill in an error of JSON-RPC',
      (response: Parameters<Stub['answer']>[1]) =>
        sendJson(response, { jsonrpc: '2.0', id: 7, error: { code: 429, ...BILL } }),
    ],
  ])('harms no read: %s', async (_what, say) => {
    const [bad] = nodes as [Stub, Stub]
    bad.answer = (_got, response) => void say(response)
    for (let i = 0; i < 20; i++) {
      const response = await call()
      expect([response.status, await response.json()]).toEqual([200, { jsonrpc: '2.0', id: 7, result: '0x2a' }])
    }
  })

  test('is left out once most of its calls have failed', async () => {
    const [bad] = nodes as [Stub, Stub]
    bad.answer = (_got, response) => sendJson(response, BILL, 503)
    const faultOf = () => gateway.upstreams.status().find(({ name }) => name === NEAR)?.upstreams[0]?.fault
    await expect
      .poll(async () => {
        await Promise.all(Array.from({ length: 20 }, () => call()))
        return faultOf()
      })
      .toBe('calls to it fail')
    bad.got.length = 0
    await Promise.all(Array.from({ length: 20 }, () => call()))
    expect(bad.got.length).toBeLessThan(5)
  })

  test('costs nothing where all do, and nothing of its words is told', async () => {
    for (const node of nodes) node.answer = (_got, response) => sendJson(response, BILL, 503)
    for (let i = 0; i < 3; i++) {
      const response = await call('page')
      const text = await response.text()
      expect([response.status, text]).toMatchObject([502, expect.stringContaining('-32603')])
      expect(text).not.toMatch(/secret|KEY123|limit/)
    }
    for (const node of nodes) node.answer = rpcAnswer
    await expect.poll(async () => (await call('page')).status).toBe(200)
    expect((await call('page')).status).toBe(429)
  })
})

describe('a native interface that cannot answer', () => {
  test.each([502, 503, 504])('harms no read: %i', async (status) => {
    const [bad] = natives as [Stub, Stub]
    bad.answer = (_got, response) => sendJson(response, { message: 'not now' }, status)
    for (let i = 0; i < 10; i++) expect((await supply()).status).toBe(200)
  })

  test('and is the only one is heard, for nothing', async () => {
    const words = { code: 503, message: 'chain plugin is busy', error: { what: 'later' } }
    const info = () => gateway.ask(LONE, { path: '/v1/chain/get_abi?account_name=a', token: 'lone' })
    lone.answer = (_got, response) => sendJson(response, words, 503)
    for (let i = 0; i < 3; i++) {
      const response = await info()
      expect([response.status, await response.json()]).toEqual([503, words])
    }
    lone.answer = rpcAnswer
    expect([(await info()).status, (await info()).status]).toEqual([200, 429])
  })

  test('answers by 500 what it is asked: others are not asked, and it counts', async () => {
    for (const node of natives) node.answer = (_got, response) => sendJson(response, { code: 5 }, 500)
    expect((await supply()).status).toBe(500)
    expect(natives.reduce((sum, { got }) => sum + got.length, 0)).toBe(1)
  })
})

test('a batch that the day has no units for keeps what else was refused of it', async () => {
  const items = [
    { jsonrpc: '2.0', id: 1, method: 'EXPERIMENTAL_nothing' },
    { jsonrpc: '2.0', id: 2, method: 7 },
    { jsonrpc: '2.0', id: 3, method: 'status' },
  ]
  const ask = async () => {
    const response = await gateway.ask(NEAR, { method: 'POST', body: JSON.stringify(items), token: 'batch' })
    const body = (await response.json()) as readonly { readonly id: number; readonly error?: { code: number } }[]
    return body.map(({ id, error }) => [id, error?.code])
  }
  // Two units of one.
  expect(await ask()).toEqual([
    [1, -32005],
    [2, -32600],
    [3, -32005],
  ])
})

test('TON’s calls by JSON-RPC are those of its list', async () => {
  const ask = async (method: string) =>
    (
      await gateway.ask('ton/mainnet', {
        path: '/api/v2/jsonRPC',
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }),
      })
    ).status
  expect([await ask('getMasterchainInfo'), await ask('sendBoc'), await ask('getLibraries'), await ask('foo')]).toEqual([
    200, 200, 403, 403,
  ])
  expect(ton.got.map(({ body }) => (JSON.parse(body) as { method: string }).method)).toEqual([
    'getMasterchainInfo',
    'sendBoc',
  ])
})
