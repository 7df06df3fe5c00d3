import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { openApi } from '../../api/http/server.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { tries } from '../long-form.ts'
import { silentLog } from '../unit/silent-log.ts'
import { TOKEN } from './given-api.ts'
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
import {
  givenKey,
  handshake,
  openClient,
  parseRaw,
  type SocketStub,
  sendRaw,
  socketsOn,
  socketUrl,
  withSockets,
} from './given-socket.ts'

const UPGRADE = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13']
const ETHEREUM = 'ethereum/mainnet'

let node: Stub
let doge: Stub
let beacon: Stub
let ripple: Stub
let rippleSockets: SocketStub
let gateway: GivenGateway
beforeAll(async () => {
  node = await openStub('ethereum', 'mainnet')
  doge = await openStub('dogecoin', 'mainnet')
  beacon = await openStub('ethereum2', 'mainnet')
  ripple = await openStub('xrp', 'mainnet')
  withSockets(node)
  rippleSockets = withSockets(ripple)
  gateway = await openGivenGateway([
    socketsOn(ETHEREUM, node),
    networkOn('ethereum/sepolia', node),
    networkOn('dogecoin/mainnet', doge),
    socketsOn('xrp/mainnet', ripple),
    networkOn('ethereum2/mainnet', beacon),
  ])
  await untilHealthy(gateway, 'ethereum2/mainnet')
  await untilHealthy(gateway, ETHEREUM)
  await untilHealthy(gateway, 'dogecoin/mainnet')
  await untilHealthy(gateway, 'xrp/mainnet')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const stub of [node, doge, beacon, ripple]) await stub[Symbol.asyncDispose]()
})
beforeEach(() => {
  node.got.length = 0
  node.answer = rpcAnswer
})

const refusedAt = async (path: string, ...more: readonly string[]) =>
  parseRaw(await sendRaw(gateway, ...handshake(path, ...more)))
const NOT_FOUND = [404, { code: 404, message: 'Path Not Found' }]
const failed = (status: number, code: number, message: string) => [
  status,
  { jsonrpc: '2.0', id: null, error: { code, message } },
]

describe('before it is a WebSocket', () => {
  test.each([
    ['no network of the protocol', `/ws/ethereum/nowhere/${TOKEN}`],
    ['a network without WebSocket', `/ws/bitcoin/mainnet/${TOKEN}`],
    ['no protocol', `/ws/toString/mainnet/${TOKEN}`],
    ['public access', '/ws/public/ethereum/mainnet'],
    ['more behind the token', `/ws/ethereum/mainnet/${TOKEN}/more`],
    ['a path of calls', `/ethereum/mainnet/${TOKEN}`],
    ['a path of the API', '/health'],
  ])('%s is not found', async (_what, path) => {
    expect(await refusedAt(path, ...UPGRADE)).toEqual(NOT_FOUND)
  })

  test('a key that is none is told so, and a network without nodes, or without nodes that have WebSocket', async () => {
    expect(await refusedAt('/ws/ethereum/mainnet/none', ...UPGRADE)).toEqual(
      failed(401, -32001, 'Authentication failed'),
    )
    const none = failed(503, -32011, 'Service Unavailable: no node is configured for this network')
    expect(await refusedAt(`/ws/ethereum/holesky/${TOKEN}`, ...UPGRADE)).toEqual(none)
    expect(await refusedAt(`/ws/ethereum/sepolia/${TOKEN}`, ...UPGRADE)).toEqual(
      failed(503, -32011, 'Service Unavailable: no node with a WebSocket is configured for this network'),
    )
  })

  test.each([
    ['another version', 426, ['Upgrade: websocket', 'Sec-WebSocket-Version: 8']],
    ['no version', 426, ['Upgrade: websocket']],
    ['two upgrades', 400, [...UPGRADE, 'Upgrade: websocket']],
    ['another protocol beside it', 400, ['Upgrade: h2c, websocket', 'Sec-WebSocket-Version: 13']],
    ['a body', 400, [...UPGRADE, 'Content-Length: 5']],
    ['a body in pieces', 400, [...UPGRADE, 'Transfer-Encoding: chunked']],
    ['two keys', 400, [...UPGRADE, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
  ])('%s is refused', async (_what, status, more) => {
    const [told] = await refusedAt(`/ws/${ETHEREUM}/${TOKEN}`, ...more)
    expect(told).toBe(status)
  })

  test('a client that would rather speak HTTP/2 is answered as it asks', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    const answer = await sendRaw(
      gateway,
      `POST /${ETHEREUM}/${TOKEN} HTTP/1.1`,
      'Host: localhost',
      'Connection: Upgrade, HTTP2-Settings, close',
      'Upgrade: h2c',
      `Content-Length: ${body.length}`,
      '',
      body,
    )
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })
})

describe('a call', () => {
  test('goes to a node as it is, and comes back as it is', async () => {
    const answer = '{ "result":"0x1",  "id" : 12345678901234567890, "jsonrpc":"2.0"}'
    node.answer = (_got, response) => response.end(answer)
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    const call = '{"jsonrpc":"2.0",\n"id":12345678901234567890,"method":"eth_blockNumber","params":[]}'
    expect(await client.ask(call)).toBe(answer)
    expect(await client.ask(Buffer.from(call))).toBe(answer)
    expect(node.got.map(({ verb, path, body }) => [verb, path, body])).toEqual(Array(2).fill(['POST', '/', call]))
  })

  test('is refused as over HTTP, and the connection stays open', async () => {
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    expect(await client.ask('{"jsonrpc":"2.0","id":"a\\u0062","method":"admin_peers"}')).toBe(
      '{"jsonrpc":"2.0","id":"a\\u0062","error":{"code":-32601,"message":"Method not allowed: admin_peers"}}',
    )
    const codeOf = async (text: string) =>
      (JSON.parse(await client.ask(text)) as { error: { code: number } }).error.code
    expect(await codeOf('{"method"')).toBe(-32700)
    expect(await codeOf('[]')).toBe(-32600)
    expect(await codeOf('{"method":"eth_chainId","m\\u0065thod":"admin_peers","id":1}')).toBe(-32600)
    expect(node.got).toEqual([])
    node.answer = (_got, response) => sendJson(response, {}, 429)
    expect(await codeOf('{"id":1,"method":"eth_chainId"}')).toBe(-32603)
    node.answer = rpcAnswer
    const batch = JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId' })))
    expect(JSON.parse(await client.ask(batch))).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: '0x2a' })))
  })

  test('is answered in a batch with something that is none, which has an error of its own', async () => {
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    const invalid = (id: unknown, why: string) => ({
      ...{ jsonrpc: '2.0', id },
      error: { code: -32600, message: `Invalid Request: ${why}` },
    })
    const noCall = invalid(null, 'the batch has something here that is no call')
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }
    expect(JSON.parse(await client.ask(JSON.stringify([{ id: 5 }, call, 1])))).toEqual([
      invalid(5, 'the call has no method'),
      { jsonrpc: '2.0', id: 1, result: '0x2a' },
      noCall,
    ])
    expect(node.got.map(({ body }) => body)).toEqual([JSON.stringify([call])])
    expect(JSON.parse(await client.ask('[1,2]'))).toEqual([noCall, noCall])
  })

  test('of one client is never answered to another, whatever their ids are', async () => {
    const isOf = (from: string, text: string) => text.includes(`"result":"${from}"`) && text.includes('"id":1')
    node.answer = ({ body }, response) => {
      const { id, params } = JSON.parse(body) as { id: number; params: readonly string[] }
      setTimeout(() => sendJson(response, { jsonrpc: '2.0', id, result: params[0] }), Math.random() * 20)
    }
    await Promise.all(
      Array.from({ length: 20 }, async (_one, index) => {
        using client = await openClient(socketUrl(gateway, ETHEREUM))
        for (let turn = 0; turn < 5; turn++) {
          const mine = `${index}-${turn}`
          const answer = await client.ask(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [mine] }))
          expect(isOf(mine, answer), answer).toBe(true)
        }
      }),
    )
  })

  test('over a chain that has no WebSocket goes over HTTP, and its errors come back', async () => {
    const answer = '{"result":null,"error":{"code":-5,"message":"Block not found"},"id":"x"}\n'
    doge.answer = (_got, response) => response.writeHead(500).end(answer)
    using client = await openClient(socketUrl(gateway, 'dogecoin/mainnet'))
    expect(await client.ask('{"id":"x","method":"getblock","params":["00"]}')).toBe(answer)
  })

  test('of XRP is named by its command', async () => {
    rippleSockets.answer = (text, socket) =>
      socket.send(`{"id":${(JSON.parse(text) as { id: number }).id},"type":"response"}`)
    using client = await openClient(socketUrl(gateway, 'xrp/mainnet'))
    expect(await client.ask('{"id":7,"command":"server_info"}')).toBe('{"id":7,"type":"response"}')
    for (const refused of [
      '{"id":7,"command":"stop"}',
      '{"id":7,"command":"batch","params":[{"method":"stop"}]}',
      '{"id":7,"command":"stop\\u0000"}',
      '{"id":7,"method":"stop"}',
      '{"id":7,"command":"ping","method":"stop"}',
      '[{"id":7,"command":"ping"}]',
      '[{"id":7,"command":"ping"},1]',
      '[1]',
    ])
      expect(await client.ask(refused), refused).toContain('"error":{"code"')
    expect(rippleSockets.got).toEqual(['{"id":7,"command":"server_info"}'])
    for (const socket of rippleSockets.sockets) socket.terminate()
    expect(await client.closed).toEqual({ code: 1012, reason: 'the node is lost' })
  })
})

describe('a socket', () => {
  test('is closed within a second of its key being revoked, and so are streams of events', async () => {
    const key = await givenKey(gateway, 'to-be-revoked')
    using client = await openClient(socketUrl(gateway, ETHEREUM, 'to-be-revoked'))
    using other = await openClient(socketUrl(gateway, ETHEREUM))
    beacon.answer = (_got, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
    const events = await gateway.ask('ethereum2/mainnet', { token: 'to-be-revoked', path: '/eth/v1/events' })
    const ended = events.text().catch((error: unknown) => error)
    await key.revoke()
    const from = performance.now()
    expect(await ended).toBeInstanceOf(Error)
    expect(await client.closed).toEqual({ code: 1008, reason: 'Authentication failed' })
    expect(performance.now() - from).toBeLessThan(1_000)
    expect(JSON.parse(await other.ask('{"id":1,"method":"eth_chainId"}'))).toMatchObject({ result: '0x2a' })
  })

  test('that is being closed is not heard any more', async () => {
    const key = await givenKey(gateway, 'deaf')
    const { hostname, port } = new URL(gateway.api.url)
    const socket = connect(Number(port), hostname)
    let heard = ''
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1')
    })
    socket.write(`${handshake(`/ws/${ETHEREUM}/deaf`, ...UPGRADE).join('\r\n')}\r\n\r\n`)
    const call = '{"id":1,"method":"eth_sendRawTransaction","params":["0x01"]}'
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | call.length, 0, 0, 0, 0]), Buffer.from(call)])
    socket.write(frame)
    await expect.poll(() => node.got.length).toBe(1)
    await key.revoke()
    await expect.poll(() => heard).toContain('Authentication failed')
    // It answers that it closes behind another call alone.
    socket.write(Buffer.concat([frame, Buffer.from([0x88, 0x80, 0, 0, 0, 0])]))
    await once(socket, 'close')
    await gateway.call(ETHEREUM, 'eth_chainId')
    expect(node.got.map(({ body }) => (JSON.parse(body) as { method: string }).method)).toEqual([
      'eth_sendRawTransaction',
      'eth_chainId',
    ])
  })

  test('that sends what is no WebSocket, or no text, is closed and harms nobody', async () => {
    const frames = [
      Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]), // invalid UTF-8
      Buffer.from([0xff, 0xff, 0, 0]), // reserved bits
      Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]), // longer than anything
      Buffer.from([0x81, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f]), // unmasked
      Buffer.concat(Array.from({ length: 5_000 }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x20]))), // fragments of nothing
      Buffer.concat([
        Buffer.from([0x01, 0x81, 0, 0, 0, 0, 0x20]),
        ...Array.from({ length: 5_000 }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x20])),
      ]), // too many
      ...Array.from({ length: tries(50, 2_000) }, () => randomBytes(1 + Math.floor(Math.random() * 200))),
    ]
    const { hostname, port } = new URL(gateway.api.url)
    for (const frame of frames) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.write(`${handshake(`/ws/${ETHEREUM}/${TOKEN}`, ...UPGRADE).join('\r\n')}\r\n\r\n`)
      await new Promise((resolve) => socket.once('data', resolve))
      socket.resume()
      socket.end(frame)
      await new Promise((resolve) => socket.once('close', resolve))
    }
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    expect(JSON.parse(await client.ask('{"id":1,"method":"eth_chainId"}'))).toMatchObject({ result: '0x2a' })
  })

  test('whose client reads no answers has its calls held back', async () => {
    const answer = `{"jsonrpc":"2.0","id":1,"result":"${'0'.repeat(4 * 1024 * 1024)}"}`
    node.answer = (_got, response) => response.end(answer)
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    client.socket.pause()
    for (let call = 0; call < 500; call++) client.socket.send('{"id":1,"method":"eth_call"}')
    await expect.poll(() => node.got.length).toBeGreaterThan(10)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(node.got.length).toBeLessThan(200)
  })

  test('that asks in many bytes is not read while they are not answered', async () => {
    const waiting: (() => void)[] = []
    node.answer = (got, response) => void waiting.push(() => rpcAnswer(got, response))
    using client = await openClient(socketUrl(gateway, ETHEREUM))
    const answers: string[] = []
    client.socket.on('message', (data) => answers.push(String(data)))
    const bytes = 'x'.repeat(4 * 1024 * 1024)
    for (let id = 0; id < 12; id++) client.socket.send(`{"id":${id},"method":"eth_call","params":["${bytes}"]}`)
    // A socket of before may have calls on their way.
    const got = () => node.got.filter(({ body }) => body.length > bytes.length).length
    await expect.poll(got, { timeout: 20_000 }).toBe(8)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(got()).toBe(8)
    const answerAll = (): number => {
      for (const answer of waiting.splice(0)) answer()
      return answers.length
    }
    await expect.poll(answerAll, { timeout: 20_000 }).toBe(12)
  }, 60_000)

  test('of XRP whose client reads nothing has its node held back, and hears all of it in the end', async () => {
    const MESSAGES = 96
    const told = `{"type":"ledgerClosed","padding":"${'0'.repeat(1024 * 1024)}"}`
    using client = await openClient(socketUrl(gateway, 'xrp/mainnet'))
    rippleSockets.answer = (text, socket) => socket.send(text)
    await client.ask('{"id":1,"command":"subscribe","streams":["ledger"]}')
    const [toGateway] = [...rippleSockets.sockets].slice(-1) as [WebSocket]
    client.socket.pause()
    for (let i = 0; i < MESSAGES; i++) toGateway.send(told)
    const unread = async (): Promise<boolean> => {
      const before = toGateway.bufferedAmount
      await new Promise((resolve) => setTimeout(resolve, 300))
      return before === toGateway.bufferedAmount && before > (MESSAGES / 2) * told.length
    }
    await expect.poll(unread).toBe(true)
    client.socket.resume()
    await expect.poll(() => client.heard.length).toBe(1 + MESSAGES)
    expect(client.heard.slice(1).every((text) => text === told)).toBe(true)
  })

  test('of XRP whose node reads nothing has its client held back, and all of it arrives in the end', async () => {
    const MESSAGES = 400
    const asked = `{"id":1,"command":"ping","padding":"${'0'.repeat(256 * 1024)}"}`
    // Who reads nothing answers no ping: with looks as far apart as these it is not lost for it.
    const networks = [socketsOn('xrp/mainnet', ripple)]
    await using upstreams = openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: 60_000 })
    await using api = await openApi({ ...gateway.given.partsOf([]), upstreams, host: '127.0.0.1', port: 0 })
    await untilHealthy({ upstreams }, 'xrp/mainnet')
    using client = await openClient(socketUrl({ api }, 'xrp/mainnet'))
    rippleSockets.answer = (text, socket) => socket.send(text)
    await client.ask('{"id":1,"command":"fee"}')
    const [toGateway] = [...rippleSockets.sockets].slice(-1) as [WebSocket]
    toGateway.pause()
    rippleSockets.got.length = 0
    rippleSockets.answer = () => {}
    for (let i = 0; i < MESSAGES; i++) client.socket.send(asked)
    const unread = async (): Promise<boolean> => {
      const before = client.socket.bufferedAmount
      await new Promise((resolve) => setTimeout(resolve, 300))
      return before === client.socket.bufferedAmount && before > (MESSAGES / 4) * asked.length
    }
    await expect.poll(unread).toBe(true)
    toGateway.resume()
    await expect.poll(() => rippleSockets.got.length).toBe(MESSAGES)
  })
})
