import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashToken } from '../../schemas/events/accounts.ts'
import { insertRows } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import {
  type GivenGateway,
  openGivenGateway,
  openStub,
  rpcAnswer,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'
import {
  handshake,
  openClient,
  parseRaw,
  type SocketStub,
  sendRaw,
  socketsOn,
  socketUrl,
  withSockets,
} from './given-socket.ts'

// Nodes that all share, nodes of an order, and an order whose nodes nobody has named.

const ETHEREUM = 'ethereum/mainnet'
const [ORDER, OTHER_ORDER] = [`ord_${'1'.repeat(16)}`, `ord_${'2'.repeat(16)}`]
const [OWN, OTHER] = ['token-of-order', 'token-of-other-order']
const UNTIL_MS = Date.parse('2027-01-01T00:00:00.000Z')
const BEFORE_MS = UNTIL_MS - 1

let nowMs = BEFORE_MS
let shared: Stub[]
let own: Stub[]
let sharedSockets: SocketStub[]
let ownSockets: SocketStub[]
let gateway: GivenGateway
const networks = () => ({
  common: socketsOn(ETHEREUM, ...shared),
  dedicated: { ...socketsOn(ETHEREUM, ...own), order: ORDER },
})
beforeAll(async () => {
  const open = () => Promise.all([1, 2].map(() => openStub('ethereum', 'mainnet')))
  ;[shared, own] = [await open(), await open()]
  ;[sharedSockets, ownSockets] = [shared.map(withSockets), own.map(withSockets)]
  const { common, dedicated } = networks()
  gateway = await openGivenGateway([common, dedicated], { wallNow: () => nowMs })
  await insertRows(
    gateway.given.warehouse,
    'access_tokens',
    [[OWN, ORDER] as const, [OTHER, OTHER_ORDER] as const].map(([token, order]) => ({
      ...{ token_hash: hashToken(token), account: 'demo', families: 'gateway', only_chain: 'mainnet' },
      ...{ order_id: order, order_until: new Date(UNTIL_MS).toISOString(), version: 1, is_deleted: 0 },
    })),
  )
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const stub of [...shared, ...own]) await stub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  nowMs = BEFORE_MS
  await untilHealthy(gateway, ETHEREUM)
  await untilHealthy(gateway, ETHEREUM, { order: ORDER })
  for (const stub of [...shared, ...own]) {
    stub.got.length = 0
    stub.answer = rpcAnswer
  }
  for (const socket of [...sharedSockets, ...ownSockets]) socket.got.length = 0
})
afterEach(() => {
  const { common, dedicated } = networks()
  gateway.upstreams.replace([common, dedicated])
})

const gotBy = (stubs: readonly Stub[]): number => stubs.reduce((sum, { got }) => sum + got.length, 0)
const post = async (token: string, body: unknown) => {
  const response = await gateway.ask(ETHEREUM, { token, method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: await response.json() }
}
const call = (method: string, params: readonly unknown[] = []) => ({ jsonrpc: '2.0', id: 7, method, params })
const CALLS = [
  call('eth_blockNumber'),
  [call('eth_blockNumber'), call('eth_getBalance', ['0x00', 'earliest'])],
  call('eth_getBalance', ['0x00', 'earliest']),
  call('eth_newBlockFilter'),
  call('vendor_unknown'),
]

describe('calls with a key of an order', () => {
  test('go to its nodes, and those of nobody else do', async () => {
    for (const body of CALLS) expect(await post(OWN, body), JSON.stringify(body)).toMatchObject({ status: 200 })
    expect([gotBy(own), gotBy(shared)]).toEqual([CALLS.length, 0])
    for (const body of CALLS) expect(await post(TOKEN, body), JSON.stringify(body)).toMatchObject({ status: 200 })
    expect([gotBy(own), gotBy(shared)]).toEqual([CALLS.length, CALLS.length])
    for (const body of CALLS) expect(await post(OTHER, body), JSON.stringify(body)).toMatchObject({ status: 503 })
    expect([gotBy(own), gotBy(shared)]).toEqual([CALLS.length, CALLS.length])
  })

  test('tell a signed transaction to all of its nodes, and to none that others share', async () => {
    const send = call('eth_sendRawTransaction', ['0x00'])
    expect(await post(OWN, send)).toMatchObject({ status: 200 })
    expect([...own, ...shared].map(({ got }) => got.length)).toEqual([1, 1, 0, 0])
    expect(await post(TOKEN, send)).toMatchObject({ status: 200 })
    expect([...own, ...shared].map(({ got }) => got.length)).toEqual([1, 1, 1, 1])
  })

  test('do not find filters of nodes that others share, nor do others find theirs', async () => {
    const unknown = { status: 200, body: { error: { message: 'filter not found' } } }
    for (const [mine, theirs] of [
      [OWN, TOKEN],
      [TOKEN, OWN],
    ] as const) {
      const { result } = (await post(mine, call('eth_newFilter', [{}]))).body
      expect(await post(mine, call('eth_getFilterChanges', [result]))).toMatchObject({ status: 200 })
      expect(await post(theirs, call('eth_getFilterChanges', [result]))).toMatchObject(unknown)
    }
    expect([gotBy(own), gotBy(shared)]).toEqual([2, 2])
  })

  test('are refused where its nodes refuse them, or have gone, though others are well; and the other way round', async () => {
    for (const stub of own) stub.answer = (_got, response) => sendJson(response, {}, 429)
    expect((await post(OWN, call('eth_blockNumber'))).status).toBe(502)
    expect([gotBy(own) > 0, gotBy(shared)]).toEqual([true, 0])
    const { common, dedicated } = networks()
    const ownBefore = gotBy(own)
    gateway.upstreams.replace([common])
    expect((await post(OWN, call('eth_blockNumber'))).status).toBe(503)
    gateway.upstreams.replace([dedicated])
    await untilHealthy(gateway, ETHEREUM, { order: ORDER })
    expect((await post(TOKEN, call('eth_blockNumber'))).status).toBe(503)
    expect([gotBy(own), gotBy(shared)]).toEqual([ownBefore, 0])
  })

  test('are refused from the end of the order on', async () => {
    nowMs = UNTIL_MS
    const { status, body } = await post(OWN, call('eth_blockNumber'))
    expect([status, body.error.message]).toEqual([401, 'Authentication failed: the order of the token has expired'])
    expect(await post(TOKEN, call('eth_blockNumber'))).toMatchObject({ status: 200 })
    expect(gotBy(own)).toBe(0)
  })
})

describe('a socket with a key of an order', () => {
  test('asks its nodes, and shares no subscription with who is elsewhere', async () => {
    for (const node of [...sharedSockets, ...ownSockets])
      node.answer = (text, socket) => {
        const { id, method, params } = JSON.parse(text)
        if (method !== 'eth_subscribe') return
        const result = ownSockets.includes(node) ? '0xaa' : '0xbb'
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }))
        const told = {
          jsonrpc: '2.0',
          method: 'eth_subscription',
          params: { subscription: result, result: `${result} ${params[0]}` },
        }
        socket.send(JSON.stringify(told))
      }
    using mine = await openClient(socketUrl(gateway, ETHEREUM, OWN))
    using theirs = await openClient(socketUrl(gateway, ETHEREUM))
    const subscribe = JSON.stringify(call('eth_subscribe', ['newPendingTransactions']))
    for (const client of [mine, theirs]) client.socket.send(subscribe)
    const told = (heard: readonly string[]) => heard.flatMap((text) => JSON.parse(text).params?.result ?? [])
    const SOON = { interval: 10 }
    await expect.poll(() => told(mine.heard), SOON).toEqual(['0xaa newPendingTransactions'])
    await expect.poll(() => told(theirs.heard), SOON).toEqual(['0xbb newPendingTransactions'])
    const subscribed = (nodes: readonly SocketStub[]) => nodes.flatMap(({ got }) => got).length
    expect([subscribed(ownSockets), subscribed(sharedSockets)]).toEqual([1, 1])
    expect(JSON.parse(await mine.ask(JSON.stringify(call('eth_chainId'))))).toMatchObject({ result: '0x2a' })
    expect([gotBy(own), gotBy(shared)]).toEqual([1, 0])
  })

  test('is closed at the end of the order, and not opened after it', async () => {
    using mine = await openClient(socketUrl(gateway, ETHEREUM, OWN))
    using theirs = await openClient(socketUrl(gateway, ETHEREUM))
    nowMs = UNTIL_MS
    expect(await mine.closed).toEqual({ code: 1008, reason: 'Authentication failed' })
    expect(JSON.parse(await theirs.ask(JSON.stringify(call('eth_chainId'))))).toMatchObject({ result: '0x2a' })
    const upgrade = handshake(`/ws/${ETHEREUM}/${OWN}`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')
    const [status] = parseRaw(await sendRaw(gateway, ...upgrade))
    expect(status).toBe(401)
  })

  test('is refused where nobody has named its nodes', async () => {
    const upgrade = handshake(`/ws/${ETHEREUM}/${OTHER}`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')
    const [status] = parseRaw(await sendRaw(gateway, ...upgrade))
    expect(status).toBe(503)
  })
})
