import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GatewayHost } from '../../api/gateway/hosts.ts'
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
import { handshake, openClient, parseRaw, sendRaw, socketsOn, withSockets } from './given-socket.ts'

const PUBLIC = [
  ['eth.example', 'ethereum', 'mainnet', '/', 'eth_chainId', 'eth_getProof'],
  ['btc.example', 'bitcoin', 'mainnet', '/', 'getblockcount', 'getrawtransaction'],
  ['fil.example', 'filecoin', 'mainnet', '/rpc/v1', 'Filecoin.ChainHead', 'Filecoin.SyncState'],
  ['calib.fil.example', 'filecoin', 'calibration', '/rpc/v1', 'Filecoin.ChainHead', 'Filecoin.SyncState'],
  ['hyper.fil.example', 'filecoin', 'hyperspace', '/rpc/v1', 'Filecoin.ChainHead', 'Filecoin.SyncState'],
] as const
const SOLANA = 'sol.example'

let hosts: readonly GatewayHost[] = [
  ...PUBLIC.map(([name, protocol, network]) => ({ name, protocol, network })),
  { name: SOLANA, protocol: 'solana', network: 'mainnet' },
]
const nodes = new Map<string, Stub>()
const nodeOf = (place: string): Stub => nodes.get(place) as Stub
let gateway: GivenGateway
beforeAll(async () => {
  const places = hosts.map(({ protocol, network }) => [protocol, network] as const)
  for (const [protocol, network] of places) nodes.set(`${protocol}/${network}`, await openStub(protocol, network))
  withSockets(nodeOf('solana/mainnet'))
  const networks = [...nodes].map(([place, node]) =>
    place === 'solana/mainnet' ? socketsOn(place, node) : networkOn(place, node),
  )
  gateway = await openGivenGateway(networks, { gatewayHosts: () => hosts })
  for (const place of nodes.keys()) await untilHealthy(gateway, place)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const node of nodes.values()) await node[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const node of nodes.values()) {
    node.got.length = 0
    node.answer = rpcAnswer
  }
})

const ask = async (host: string, path: string, method = 'eth_chainId') => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method })
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close', `Content-Length: ${body.length}`]
  const answer = await sendRaw(gateway, ...head, '', body)
  return parseRaw(answer)
}
const ANSWERED = [200, { jsonrpc: '2.0', id: 7, result: '0x2a' }]
const NOT_FOUND = expect.arrayContaining([404])
const UPGRADE = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13']

/** `handshake` names a host of its own. */
const upgradeAt = (host: string, path: string) =>
  sendRaw(gateway, ...handshake(path, ...UPGRADE).map((line) => line.replace(/^Host: .*/, `Host: ${host}`)))

describe.each(PUBLIC)('the host name %s', (host, protocol, network, path, method, other) => {
  test('is the public access of its network, with the methods of that alone', async () => {
    expect(await ask(host, path, method)).toEqual(ANSWERED)
    expect(nodeOf(`${protocol}/${network}`).got).toMatchObject([{ verb: 'POST', path }])
    const message = `Method not allowed: ${other}`
    expect(await ask(host, path, other)).toEqual([403, { jsonrpc: '2.0', id: 7, error: { code: -32601, message } }])
  })

  test('is written in any case and with any port', async () => {
    for (const written of [host.toUpperCase(), `${host}:8443`, `${host}.`, `${host.toUpperCase()}.:80`])
      expect(await ask(written, path, method), written).toEqual(ANSWERED)
  })

  test('has nothing else', async () => {
    for (const one of ['/health', `/${protocol}/${network}/${TOKEN}`, `/public/${protocol}/${network}`, '/more', `//`])
      expect(await ask(host, one, method), one).toEqual(NOT_FOUND)
    for (const one of ['/', path, `/ws/${TOKEN}`, `/ws/solana/mainnet/${TOKEN}`])
      expect(parseRaw(await upgradeAt(host, one)), one).toEqual(NOT_FOUND)
    expect([...nodes.values()].flatMap(({ got }) => got)).toEqual([])
  })
})

describe('the host name of Solana', () => {
  test('is followed by the token', async () => {
    expect(await ask(SOLANA, `/${TOKEN}`, 'getSlot')).toEqual(ANSWERED)
    expect(await ask(SOLANA, `/${TOKEN}/`, 'getSlot')).toEqual(ANSWERED)
    expect(nodeOf('solana/mainnet').got.map(({ path }) => path)).toEqual(['/', '/'])
    expect(await ask(SOLANA, '/nobody', 'getSlot')).toMatchObject([401, { error: { code: -32001 } }])
  })

  test('has WebSocket', async () => {
    const url = `${gateway.api.url.replace('http', 'ws')}/ws/${TOKEN}`
    using client = await openClient(url, { headers: { host: 'SOL.example:443' } })
    expect(JSON.parse(await client.ask('{"id":1,"method":"getSlot"}'))).toMatchObject({ id: 1, result: '0x2a' })
    expect(parseRaw(await upgradeAt(SOLANA, '/ws/nobody'))).toMatchObject([401, { error: { code: -32001 } }])
  })

  test('has nothing else', async () => {
    for (const path of ['/', `/solana/mainnet/${TOKEN}`, `/${TOKEN}/api/v1/validator/details`, `/${TOKEN}/graphql`])
      expect(await ask(SOLANA, path, 'getSlot'), path).toEqual(NOT_FOUND)
    for (const path of [`/${TOKEN}`, `/ws/solana/mainnet/${TOKEN}`, '/ws/', `/ws`])
      expect(parseRaw(await upgradeAt(SOLANA, path)), path).toEqual(NOT_FOUND)
  })
})

describe('any other host name', () => {
  test.each(['localhost', 'other.example', 'eth.example.evil', 'x.eth.example', '[::1]:80', 'eth.example@evil'])(
    'changes nothing: %s',
    async (host) => {
      expect(await ask(host, `/ethereum/mainnet/${TOKEN}`)).toEqual(ANSWERED)
      expect(await ask(host, '/public/ethereum/mainnet')).toEqual(ANSWERED)
      expect(await ask(host, '/')).toEqual(NOT_FOUND)
    },
  )

  test('is what a configured one is as soon as it is none any more', async () => {
    const before = hosts
    expect(await ask('eth.example', '/')).toEqual(ANSWERED)
    hosts = before.filter(({ name }) => name !== 'eth.example')
    expect(await ask('eth.example', '/')).toEqual(NOT_FOUND)
    expect(await ask('eth.example', `/ethereum/mainnet/${TOKEN}`)).toEqual(ANSWERED)
    hosts = before
    expect(await ask('eth.example', '/')).toEqual(ANSWERED)
  })
})

describe('a request for a whole address', () => {
  test.each([
    ['POST', `/ethereum/mainnet/${TOKEN}`],
    ['GET', `/ethereum/mainnet/${TOKEN}/api/v1/validator/total-rewards`],
    ['POST', `/ethereum/mainnet/${TOKEN}/graphql`],
    ['GET', `/nft/eth-main/${TOKEN}/getNFTs`],
    ['GET', '/aggregator/api/v1/quote/stake'],
    ['GET', '/account/v1/me'],
    ['GET', '/health'],
    ['POST', '/public/ethereum/mainnet'],
  ])('is refused before anybody looks whose it is: %s %s', async (verb, path) => {
    for (const authority of ['evil.example', 'eth.example', 'localhost']) {
      const head = [`${verb} http://${authority}${path} HTTP/1.1`, 'Host: localhost', 'Content-Length: 0', '', '']
      const answer = await sendRaw(gateway, ...head)
      expect(parseRaw(answer), authority).toEqual([
        400,
        { code: '400', msg: 'Param error: the target of the request is not a path', data: null },
      ])
    }
  })

  test('opens no WebSocket', async () => {
    const answer = await sendRaw(gateway, ...handshake(`http://${SOLANA}/ws/${TOKEN}`, ...UPGRADE))
    expect(parseRaw(answer)).toEqual(NOT_FOUND)
  })
})
