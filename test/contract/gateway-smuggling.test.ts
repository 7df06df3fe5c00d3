import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
import { handshake, socketsOn, withSockets } from './given-socket.ts'

// Requests with another one hidden in them, for a proxy that reads their end elsewhere than the gateway does, and answers of nodes that are not over
// where they seem to be.

const PLACE = 'ethereum/mainnet'
const BEACON = 'ethereum2/mainnet'
const TARGET = `/${PLACE}/${TOKEN}`
/** So long nothing more comes. */
const QUIET_MS = 150

const open = new AsyncDisposableStack()
let node: Stub
let beacon: Stub
let gateway: GivenGateway
beforeAll(async () => {
  node = open.use(await openStub('ethereum', 'mainnet'))
  beacon = open.use(await openStub('ethereum2', 'mainnet'))
  withSockets(node)
  gateway = open.use(await openGivenGateway([socketsOn(PLACE, node), networkOn(BEACON, beacon)]))
  for (const place of [PLACE, BEACON]) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())
beforeEach(() => {
  for (const stub of [node, beacon]) {
    stub.got.length = 0
    stub.answer = rpcAnswer
  }
})

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
const HIDDEN_CALL = '{"jsonrpc":"2.0","id":2,"method":"hidden_call"}'
/** A whole request, as the next one of its connection. */
const HIDDEN = `POST ${TARGET} HTTP/1.1\r\nHost: a\r\nContent-Length: ${HIDDEN_CALL.length}\r\n\r\n${HIDDEN_CALL}`
const LENGTH = `Content-Length: ${CALL.length}`
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

/** Sends bytes as they stand; resolves with the statuses of what is answered, and whether the connection is closed then. */
function send(bytes: string): Promise<{ readonly statuses: readonly string[]; readonly isClosed: boolean }> {
  return new Promise((resolve) => {
    let answer = ''
    const { hostname, port } = new URL(gateway.api.url)
    const socket = connect(Number(port), hostname)
    const end = (isClosed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ statuses: [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status), isClosed })
    }
    const timer = setTimeout(() => end(false), 10 * QUIET_MS)
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      timer.refresh()
    })
    socket.on('error', () => {}) // `close` follows
    socket.on('close', () => end(true))
    socket.write(bytes, 'latin1')
  })
}

const head = (...lines: readonly string[]) => [`POST ${TARGET} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n')
const hiddenCalls = () => [...node.got, ...beacon.got].filter(({ body }) => body.includes('hidden_call'))

describe('a request that may be read to end in two places', () => {
  const LONG = `Content-Length: ${CALL.length + HIDDEN.length}`
  test.each([
    ['a length beside chunks', `${head(LONG, 'Transfer-Encoding: chunked')}${chunked(CALL)}${HIDDEN}`],
    ['chunks beside a length', `${head('Transfer-Encoding: chunked', LENGTH)}${chunked(CALL)}${HIDDEN}`],
    ['two lengths', `${head(LENGTH, LONG)}${CALL}${HIDDEN}`],
    ['two lengths in one', `${head(`${LENGTH}, ${CALL.length + HIDDEN.length}`)}${CALL}${HIDDEN}`],
    ['a length with a sign', `${head(`Content-Length: +${CALL.length}`)}${CALL}${HIDDEN}`],
    ['a length in hex', `${head(`Content-Length: 0x${CALL.length.toString(16)}`)}${CALL}${HIDDEN}`],
    ['a blank before the colon of chunks', `${head('Transfer-Encoding : chunked', LENGTH)}${CALL}${HIDDEN}`],
    ['a blank before the colon of a length', `${head(`Content-Length : ${CALL.length}`)}${CALL}${HIDDEN}`],
    ['a coding that is none', `${head('Transfer-Encoding: xchunked', LENGTH)}${CALL}${HIDDEN}`],
    ['a coding behind chunks', `${head('Transfer-Encoding: chunked, identity')}${chunked(CALL)}${HIDDEN}`],
    ['two codings', `${head('Transfer-Encoding: identity', 'Transfer-Encoding: chunked', LENGTH)}${CALL}${HIDDEN}`],
    ['a folded line', `${head('X-A: b', ' Transfer-Encoding: chunked', LENGTH)}${CALL}${HIDDEN}`],
    ['lines that end with LF', `${head(LENGTH).replaceAll('\r\n', '\n')}${CALL}${HIDDEN}`],
    ['a CR in a line', `${head(`X-A: b\rTransfer-Encoding: chunked`, LENGTH)}${CALL}${HIDDEN}`],
    ['a NUL in a line', `${head(`X-A: b\0`, LENGTH)}${CALL}${HIDDEN}`],
    ['two hosts', `${head('Host: b', LENGTH)}${CALL}`],
    ['a chunk that is longer than its size', `${head('Transfer-Encoding: chunked')}1\r\n${CALL}\r\n0\r\n\r\n${HIDDEN}`],
    ['a size of a chunk that is too large', `${head('Transfer-Encoding: chunked')}fffffffffffffffff\r\n${CALL}`],
    ['a size with a sign', `${head('Transfer-Encoding: chunked')}+${chunked(CALL)}${HIDDEN}`],
    [
      'a size that ends with LF',
      `${head('Transfer-Encoding: chunked')}${chunked(CALL).replaceAll('\r\n', '\n')}${HIDDEN}`,
    ],
  ])('is refused, and what may be hidden in it is nobody’s: %s', async (_what, bytes) => {
    const { statuses, isClosed } = await send(bytes)
    expect(statuses).toEqual(['400'])
    expect(isClosed).toBe(true)
    expect(node.got).toEqual([])
  })

  test('has its body to itself, whatever its verb and whoever refuses it', async () => {
    const inside = (first: string) =>
      `${first} HTTP/1.1\r\nHost: a\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`
    for (const first of [
      `GET /${BEACON}/${TOKEN}/eth/v1/node/version`,
      `GET /${BEACON}/none/eth/v1/node/version`,
      `POST /${PLACE}/none`,
      `POST ${TARGET}`,
      `OPTIONS ${TARGET}`,
      `POST /public/${PLACE}`,
      'GET /health',
      `DELETE ${TARGET}`,
    ]) {
      const { statuses } = await send(inside(first))
      expect(statuses, first).toHaveLength(1)
    }
    expect(hiddenCalls()).toEqual([])
  })
})

describe('what comes behind a request for another protocol', () => {
  const upgrade = (path: string, ...more: readonly string[]) =>
    [...handshake(path, 'Upgrade: websocket', ...more), '', ''].join('\r\n')

  test.each([
    ['an unknown key', upgrade(`/ws/${PLACE}/none`, 'Sec-WebSocket-Version: 13'), '401'],
    ['another version', upgrade(`/ws/${PLACE}/${TOKEN}`, 'Sec-WebSocket-Version: 8'), '426'],
    ['no such path', upgrade('/ws/bitcoin/mainnet/x', 'Sec-WebSocket-Version: 13'), '404'],
    ['a path of calls', upgrade(TARGET, 'Sec-WebSocket-Version: 13'), '404'],
    ['two hosts', upgrade(`/ws/${PLACE}/${TOKEN}`, 'Sec-WebSocket-Version: 13', 'Host: b'), '400'],
  ])('is no request where it is refused: %s', async (_what, bytes, status) => {
    expect(await send(`${bytes}${HIDDEN}`)).toEqual({ statuses: [status], isClosed: true })
    expect(hiddenCalls()).toEqual([])
  })

  test('is frames where it is taken', async () => {
    const bytes = upgrade(`/ws/${PLACE}/${TOKEN}`, 'Sec-WebSocket-Version: 13')
    const { statuses, isClosed } = await send(`${bytes}${HIDDEN}`)
    expect([statuses, isClosed]).toEqual([['101'], true])
    expect(hiddenCalls()).toEqual([])
  })

  test('is nobody’s where nobody offers the protocol, and its connection ends behind the answer', async () => {
    const asked = head(
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
      LENGTH,
    )
    expect(await send(`${asked}${CALL}${HIDDEN}`)).toEqual({ statuses: ['200'], isClosed: true })
    expect(node.got.map(({ body, headers }) => [body, headers.upgrade])).toEqual([[CALL, undefined]])
  })
})

describe('a node that answers as if it was asked for another protocol', () => {
  const SWITCHED =
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"id":1}'

  test.each([
    ['a call', { method: 'POST', body: CALL }, PLACE],
    ['a native request', { path: '/eth/v1/node/version' }, BEACON],
    ['a stream of events', { path: '/eth/v1/events?topics=head' }, BEACON],
  ])('has not answered %s, and is no tunnel', async (_what, init, place) => {
    for (const stub of [node, beacon]) stub.answer = (_got, response) => void response.socket?.write(SWITCHED)
    const response = await gateway.ask(place, init)
    expect(response.status).toBe(502)
    expect(await response.text()).toContain('the node did not answer')
  })
})
