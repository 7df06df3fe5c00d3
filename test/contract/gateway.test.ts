import { once } from 'node:events'
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
  sendJson,
  untilHealthy,
} from './given-gateway.ts'

let node: Stub
let other: Stub
let beacon: Stub
let gateway: GivenGateway
beforeAll(async () => {
  node = await openStub('ethereum', 'mainnet')
  other = await openStub('ethereum', 'mainnet')
  beacon = await openStub('ethereum2', 'mainnet')
  gateway = await openGivenGateway([networkOn('ethereum/mainnet', node, other), networkOn('ethereum2/mainnet', beacon)])
  await untilHealthy(gateway, 'ethereum/mainnet')
  await untilHealthy(gateway, 'ethereum2/mainnet')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const stub of [node, other, beacon]) await stub[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const stub of [node, other]) {
    stub.got.length = 0
    stub.answer = rpcAnswer
  }
  beacon.got.length = 0
})
const all = () => [...node.got, ...other.got]

describe('a JSON-RPC call', () => {
  test('goes to a node as it is, and comes back as it is', async () => {
    const answer = '{ "result":"0x1",  "id" : 12345678901234567890, "jsonrpc":"2.0"}'
    for (const stub of [node, other]) stub.answer = (_got, response) => response.end(answer)
    const body = '{"jsonrpc":"2.0",\n"id":12345678901234567890,"method":"eth_blockNumber","params":[]}'
    const response = await gateway.ask('ethereum/mainnet', { method: 'POST', body })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(answer)
    expect(all().map((got) => [got.verb, got.path, got.body])).toEqual([['POST', '/', body]])
  })

  test('is one request, of a batch too', async () => {
    const body = JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] })))
    const response = await gateway.ask('ethereum/mainnet', { method: 'POST', body })
    expect(await response.json()).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: '0x2a' })))
    expect(all()).toHaveLength(1)
  })

  test('says nothing of its client, and nothing of the node to it', async () => {
    for (const stub of [node, other])
      stub.answer = (_got, response) => response.setHeader('x-bill', 'unpaid').setHeader('set-cookie', 'a=b').end('{}')
    const response = await gateway.ask('ethereum/mainnet', {
      method: 'POST',
      headers: {
        cookie: 'secret=1',
        authorization: 'Basic xyz',
        'x-forwarded-for': '10.0.0.1',
        'CONSISTENT-HASH': 'true',
      },
      body: '{"method":"eth_chainId","id":1}',
    })
    expect(Object.keys(all()[0]?.headers ?? {}).sort()).toEqual(
      ['accept', 'connection', 'content-length', 'content-type', 'host', 'user-agent'].sort(),
    )
    expect(response.headers.get('x-bill')).toBeNull()
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('x-node-id')).toMatch(/^[0-9a-f]{8}$/)
  })
})

describe('a refusal', () => {
  const refused = async (response: Response) => [response.status, await response.json()]

  test('of an unknown network, a key that is none and a route that is none comes in this order', async () => {
    expect(await refused(await gateway.call('ethereum/nowhere', 'eth_chainId'))).toEqual([
      404,
      { code: 404, message: 'Path Not Found' },
    ])
    expect(await refused(await gateway.ask('ethereum/mainnet', { token: 'none', path: '/admin' }))).toEqual([
      404,
      { code: 404, message: 'Path Not Found' },
    ])
    expect(
      await refused(
        await gateway.ask('ethereum/mainnet', { token: 'none', method: 'POST', body: '{"method":"admin_peers"}' }),
      ),
    ).toEqual([401, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Authentication failed' } }])
    expect(
      await refused(await gateway.ask('ethereum2/mainnet', { token: 'none', path: '/eth/v1/node/syncing' })),
    ).toEqual([401, { code: 401, message: 'Authentication failed' }])
  })

  test('of a method that nobody may call names it', async () => {
    expect(await refused(await gateway.call('ethereum/mainnet', 'admin_peers'))).toEqual([
      403,
      { jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'Method not allowed: admin_peers' } },
    ])
    expect(all()).toEqual([])
  })

  test.each([
    ['no JSON', '{"method":', 400, -32700],
    ['an empty batch', '[]', 400, -32600],
    ['two methods', '{"method":"eth_chainId","method":"admin_peers","id":1}', 400, -32600],
    ['a method in other letters', '{"Method":"admin_peers","method":"eth_chainId","id":1}', 400, -32600],
    ['a method with an escape', '{"m\\u0065thod":"admin_peers","id":1}', 400, -32600],
    ['a method that a node may read as another', '{"method":"admin_peers\\u0000","id":1}', 400, -32600],
    [
      'a member that a node may read as the method',
      '{"method\\u0000":"admin_peers","method":"eth_chainId"}',
      400,
      -32600,
    ],
    ['letters that Unicode takes for others', '{"method":"eth_chainId","param\u017f":[],"params":[]}', 400, -32600],
    ['a command beside the method', '{"method":"eth_chainId","command":"admin_peers","id":1}', 400, -32600],
    ['a byte-order mark', '\ufeff{"method":"admin_peers","id":1}', 400, -32700],
    ['something behind it', '{"method":"eth_chainId","id":1}{"method":"admin_peers","id":2}', 400, -32700],
    ['a number for a key', '{"method":"eth_chainId",1:"admin_peers"}', 400, -32700],
    ['a number for the method', '{"method":1,"id":1}', 400, -32600],
    ['no method', '{"id":1}', 400, -32600],
    ['a number', '7', 400, -32600],
  ])('of %s sends nothing to a node', async (_what, body, status, code) => {
    const response = await gateway.ask('ethereum/mainnet', { method: 'POST', body })
    expect(response.status).toBe(status)
    expect(((await response.json()) as { error: { code: number } }).error.code).toBe(code)
    expect(all()).toEqual([])
  })

  test('of a network without an upstream is 503', async () => {
    const response = await gateway.call('bsc/mainnet', 'eth_chainId')
    expect([response.status, ((await response.json()) as { error: { code: number } }).error.code]).toEqual([
      503, -32011,
    ])
  })
})

describe('a node that fails', () => {
  test('is not heard: another one answers', async () => {
    for (const status of [301, 401, 402, 403, 429, 502]) {
      node.answer = (_got, response) =>
        response.writeHead(status, { location: 'http://10.0.0.1/' }).end('<html>pay</html>')
      for (let i = 0; i < 3; i++) expect((await gateway.call('ethereum/mainnet', 'eth_chainId')).status).toBe(200)
    }
  })

  test.each([200, 502])('with a long page of %i is not heard', async (status) => {
    const page = '<html>pay at https://node.example/KEY'.padEnd(100_000)
    const answer: Stub['answer'] = (got, response) => {
      if (all().length > 1) rpcAnswer(got, response)
      else response.writeHead(status).end(page)
    }
    for (const stub of [node, other]) stub.answer = answer
    const response = await gateway.call('ethereum/mainnet', 'eth_chainId')
    expect([response.status, await response.text()]).toEqual([200, '{"jsonrpc":"2.0","id":7,"result":"0x2a"}'])
    expect(all()).toHaveLength(2)
  })

  test('in the middle of an answer is not heard either, as long as nothing of it was passed on', async () => {
    node.answer = (_got, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"half":')
      setTimeout(() => response.destroy(), 10)
    }
    for (let i = 0; i < 3; i++) expect((await gateway.call('ethereum/mainnet', 'eth_chainId')).status).toBe(200)
  })

  test('is not asked twice for what may have been done', async () => {
    for (const stub of [node, other]) stub.answer = (_got, response) => response.destroy()
    const response = await gateway.call('ethereum/mainnet', 'eth_newFilter', [{}])
    expect(response.status).toBe(502)
    expect(all()).toHaveLength(1)
  })

  test('with an error of JSON-RPC, whatever the status, has answered', async () => {
    for (const stub of [node, other])
      stub.answer = (_got, response) =>
        sendJson(response, { id: 1, result: null, error: { code: -5, message: 'no' } }, 500)
    const response = await gateway.call('ethereum/mainnet', 'eth_chainId')
    expect([response.status, await response.json()]).toEqual([
      500,
      { id: 1, result: null, error: { code: -5, message: 'no' } },
    ])
    expect(all()).toHaveLength(1)
  })
})

describe('a native request', () => {
  test('goes to its path with its query, and comes back byte for byte', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 200])
    beacon.answer = (_got, response) =>
      response
        .writeHead(206, { 'content-type': 'application/octet-stream', 'eth-consensus-version': 'electra' })
        .end(bytes)
    const response = await gateway.ask('ethereum2/mainnet', {
      path: '/eth/v1/beacon/headers?slot=1&x=%2F',
      headers: { accept: 'application/octet-stream' },
    })
    expect(response.status).toBe(206)
    expect(response.headers.get('eth-consensus-version')).toBe('electra')
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
    expect(beacon.got.map(({ path, headers }) => [path, headers.accept])).toEqual([
      ['/eth/v1/beacon/headers?slot=1&x=%2F', 'application/octet-stream'],
    ])
  })

  test('whose node dies in the middle of a long answer is aborted, never shortened', async () => {
    beacon.answer = (_got, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('x'.repeat(200_000))
      setTimeout(() => response.destroy(), 50)
    }
    const response = await gateway.ask('ethereum2/mainnet', { path: '/eth/v1/node/version' })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('that is being answered ends where its client sends what is no request: nothing of ours gets into the answer', async () => {
    beacon.answer = (_got, response) => {
      response.writeHead(200, { 'content-length': '200100' }).write('x'.repeat(200_000))
    }
    const { hostname, port } = new URL(gateway.api.url)
    const socket = connect(Number(port), hostname)
    let heard = ''
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1')
    })
    socket.write(
      `GET /ethereum2/mainnet/${TOKEN}/eth/v1/node/version HTTP/1.1\r\nHost: localhost\r\nAccept: a\r\nAccept: b\r\n\r\n`,
    )
    await expect.poll(() => heard.length).toBeGreaterThan(200_000)
    socket.write('no request\r\n\r\n')
    await once(socket, 'close')
    expect(heard.split('\r\n\r\n', 2)[1]).toBe('x'.repeat(200_000))
  })

  test('for events begins before there is one', async () => {
    beacon.answer = (_got, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    const leaving = new AbortController()
    const events = await gateway.ask('ethereum2/mainnet', { path: '/eth/v1/events?topics=x', signal: leaving.signal })
    expect([events.status, events.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    leaving.abort()
  })

  test('passes its body on', async () => {
    beacon.answer = (_got, response) => sendJson(response, {})
    const body = JSON.stringify([{ message: 1 }])
    await gateway.ask('ethereum2/mainnet', { method: 'POST', path: '/eth/v1/beacon/pool/attestations', body })
    expect(beacon.got.map((got) => [got.verb, got.body])).toEqual([['POST', body]])
  })
})

describe('other families', () => {
  test('have their paths', async () => {
    const response = await gateway.ask('ethereum/mainnet', { path: '/api/v1/validator/total-rewards' })
    expect(await response.json()).toEqual({ code: '404', msg: 'Path Not Found', data: null })
    expect((await fetch(`${gateway.api.url}/health`)).status).toBe(200)
  })
})
