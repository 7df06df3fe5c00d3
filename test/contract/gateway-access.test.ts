import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ALLOW_LISTS, type AllowLists } from '../../schemas/allow-lists.ts'
import { encodeRlp } from '../../schemas/eth/rlp.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { insertRows, MAINNET } from './api-fixture.ts'
import { type GivenGateway, networkOn, openGivenGateway, openStub, type Stub, untilHealthy } from './given-gateway.ts'
import { handshake, openClient, parseRaw, sendRaw, socketsOn, socketUrl, withSockets } from './given-socket.ts'

const ETHEREUM = 'ethereum/mainnet'
const LISTED = `0x${'ab'.repeat(20)}`
const OTHER = `0x${'cd'.repeat(20)}`
/** A signed transaction as far as it is looked at; one of type 3 with its blobs beside it. Without a recipient it creates a contract. */
function rawTransaction(type: number, to = ''): string {
  const recipientAt = type === 0 ? 3 : type === 1 ? 4 : 5
  const fields = Array.from({ length: 9 }, (_, at) => Buffer.from(at === recipientAt ? to.slice(2) : '', 'hex'))
  const bytes = Buffer.from(encodeRlp(type === 3 ? [fields, [], [], []] : fields)).toString('hex')
  return `0x${type === 0 ? '' : `0${type}`}${bytes}`
}

const KEYS: Readonly<Record<string, AllowLists>> = {
  'of-page': { origins: ['https://app.example'] },
  'of-office': { ips: ['203.0.113.0/24', '2001:db8::/32'] },
  'of-here': { ips: ['198.51.100.1', '203.0.113.7'] },
  'of-reads': { methods: ['eth_get*', 'eth_chainId', 'eth_sendRawTransaction', 'GET#/eth/v1/node/*', 'ledger*'] },
  'of-contract': { contracts: [LISTED] },
  'of-all-lists': {
    origins: ['https://app.example'],
    ips: ['203.0.113.7'],
    methods: ['eth_call'],
    contracts: [LISTED],
  },
}

let gateway: GivenGateway
const nodes: Record<'ethereum' | 'beacon' | 'tron' | 'ripple', Stub> = {} as never
beforeAll(async () => {
  nodes.ethereum = await openStub('ethereum', 'mainnet')
  nodes.beacon = await openStub('ethereum2', 'mainnet')
  nodes.tron = await openStub('tron', 'mainnet')
  nodes.ripple = await openStub('xrp', 'mainnet')
  withSockets(nodes.ethereum)
  withSockets(nodes.ripple)
  gateway = await openGivenGateway(
    [
      socketsOn(ETHEREUM, nodes.ethereum),
      networkOn('ethereum2/mainnet', nodes.beacon),
      networkOn('tron/mainnet', nodes.tron),
      socketsOn('xrp/mainnet', nodes.ripple),
    ],
    { chains: [MAINNET], trustedProxies: ['127.0.0.1', '::1'] },
  )
  await insertRows(
    gateway.given.warehouse,
    'access_tokens',
    Object.entries(KEYS).map(([key, allow]) => ({
      ...{ token_hash: hashToken(key), account: 'demo', version: 1, is_deleted: 0 },
      ...toTokenLimitsRow({ scopes: ['read'], allow }),
    })),
  )
  for (const place of [ETHEREUM, 'ethereum2/mainnet', 'tron/mainnet', 'xrp/mainnet']) await untilHealthy(gateway, place)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const node of Object.values(nodes)) await node[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const node of Object.values(nodes)) node.got.length = 0
})

type Headers = Readonly<Record<string, string>>
const post = async (token: string, body: unknown, headers: Headers = {}, place = ETHEREUM) => {
  const response = await gateway.ask(place, {
    ...{ token, method: 'POST', headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as never }
}
const rpc = (token: string, method: string, params: unknown = [], headers: Headers = {}) =>
  post(token, { jsonrpc: '2.0', id: 7, method, params }, headers)
const from = (address: string): Headers => ({ 'x-forwarded-for': address })
const refusal = (message: string, reason: string, id: number | null = 7) => ({
  status: 403,
  body: { jsonrpc: '2.0', id, error: { code: -32600, message, data: { reason } } },
})
const notSent = (): void => expect(Object.values(nodes).flatMap(({ got }) => got)).toEqual([])

describe('a key with a list of origins', () => {
  test('is for pages of these alone, and for nothing that names none', async () => {
    expect((await rpc('of-page', 'eth_chainId', [], { origin: 'https://app.example' })).status).toBe(200)
    nodes.ethereum.got.length = 0
    for (const origin of ['https://app.example.evil', 'http://app.example', 'https://app.example:444', 'null'])
      expect(await rpc('of-page', 'eth_chainId', [], { origin })).toEqual(
        refusal(`Origin not allowed: ${origin}`, 'origin', null),
      )
    expect(await rpc('of-page', 'eth_chainId')).toEqual(refusal('Origin not allowed: none', 'origin', null))
    notSent()
  })

  test('is refused before there is a WebSocket', async () => {
    const url = socketUrl(gateway, ETHEREUM, 'of-page')
    using client = await openClient(url, { origin: 'https://app.example' })
    expect(await client.ask('{"id":1,"method":"eth_chainId"}')).toContain('"result"')
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Origin: https://evil.example']
    const told = parseRaw(await sendRaw(gateway, ...handshake(`/ws/${ETHEREUM}/of-page`, ...upgrade)))
    const { status, body } = refusal('Origin not allowed: https://evil.example', 'origin', null)
    expect(told).toEqual([status, body])
  })
})

describe('a key with a list of addresses', () => {
  test.each(['203.0.113.200', '::ffff:203.0.113.1', '2001:DB8:0::7', '203.0.113.9, 127.0.0.1'])(
    'is for clients of its networks: %s',
    async (client) => {
      expect((await rpc('of-office', 'eth_chainId', [], from(client))).status).toBe(200)
    },
  )

  test('is for nobody else, whoever they say that they are', async () => {
    const clients = {
      '198.51.100.9': '198.51.100.9',
      '203.0.113.7, 198.51.100.9': '198.51.100.9',
      '2001:db9::1': '2001:db9::1',
      somebody: '127.0.0.1',
    }
    for (const [client, seen] of Object.entries(clients))
      expect(await rpc('of-office', 'eth_chainId', [], from(client)), client).toEqual(
        refusal(`Address not allowed: ${seen}`, 'address', null),
      )
    expect((await rpc('of-office', 'eth_chainId')).status).toBe(403)
    notSent()
    expect((await rpc('of-here', 'eth_chainId', [], from('198.51.100.1'))).status).toBe(200)
  })

  test('is refused before there is a WebSocket', async () => {
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'X-Forwarded-For: 198.51.100.9']
    const told = parseRaw(await sendRaw(gateway, ...handshake(`/ws/${ETHEREUM}/of-office`, ...upgrade)))
    const { status, body } = refusal('Address not allowed: 198.51.100.9', 'address', null)
    expect(told).toEqual([status, body])
    const url = socketUrl(gateway, ETHEREUM, 'of-office')
    using client = await openClient(url, { headers: from('203.0.113.7') })
    expect(await client.ask('{"id":1,"method":"eth_chainId"}')).toContain('"result"')
  })

  test('is for native calls likewise', async () => {
    const ask = (headers: Headers) =>
      gateway.ask('ethereum2/mainnet', { token: 'of-office', path: '/eth/v1/node/syncing', headers })
    expect((await ask(from('203.0.113.7'))).status).toBe(200)
    const refused = await ask(from('198.51.100.9'))
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { code: 403, message: 'Address not allowed: 198.51.100.9', reason: 'address' },
    ])
  })
})

describe('a key with a list of methods', () => {
  const notAllowed = (method: string, id: unknown = 7) => ({
    jsonrpc: '2.0',
    id,
    error: { code: -32601, message: `Method not allowed: ${method}` },
  })

  test('calls these alone, single and in batches', async () => {
    for (const method of ['eth_getBalance', 'eth_chainId']) expect((await rpc('of-reads', method)).status).toBe(200)
    nodes.ethereum.got.length = 0
    for (const method of ['eth_call', 'eth_chainIdx', 'Eth_getBalance'])
      expect(await rpc('of-reads', method)).toEqual({ status: 403, body: notAllowed(method) })
    notSent()
    const batch = await post('of-reads', [
      { id: 1, method: 'eth_call' },
      { id: 2, method: 'eth_chainId' },
    ])
    expect(batch).toEqual({ status: 200, body: [notAllowed('eth_call', 1), { jsonrpc: '2.0', id: 2, result: '0x2a' }] })
  })

  test('calls native ones by verb and path', async () => {
    const ask = (path: string, verb = 'GET') =>
      gateway.ask('ethereum2/mainnet', { token: 'of-reads', path, method: verb })
    expect((await ask('/eth/v1/node/syncing')).status).toBe(200)
    expect((await ask('/eth/v1/node/syncing', 'HEAD')).status).not.toBe(403)
    nodes.beacon.got.length = 0
    const refused = await ask('/eth/v1/beacon/genesis')
    expect([refused.status, await refused.json()]).toEqual([
      403,
      { code: 403, message: 'Method not allowed: GET#/eth/v1/beacon/genesis' },
    ])
    notSent()
  })

  test('calls these alone over WebSocket, and the connection stays open', async () => {
    using client = await openClient(socketUrl(gateway, ETHEREUM, 'of-reads'))
    expect(JSON.parse(await client.ask('{"id":7,"method":"eth_subscribe","params":["newHeads"]}'))).toEqual(
      notAllowed('eth_subscribe'),
    )
    expect(await client.ask('{"id":1,"method":"eth_chainId"}')).toContain('"result"')
    using ripple = await openClient(socketUrl(gateway, 'xrp/mainnet', 'of-reads'))
    expect(JSON.parse(await ripple.ask('{"id":7,"command":"server_info"}'))).toEqual(notAllowed('server_info'))
  })
})

describe('a key with a list of contracts', () => {
  const call = (to: unknown) => [{ to, data: '0x' }, 'latest']

  test.each<[string, unknown]>([
    ['eth_call', call(LISTED)],
    ['eth_call', call(LISTED.toUpperCase().replace('0X', '0x'))],
    ['eth_estimateGas', [{ to: LISTED }]],
    ['eth_getCode', [LISTED, 'latest']],
    ['eth_getLogs', [{ address: LISTED }]],
    ['eth_getLogs', [{ address: [LISTED] }]],
    ...[0, 1, 2, 3, 4].map((type): [string, unknown] => ['eth_sendRawTransaction', [rawTransaction(type, LISTED)]]),
    ['eth_blockNumber', []],
    ['eth_getTransactionCount', [OTHER]],
    ['eth_getBlockByNumber', ['latest', true]],
  ])('calls %s of it, or of none: %j', async (method, params) => {
    expect((await rpc('of-contract', method, params)).status).toBe(200)
    expect(nodes.ethereum.got).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['eth_call', call(OTHER)],
    ['eth_estimateGas', [{ to: OTHER }]],
    ['eth_createAccessList', call(OTHER)],
    ['eth_getCode', [OTHER, 'latest']],
    ['eth_getStorageAt', [OTHER, '0x0', 'latest']],
    ['eth_getBalance', [OTHER]],
    ['eth_getProof', [OTHER, [], 'latest']],
    ['linea_getProof', [OTHER, [], 'latest']],
    ['eth_getLogs', [{ address: OTHER }]],
    ['eth_getLogs', [{ address: [LISTED, OTHER] }]],
    ['eth_newFilter', [{ address: OTHER }]],
    ...[0, 1, 2, 3, 4].map((type): [string, unknown] => ['eth_sendRawTransaction', [rawTransaction(type, OTHER)]]),
  ])('does not call %s of another: %j', async (method, params) => {
    expect(await rpc('of-contract', method, params)).toEqual(refusal(`Contract not allowed: ${OTHER}`, 'contract'))
    notSent()
  })

  test.each<[string, string, unknown]>([
    ['a call of code of its own', 'eth_call', [{ data: '0x60' }]],
    ['a call to nobody', 'eth_call', call(null)],
    ['a call with other code', 'eth_call', [...call(LISTED), { [LISTED]: { code: '0x60' } }]],
    ['parameters by name', 'eth_call', { request: { to: OTHER } }],
    ['no parameters', 'eth_getCode', []],
    ['logs of all contracts', 'eth_getLogs', [{ fromBlock: '0x1' }]],
    ['logs of an empty list', 'eth_getLogs', [{ address: [] }]],
    ['a creation', 'eth_sendRawTransaction', [rawTransaction(2)]],
    ['no transaction', 'eth_sendRawTransaction', ['0x00']],
    ['several calls', 'eth_callMany', [[{ transactions: [{ to: LISTED }] }]]],
    ['a tracer', 'debug_traceCall', [{ to: LISTED }, 'latest', { tracer: '{}' }]],
    ['a tracer of what is in a block', 'debug_traceTransaction', ['0x00', { tracer: '{}' }]],
    ['a tracer of a block', 'debug_traceBlockByNumber', ['latest', { tracer: '{}' }]],
    ['what a client calls otherwise', 'parity_call', [[{ to: OTHER }]]],
    ['what a client lists', 'parity_listStorageKeys', [OTHER, 5]],
    ['what nobody here knows', 'eth_fancy', [LISTED]],
  ])('does not make %s', async (_what, method, params) => {
    const { status, body } = await rpc('of-contract', method, params)
    expect([status, body]).toMatchObject([403, { id: 7, error: { data: { reason: 'contract' } } }])
    notSent()
  })

  test.each([
    ...['to', 'TO', 't\\u006f', 'to\\u0000'].map((key) => ['eth_call', 'to', key] as const),
    ...['address', 'Address', 'addre\\u0073s', 'addre\u017fs'].map((key) => ['eth_getLogs', 'address', key] as const),
  ])('is not fooled in %s by members that nodes may take for one another: %s, %s', async (method, key, other) => {
    const members = [`"${key}":"${LISTED}"`, `"${other}":"${OTHER}"`]
    for (const one of [members, members.toReversed()]) {
      const body = `{"id":7,"method":"${method}","params":[{${one.join()}},"latest"]}`
      expect(await post('of-contract', body)).toEqual(refusal(`Contract not allowed: ${OTHER}`, 'contract'))
    }
    notSent()
  })

  test('subscribes over WebSocket to its logs, and calls it alone', async () => {
    using client = await openClient(socketUrl(gateway, ETHEREUM, 'of-contract'))
    const ask = (method: string, params: unknown) => client.ask(JSON.stringify({ id: 7, method, params }))
    const { body } = refusal(`Contract not allowed: ${OTHER}`, 'contract')
    expect(JSON.parse(await ask('eth_subscribe', ['logs', { address: OTHER }]))).toEqual(body)
    expect(JSON.parse(await ask('eth_call', call(OTHER)))).toEqual(body)
    expect(await ask('eth_subscribe', ['logs', {}])).toContain('"contract"')
    expect(await ask('eth_call', call(LISTED))).toContain('"result"')
    expect(await ask('eth_chainId', [])).toContain('"result"')
  })

  test('makes no native calls of a chain that has such contracts', async () => {
    const response = await gateway.ask('tron/mainnet', {
      ...{ token: 'of-contract', path: '/wallet/triggerconstantcontract', method: 'POST', body: '{}' },
    })
    expect([response.status, await response.json()]).toMatchObject([403, { code: 403, reason: 'contract' }])
    notSent()
  })
})

test('a key’s lists are looked at together, in the order origin, address, method, contract', async () => {
  const page = { origin: 'https://app.example' }
  const ask = async (method: string, to: string, headers: Headers) => {
    const { status, body } = await rpc('of-all-lists', method, [{ to }], headers)
    const { error } = body as { error?: { message: string; data?: { reason: string } } }
    return [status, error?.data?.reason ?? error?.message]
  }
  const office = from('203.0.113.7')
  expect(await ask('eth_estimateGas', OTHER, {})).toEqual([403, 'origin'])
  expect(await ask('eth_estimateGas', OTHER, page)).toEqual([403, 'address'])
  expect(await ask('eth_estimateGas', OTHER, { ...page, ...office })).toEqual([
    403,
    'Method not allowed: eth_estimateGas',
  ])
  expect(await ask('eth_call', OTHER, { ...page, ...office })).toEqual([403, 'contract'])
  expect(await ask('eth_call', LISTED, { ...page, ...office })).toEqual([200, undefined])
})

describe('the other services of a key', () => {
  const paths = {
    REST: (key: string) => `/${ETHEREUM}/${key}/api/v1/validator/total-rewards`,
    GraphQL: (key: string) => `/${ETHEREUM}/${key}/graphql?query={newestEpoch}`,
    NFTs: (key: string) => `/nft/eth_mainnet/${key}/isHolderOfContract?contract_address=${OTHER}&wallet=${OTHER}`,
  }

  test.each(Object.entries(paths))('hold it to its origins and addresses: %s', async (name, pathOf) => {
    const ask = (key: string, headers: Headers) => fetch(`${gateway.api.url}${pathOf(key)}`, { headers })
    const [page, office] = [{ origin: 'https://app.example' }, from('203.0.113.7')]
    expect((await ask('of-page', page)).status).not.toBe(403)
    expect((await ask('of-office', office)).status).not.toBe(403)
    const refused = await ask('of-office', from('198.51.100.9'))
    expect([refused.status, await refused.json()]).toEqual([
      403,
      name === 'NFTs'
        ? { code: 403, message: 'Forbidden', data: null, detail: 'Address not allowed: 198.51.100.9' }
        : { code: '403', msg: 'Forbidden: Address not allowed: 198.51.100.9', data: null, reason: 'address' },
    ])
    expect((await ask('of-page', { origin: 'https://evil.example' })).status).toBe(403)
    // Methods and contracts are the gateway's.
    for (const key of ['of-reads', 'of-contract']) expect((await ask(key, {})).status, key).not.toBe(403)
  })
})

test('every list has a key here', () => {
  expect(new Set(Object.values(KEYS).flatMap((allow) => Object.keys(allow)))).toEqual(new Set(ALLOW_LISTS))
})
