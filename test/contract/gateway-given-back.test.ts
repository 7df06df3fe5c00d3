import { afterAll, beforeAll, expect, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../api/gateway/message-sink.ts'
import { Meter } from '../../api/gateway/meter.ts'
import { openApi } from '../../api/http/server.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import type { Upstreams } from '../../infra/ports/upstreams.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows } from './api-fixture.ts'
import { type GivenGateway, openGivenGateway, openStub, rpcAnswer, type Stub, untilHealthy } from './given-gateway.ts'
import { openClient, socketsOn, socketUrl, withSockets } from './given-socket.ts'

// A day of each account has one unit: what is given back can be taken again.

const PLACE = 'ethereum/mainnet'
const KEYS = ['bytes', 'length', 'broken', 'relay']
const open = new AsyncDisposableStack()
let node: Stub
let ripple: Stub
let gateway: GivenGateway
let meter: Meter
beforeAll(async () => {
  node = open.use(await openStub('ethereum', 'mainnet'))
  withSockets(node)
  // Speaks no WebSocket, although the configuration says so.
  ripple = open.use(await openStub('xrp', 'mainnet'))
  const counters = open.use(await openMemoryCounters())
  const planOf = () => ({ name: 'default', requestsPerDay: 1 })
  meter = open.use(new Meter({ counters, clientCounters: counters, planOf, log: silentLog }))
  gateway = open.use(await openGivenGateway([socketsOn(PLACE, node), socketsOn('xrp/mainnet', ripple)], { meter }))
  const rows = KEYS.map((key) => ({ token_hash: hashToken(key), account: key, version: 2, is_deleted: 0 }))
  await insertRows(gateway.given.warehouse, 'access_tokens', rows)
  for (const place of [PLACE, 'xrp/mainnet']) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())

const CALL = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}'
const long = Buffer.concat([Buffer.from('{"id":7,"result":"'), Buffer.alloc(MESSAGE_BYTES_MAX, 'a'), Buffer.from('"}')])
const codeOf = (answer: string): unknown =>
  (JSON.parse(answer) as { readonly error?: { readonly code: number } }).error?.code

test.each([
  ['bytes that are no text', 'bytes', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
  ['an answer that is longer than a message', 'length', long],
])('%s cost a client of a WebSocket nothing', async (_what, key, answer) => {
  node.answer = (_got, response) => response.end(answer)
  using client = await openClient(socketUrl(gateway, PLACE, key))
  expect([codeOf(await client.ask(CALL)), codeOf(await client.ask(CALL))]).toEqual([-32603, -32603])
  node.answer = rpcAnswer
  expect([codeOf(await client.ask(CALL)), codeOf(await client.ask(CALL))]).toEqual([undefined, -32005])
})

test('a failure of ours that nobody expects costs nothing', async () => {
  let isBroken = true
  const upstreams: Upstreams = {
    groupOf: (...asked) => {
      if (isBroken) throw new Error('broken')
      return gateway.upstreams.groupOf(...asked)
    },
  }
  await using api = await openApi({ ...gateway.given.partsOf([]), upstreams, meter, host: '127.0.0.1', port: 0 })
  const ask = async () => (await fetch(`${api.url}/${PLACE}/broken`, { method: 'POST', body: CALL })).status
  expect([await ask(), await ask()]).toEqual([500, 500])
  isBroken = false
  expect([await ask(), await ask()]).toEqual([200, 429])
})

test('a call that reaches no node over a socket of its own costs nothing', async () => {
  using client = await openClient(socketUrl(gateway, 'xrp/mainnet', 'relay'))
  client.socket.send('{"id":1,"command":"fee"}')
  expect((await client.closed).code).toBe(1013)
  const ask = async () => (await gateway.ask(PLACE, { token: 'relay', method: 'POST', body: CALL })).status
  expect([await ask(), await ask()]).toEqual([200, 429])
})
