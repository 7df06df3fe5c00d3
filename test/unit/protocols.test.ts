import { expect, test } from 'vitest'
import { matchRoute } from '../../schemas/protocols/match-route.ts'
import { methodMatcher } from '../../schemas/protocols/method-patterns.ts'
import type { Methods, Probe, Service } from '../../schemas/protocols/protocol.ts'
import { identityOf, networkOf, PROTOCOLS, protocolOf } from '../../schemas/protocols/protocols.ts'
import { PUBLIC_ACCESS, publicAccessOf } from '../../schemas/protocols/public-methods.ts'

// The table of specification 4.4, as it is printed there; its two rows without a name are ethereum and litecoin.
const PRINTED = `
| ethereum | mainnet, goerli, holesky, sepolia | https, wss |
| solana | mainnet | https, wss |
| ton | mainnet | https |
| bsc | mainnet, testnet | https, wss |
| polygon | mainnet, mumbai | https, wss |
| tron | mainnet | https |
| ethereum2 | mainnet, prater, holesky, sepolia | https |
| polkadot | mainnet, westend | https, wss |
| filecoin | mainnet, calibration, hyperspace | https |
| ipfs | pub | https |
| bitcoin | mainnet, testnet, testnet4, signet | https |
| litecoin | mainnet, testnet | https |
| near | mainnet, testnet | https |
| etc | mainnet | https, wss |
| bch | mainnet | https |
| kusama | mainnet | https, wss |
| bsv | mainnet | https |
| eos | mainnet | https |
| fantom | mainnet | https, wss |
| aptos | mainnet | https |
| sui | mainnet, testnet | https, wss |
| avax | mainnet | https, wss |
| arbitrum | mainnet | https, wss |
| omni | mainnet | https |
| cosmos | mainnet | https |
| dogecoin | mainnet | https, wss |
| optimism | mainnet, goerli | https, wss |
| xrp | mainnet | https, wss |
| dash | mainnet | https |
| zcash | mainnet | https |
| base | mainnet | https, wss |
| scroll | mainnet | https, wss |
| qtum | mainnet | https |
| starknet | mainnet | https |
| blast | mainnet | https, wss |
| worldchain | mainnet | https |`

const ROWS = PRINTED.trim()
  .split('\n')
  .map((line) => {
    const [name = '', networks = '', schemes = ''] = line.split('|').slice(1, 4)
    return { name: name.trim(), networks: networks.trim().split(', '), hasWebSocket: schemes.includes('wss') }
  })

const SERVICES = PROTOCOLS.flatMap((protocol) =>
  protocol.services.map((service): [string, Service] => [`${protocol.name}${service.name}`, service]),
)

const METHODS = PROTOCOLS.flatMap(({ name, methods }): [string, Methods][] =>
  methods === undefined ? [] : [[name, methods]],
)

test('the table is the one of the specification', () => {
  const rows = PROTOCOLS.map(({ name, networks, webSocket }) => ({
    name,
    networks: Object.keys(networks),
    hasWebSocket: webSocket !== undefined,
  }))
  expect(rows).toEqual(ROWS)
  expect(ROWS).toHaveLength(36)
  expect(ROWS.flatMap(({ networks }) => networks)).toHaveLength(54)
  expect(ROWS.filter(({ hasWebSocket }) => hasWebSocket)).toHaveLength(17)
})

test.each(ROWS)('$name is found with its networks, and no other', ({ name, networks }) => {
  const protocol = protocolOf(name)
  if (protocol === undefined) throw new Error(`${name} is not there`)
  for (const network of networks) expect(networkOf(protocol, network), network).toBeDefined()
  for (const network of ['', 'constructor', '__proto__', 'toString', 'regtest'])
    expect(networkOf(protocol, network), network).toBeUndefined()
})

test.each(['', 'constructor', 'Ethereum', 'public', 'nft', 'ws', 'account', 'aggregator'])(
  '%j is no protocol',
  (name) => {
    expect(protocolOf(name)).toBeUndefined()
  },
)

test('every identity is known but of the two networks whose answers tell none', () => {
  const unknown = PROTOCOLS.flatMap(({ name, networks, services }) =>
    Object.entries(networks).flatMap(([network, facts]) =>
      services.flatMap((service) => {
        const isKnown = service.identity !== undefined && identityOf(facts, service.name) !== undefined
        return isKnown ? [] : [`${name}/${network}`]
      }),
    ),
  )
  expect(unknown).toEqual(['filecoin/hyperspace', 'xrp/mainnet'])
})

test('no two networks that are asked the same question answer it alike, but those that share blocks', () => {
  const answers = PROTOCOLS.flatMap(({ name, networks, services }) =>
    Object.entries(networks).flatMap(([network, facts]) =>
      services.map((service) => ({
        place: `${name}/${network}`,
        key: JSON.stringify([service.identity, identityOf(facts, service.name)]),
      })),
    ),
  ).filter(({ place }) => place !== 'xrp/mainnet')
  const places = Object.values(Object.groupBy(answers, ({ key }) => key)).map((same) => same?.map(({ place }) => place))
  expect(places.filter((same) => same?.length !== 1)).toEqual([['bitcoin/mainnet', 'omni/mainnet']])
})

test('what is retired is told', () => {
  const retired = PROTOCOLS.flatMap(({ name, networks }) =>
    Object.entries(networks).flatMap(([network, { isRetired }]) => (isRetired ? [`${name}/${network}`] : [])),
  )
  expect(retired).toEqual([
    ...['ethereum/goerli', 'ethereum/holesky', 'polygon/mumbai', 'ethereum2/prater', 'ethereum2/holesky'],
    ...['filecoin/hyperspace', 'optimism/goerli'],
  ])
})

test.each(SERVICES)('the probes of %s are calls that its routes take', (_, service) => {
  const probes = [service.head, service.identity].filter((probe): probe is Probe => probe !== undefined)
  expect(probes).not.toHaveLength(0)
  for (const { verb, path, body } of probes) {
    const route = matchRoute(service, verb, path)
    expect(route, `${verb} ${path}`).toBeDefined()
    expect(route?.isWrite, `${verb} ${path}`).toBeUndefined()
    expect(body !== undefined, `${verb} ${path}`).toBe(verb === 'POST')
  }
})

test.each(SERVICES)('%s says how far behind is too far where it has blocks', (_, { head, lagMax }) => {
  expect(lagMax > 0).toBe(head !== undefined)
})

test.each(METHODS)('what %s asks by JSON-RPC when it probes may be asked twice', (name, { reads }) => {
  const isRead = methodMatcher(reads)
  const bodies = (protocolOf(name)?.services ?? []).flatMap(({ head, identity }) => [head?.body, identity?.body])
  const methods = bodies.flatMap((body) => (body !== undefined && 'method' in body ? [String(body.method)] : []))
  expect(methods.filter((method) => !isRead(method))).toEqual([])
})

test.each(METHODS)('no method of %s is of two kinds', (_, methods) => {
  const kinds: Readonly<Record<string, readonly string[]>> = {
    reads: methods.reads,
    broadcasts: methods.broadcasts,
    makesFilter: methods.makesFilter,
    takesFilter: methods.takesFilter,
    refused: methods.refused,
    subscribes: [...Object.keys(methods.subscribes), ...Object.values(methods.subscribes)],
  }
  expectDisjoint(kinds)
})

test.each(METHODS)('no method of %s names a contract in two places', (_, { contracts }) => {
  expectDisjoint({ ...contracts })
})

/** No name is twice there, or fits a pattern of another kind. */
function expectDisjoint(kinds: Readonly<Record<string, readonly string[]>>): void {
  const matchers = Object.entries(kinds).map(([kind, names]) => ({ kind, matches: methodMatcher(names) }))
  for (const [kind, names] of Object.entries(kinds)) {
    expect(new Set(names).size, kind).toBe(names.length)
    for (const name of names) {
      expect(name.slice(0, -1), 'a star stands at the end alone').not.toContain('*')
      const sample = name.replace('*', 'X')
      expect([name, ...matchers.filter(({ matches }) => matches(sample)).map((other) => other.kind)]).toEqual([
        name,
        kind,
      ])
    }
  }
}

test('JSON-RPC routes are where methods are known', () => {
  for (const { name, services, methods } of PROTOCOLS) {
    const forms = services.flatMap(({ routes }) => routes.map(({ form }) => form))
    expect(forms.includes('json-rpc'), name).toBe(methods !== undefined)
  }
})

test('a pattern is any rest of a name, and a name is itself alone', () => {
  const matches = methodMatcher(['eth_call', 'trace_*'])
  expect(['eth_call', 'trace_', 'trace_block'].every(matches)).toBe(true)
  expect(['eth_callMany', 'eth_cal', 'Trace_block', '', 'trace', 'eth_call '].some(matches)).toBe(false)
})

test('without a token five networks can be asked, by the methods of the specification', () => {
  const sizes = PUBLIC_ACCESS.map(({ protocol, network, path, methods }) => [protocol, network, path, methods.size])
  expect(sizes).toEqual([
    // 30 that are printed, and three as they are meant.
    ['ethereum', 'mainnet', '/', 33],
    ['bitcoin', 'mainnet', '/', 28],
    ['filecoin', 'mainnet', '/rpc/v1', 80],
    ['filecoin', 'calibration', '/rpc/v1', 80],
    ['filecoin', 'hyperspace', '/rpc/v1', 80],
  ])
})

test.each(PUBLIC_ACCESS)(
  'the public way into $protocol/$network leads to a route, and to nothing that is refused',
  (access) => {
    const protocol = protocolOf(access.protocol)
    if (protocol === undefined) throw new Error('no such protocol')
    expect(networkOf(protocol, access.network)).toBeDefined()
    expect(matchRoute(protocol.services[0] as Service, 'POST', access.path)?.form).toBe('json-rpc')
    expect([...access.methods].filter(methodMatcher(protocol.methods?.refused ?? []))).toEqual([])
    expect(publicAccessOf(access.protocol, access.network)).toBe(access)
  },
)

test.each([
  ['ethereum', 'eth_freeHistory', true],
  ['ethereum', 'eth_feeHistory', true],
  ['ethereum', 'eth_getBlocTransactionCountByNumber', true],
  ['ethereum', 'eth_getBlockTransactionCountByNumber', true],
  ['ethereum', 'eth_getTransactionByCount', true],
  ['ethereum', 'eth_getTransactionCount', true],
  ['ethereum', 'eth_getTransactionHashByCid', true],
  ['ethereum', 'ETH_CALL', false],
  ['ethereum', 'debug_traceTransaction', false],
  ['bitcoin', 'pruneblockchain', true],
  ['bitcoin', 'getrawtransaction', false],
  ['bitcoin', 'sendrawtransaction', false],
  ['filecoin', 'Filecoin.EthSubscribe', true],
  ['filecoin', 'Filecoin.WalletNew', false],
  ['filecoin', 'eth_call', false],
])('of everybody %s lets %s through: %s', (protocol, method, isAllowed) => {
  expect(publicAccessOf(protocol, 'mainnet')?.methods.has(method)).toBe(isAllowed)
})

test.each(['ethereum/sepolia', 'bitcoin/testnet', 'solana/mainnet', 'x/constructor'])('%s needs a token', (place) => {
  const [protocol = '', network = ''] = place.split('/')
  expect(publicAccessOf(protocol, network)).toBeUndefined()
})

test.each(METHODS)('what is kept of %s is asked by methods that change nothing', (_name, { reads, kept }) => {
  const isRead = methodMatcher(reads)
  for (const method of [...(kept?.always ?? []), ...Object.keys(kept?.ofFinal ?? {})])
    expect(isRead(method), method).toBe(true)
})
