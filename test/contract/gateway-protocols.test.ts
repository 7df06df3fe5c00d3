import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodePathOf } from '../../schemas/protocols/match-route.ts'
import type { Protocol, Route, Service } from '../../schemas/protocols/protocol.ts'
import { PROTOCOLS } from '../../schemas/protocols/protocols.ts'
import { publicAccessOf } from '../../schemas/protocols/public-methods.ts'
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
  handshake,
  openClient,
  parseRaw,
  type SocketStub,
  sendRaw,
  socketsOn,
  socketUrl,
  withSockets,
} from './given-socket.ts'

// Every network of every protocol, each before a node of its own.

interface Place {
  readonly name: string
  readonly protocol: Protocol
  readonly network: string
  readonly service: Service
}

const PLACES: readonly Place[] = PROTOCOLS.flatMap((protocol) =>
  Object.keys(protocol.networks).flatMap((network) =>
    protocol.services.map((service) => ({
      name: [protocol.name, network, ...(service.name === '' ? [] : [service.name])].join('/'),
      ...{ protocol, network, service },
    })),
  ),
)

const stubs = new Map<string, Stub>()
/** Of nodes that speak WebSocket. */
const sockets = new Map<string, SocketStub>()
let gateway: GivenGateway
beforeAll(async () => {
  const networks = []
  for (const { name, protocol, network, service } of PLACES) {
    const stub = await openStub(protocol.name, network, service.name)
    stubs.set(name, stub)
    const hasSockets = protocol.webSocket !== undefined && protocol.webSocket.isBridged !== true
    if (hasSockets) sockets.set(name, withSockets(stub))
    networks.push(hasSockets ? socketsOn(name, stub) : networkOn(name, stub))
  }
  gateway = await openGivenGateway(networks)
  for (const { name } of PLACES) await untilHealthy(gateway, name, { ms: 30_000 })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const stub of stubs.values()) await stub[Symbol.asyncDispose]()
})

/** A path that the route matches, with something for each place of its pattern. */
const pathOf = ({ path }: Route): string => path.replaceAll('**', 'a/b').replaceAll('*', 'a1')

test('54 networks of 36 protocols are there', () => {
  expect(new Set(PLACES.map(({ protocol, network }) => `${protocol.name}/${network}`)).size).toBe(54)
  expect(PROTOCOLS).toHaveLength(36)
})

describe.each(PLACES)('$name', ({ name, protocol, network, service }) => {
  const place = `${protocol.name}/${network}`
  const ask = (route: Route, verb: string) => {
    // Of TON those of its list alone.
    const method = protocol.methods?.others?.[0] ?? 'some_method'
    const body = route.form === 'json-rpc' ? { body: JSON.stringify({ jsonrpc: '2.0', id: 7, method }) } : {}
    return gateway.ask(place, { method: verb, path: pathOf(route), ...(verb === 'POST' ? body : {}) })
  }

  test('forwards each of its routes to where its node has it, and nothing else', async () => {
    const stub = stubs.get(name) as Stub
    for (const route of service.routes) {
      for (const verb of route.verbs) {
        stub.got.length = 0
        const response = await ask(route, verb)
        await response.arrayBuffer()
        expect(response.status, `${verb} ${route.path}`).toBe(200)
        expect(stub.got.map((got) => `${got.verb} ${got.path}`)).toEqual([
          `${verb} ${nodePathOf(route, pathOf(route)) || '/'}`,
        ])
      }
    }
    stub.got.length = 0
    for (const path of ['/admin', '/metrics', '/debug/pprof', '/eth%2fv1/node/version', '//'])
      expect((await gateway.ask(place, { path })).status, path).toBe(404)
    expect(stub.got).toEqual([])
  })

  test('refuses an unknown key before anything reaches its node', async () => {
    const stub = stubs.get(name) as Stub
    stub.got.length = 0
    const [route] = service.routes as readonly [Route, ...Route[]]
    const [verb = 'GET'] = route.verbs
    const body = route.form === 'json-rpc' ? { body: '{"method":"x"}' } : {}
    const response = await gateway.ask(place, { token: 'none', method: verb, path: pathOf(route), ...body })
    expect(response.status).toBe(401)
    expect(stub.got).toEqual([])
  })

  test('passes on what its node answers byte for byte, errors too, and nothing that is about us', async () => {
    const stub = stubs.get(name) as Stub
    const [route] = service.routes as readonly [Route, ...Route[]]
    const [verb = 'GET'] = route.verbs
    const answered = async (status: number, body: string) => {
      stub.answer = (_got, response) =>
        response.writeHead(status, { 'content-type': 'application/json', location: 'http://node.example' }).end(body)
      const response = await ask(route, verb)
      return [response.status, await response.text(), response.headers.get('location')]
    }
    const error = '{ "id":7,\n"error" : {"code":-5,"message":"none such, 12345678901234567890"},"result":null}'
    for (const status of [200, 400, 404, 500])
      expect(await answered(status, error), String(status)).toEqual([status, error, null])
    for (const status of [302, 401, 402, 403, 429]) {
      const [told, body, location] = await answered(status, '{"error":{"message":"the plan of key abc is over"}}')
      expect([told, location], String(status)).toEqual([502, null])
      expect(body, String(status)).not.toContain('plan')
    }
    stub.answer = rpcAnswer
  })

  test('has public access only where the specification gives it, for its methods alone', async () => {
    const stub = stubs.get(name) as Stub
    stub.got.length = 0
    const access = publicAccessOf(protocol.name, network)
    const url = `${gateway.api.url}/public/${place}${access === undefined || access.path === '/' ? '' : access.path}`
    const call = (method: string) =>
      fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 7, method }) })
    if (access === undefined) {
      expect((await call('eth_blockNumber')).status).toBe(404)
      return
    }
    for (const method of access.methods) expect((await call(method)).status, method).toBe(200)
    // Filters that nobody has made are no node's.
    const sent = [...access.methods].filter((method) => protocol.methods?.takesFilter.includes(method) !== true)
    expect(stub.got).toHaveLength(sent.length)
    expect((await call('eth_getProof')).status).toBe(403)
    expect(stub.got).toHaveLength(sent.length)
  })

  test('has WebSocket where the specification gives it, at its node’s own path, and is refused it elsewhere before there is one', async () => {
    const refusedAt = async (token: string) => {
      const upgrade = handshake(`/ws/${place}/${token}`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')
      const [status] = parseRaw(await sendRaw(gateway, ...upgrade))
      return status
    }
    const { webSocket, methods } = protocol
    if (webSocket === undefined) {
      expect([await refusedAt(TOKEN), await refusedAt('none')]).toEqual([404, 404])
      return
    }
    expect(await refusedAt('none')).toBe(401)
    using client = await openClient(socketUrl(gateway, place))
    const { path, isBridged, methodKey = 'method' } = webSocket
    const node = sockets.get(name)
    if (node !== undefined)
      node.answer = (text, socket) =>
        socket.send(JSON.stringify({ jsonrpc: '2.0', id: (JSON.parse(text) as { id: number }).id, result: '0x2a' }))
    const call = (method: string) =>
      JSON.stringify({ jsonrpc: '2.0', id: 7, [methodKey]: method, params: ['newPendingTransactions'] })
    const [other = 'some_method'] = methods?.others ?? []
    expect(JSON.parse(await client.ask(call(other)))).toEqual({ jsonrpc: '2.0', id: 7, result: '0x2a' })
    const [subscribe] = Object.keys(methods?.subscribes ?? {})
    expect(subscribe === undefined).toBe(isBridged === true)
    if (node === undefined || subscribe === undefined) return
    expect(JSON.parse(await client.ask(call(subscribe)))).toMatchObject({ id: 7, result: expect.anything() })
    expect(node.got.at(-1)).toContain(`"${subscribe}"`)
    expect(node.paths).toEqual(new Set([path]))
  })
})
