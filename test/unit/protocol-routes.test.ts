import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callName, matchRoute, nodePathOf } from '../../schemas/protocols/match-route.ts'
import type { Route, Service } from '../../schemas/protocols/protocol.ts'
import { PROTOCOLS, protocolOf } from '../../schemas/protocols/protocols.ts'

const VERBS = ['GET', 'HEAD', 'POST'] as const

const SERVICES = PROTOCOLS.flatMap((protocol) =>
  protocol.services.map((service): [string, Service] => [`${protocol.name}${service.name}`, service]),
)

function serviceOf(protocol: string, name = ''): Service {
  const service = protocolOf(protocol)?.services.find((one) => one.name === name)
  if (service === undefined) throw new Error(`${protocol} has no service ${name}`)
  return service
}

const found = (service: Service, verb: string, path: string) => matchRoute(service, verb, path)?.path

/** A path that the pattern is for. */
const sampleOf = ({ path }: Route) => path.replace('**', 'a/b').replaceAll('*', '0xabc')

// Specification 4.5, as it is printed there.
const TON_V2_GET = `/getAddressInformation, /getExtendedAddressInformation, /getWalletInformation, /getTransactions,
  /getAddressBalance, /getAddressState, /packAddress, /unpackAddress, /getMasterchainInfo, /getMasterchainBlockSignatures,
  /getShardBlockProof, /getConsensusBlock, /lookupBlock, /shards, /getBlockTransactions, /getBlockHeader, /getConfigParam,
  /getTokenData, /tryLocateTx, /tryLocateResultTx, /tryLocateSourceTx, /detectAddress`
const TON_V2_POST = '/sendBoc, /sendBocReturnHash, /sendQuery, /estimateFee, /runGetMethod, /jsonRPC'
const TON_V3_GET = `/masterchainInfo, /blocks, /masterchainBlockShardState, /addressBook, /masterchainBlockShards,
  /transactions, /transactionsByMasterchainBlock, /transactionsByMessage, /adjacentTransactions, /messages,
  /nft/collections, /nft/items, /nft/transfers, /jetton/masters, /jetton/wallets, /jetton/transfers, /jetton/burns,
  /account, /wallet`
const TON_V3_POST = '/message, /runGetMethod, /estimateFee'

const TON_OPERATIONS = [
  ...operations('v2', 'GET', TON_V2_GET),
  ...operations('v2', 'POST', TON_V2_POST),
  ...operations('v3', 'GET', TON_V3_GET),
  ...operations('v3', 'POST', TON_V3_POST),
]

function operations(service: string, verb: string, printed: string): string[] {
  return printed.split(',').map((path) => `${verb} /api/${service}${path.trim()}`)
}

test('TON serves the 50 operations of the specification, and no other', () => {
  const services = ['v2', 'v3'].map((name) => serviceOf('ton', name))
  const served = services.flatMap(({ routes }) =>
    routes.flatMap(({ verbs, path }) => verbs.map((verb) => `${verb} ${path}`)),
  )
  expect(served.toSorted()).toEqual(TON_OPERATIONS.toSorted())
  expect(TON_OPERATIONS).toHaveLength(50)
})

test.each(TON_OPERATIONS)('%s is served by its own service and verb alone', (operation) => {
  const [verb = '', path = ''] = operation.split(' ')
  const own = path.startsWith('/api/v2/') ? 'v2' : 'v3'
  expect(found(serviceOf('ton', own), verb, path)).toBe(path)
  expect(found(serviceOf('ton', own === 'v2' ? 'v3' : 'v2'), verb, path)).toBeUndefined()
  for (const other of VERBS.filter((one) => one !== verb))
    expect(found(serviceOf('ton', own), other, path)).toBeUndefined()
})

test.each(SERVICES)(
  'every route of %s is reached by every verb of it, and by none other that it does not share',
  (_, service) => {
    for (const route of service.routes)
      for (const verb of VERBS) {
        const reached = matchRoute(service, verb, sampleOf(route))
        if (route.verbs.includes(verb)) expect(reached, `${verb} ${route.path}`).toBe(route)
        else expect(reached, `${verb} ${route.path}`).not.toBe(route)
      }
  },
)

test.each(SERVICES)('the routes of %s are written as they are matched', (_, { routes }) => {
  for (const { path, nodePath, verbs, form, isWrite, isStream } of routes) {
    expect(path, path).toMatch(/^\/([A-Za-z0-9_.:*-]+(\/[A-Za-z0-9_.*-]+)*\/?)?$/)
    expect(path.slice(0, -2), path).not.toContain('**')
    expect(path.replace('**', '').replaceAll('/*', ''), path).not.toContain('*')
    if (nodePath !== undefined) expect(nodePath.split('*'), path).toHaveLength(path.split('*').length)
    if (isWrite || form === 'json-rpc') expect(verbs, path).toEqual(['POST'])
    if (isStream) expect(verbs, path).toEqual(['GET'])
  }
})

test.each([
  ['ethereum', 'POST', '', '/'],
  ['ethereum', 'POST', '/', '/'],
  ['tron', 'POST', '', '/'],
  ['tron', 'GET', '/wallet/getnowblock', '/wallet/getnowblock'],
  ['eos', 'GET', '/v1/chain/get_info', '/v1/chain/get_info'],
  ['aptos', 'GET', '/v1', '/v1'],
  ['aptos', 'GET', '/v1/', '/v1/'],
  [
    'aptos',
    'GET',
    '/v1/accounts/0x1/resource/0x1::coin::CoinStore%3C0x1::aptos_coin::AptosCoin%3E',
    '/v1/accounts/*/resource/*',
  ],
  ['cosmos', 'GET', '/blocks/latest', '/blocks/latest'],
  ['cosmos', 'GET', '/blocks/17', '/blocks/*'],
  ['cosmos', 'GET', '/cosmos/bank/v1beta1/balances/cosmos1abc', '/cosmos/**'],
  ['avax', 'POST', '/ext/bc/C/rpc', '/ext/bc/C/rpc'],
  ['filecoin', 'POST', '/rpc/v1', '/rpc/v1'],
  ['ipfs', 'GET', '/ipfs/bafkqaaa', '/ipfs/*/**'],
  ['ipfs', 'HEAD', '/ipfs/bafkqaaa/', '/ipfs/*/**'],
  ['ipfs', 'GET', '/ipfs/bafkqaaa/a%20b/c.d/..e/index.html', '/ipfs/*/**'],
  ['ipfs', 'GET', '/ipfs/bafkqaaa/100%25.txt', '/ipfs/*/**'],
  ['ipfs', 'GET', '/ipfs/bafkqaaa/%D1%84', '/ipfs/*/**'],
  ['ethereum2', 'GET', '/eth/v1/node/syncing', '/eth/v1/node/syncing'],
  ['ethereum2', 'GET', '/eth/v1/beacon/states/head/validators/7', '/eth/v1/beacon/states/*/validators/*'],
  ['ethereum2', 'POST', '/eth/v1/beacon/states/head/validators', '/eth/v1/beacon/states/*/validators'],
  ['ethereum2', 'GET', '/eth/v2/debug/beacon/states/finalized', '/eth/v2/debug/beacon/states/*'],
  ['ethereum2', 'GET', '/eth/v1/events', '/eth/v1/events'],
  ['starknet', 'POST', '/rpc/v0_8', '/rpc/v0_8'],
])('%s takes %s %s as %s', (protocol, verb, path, pattern) => {
  expect(found(serviceOf(protocol), verb, path)).toBe(pattern)
})

test.each([
  ['ethereum', 'GET', '/'],
  ['ethereum', 'POST', '//'],
  ['ethereum', 'POST', '/graphql'],
  ['ethereum', 'DELETE', '/'],
  ['ethereum', 'constructor', '/'],
  ['ethereum2', 'GET', '/eth/v1/node/syncing/'],
  ['ethereum2', 'GET', '/eth/v1/beacon/states//root'],
  ['ethereum2', 'GET', '/eth/v1/beacon/states/head/root/'],
  ['ethereum2', 'POST', '/eth/v1/validator/prepare_beacon_proposer'],
  ['ethereum2', 'POST', '/eth/v1/validator/register_validator'],
  ['ethereum2', 'POST', '/eth/v1/validator/beacon_committee_subscriptions'],
  ['ethereum2', 'GET', '/eth/v3/validator/blocks/7'],
  ['ethereum2', 'GET', '/eth/v1/keystores'],
  ['ethereum2', 'POST', '/eth/v1/lodestar/gc'],
  ['ethereum2', 'GET', '/metrics'],
  ['ipfs', 'POST', '/api/v0/shutdown'],
  ['ipfs', 'POST', '/api/v0/config'],
  ['ipfs', 'POST', '/api/v0/pin/add'],
  ['ipfs', 'POST', '/api/v0/key/list'],
  ['ipfs', 'GET', '/api/v0/cat'],
  ['ipfs', 'GET', '/ipfs'],
  ['ipfs', 'GET', '/ipfs/'],
  ['ipfs', 'GET', '/webui'],
  ['tron', 'POST', '/wallet/gettransactionsign'],
  ['tron', 'POST', '/wallet/generateaddress'],
  ['tron', 'POST', '/wallet/easytransferbyprivate'],
  ['tron', 'GET', '/wallet/broadcasthex'],
  ['tron', 'GET', '/monitor/getnodeinfo'],
  ['avax', 'POST', '/ext/admin'],
  ['avax', 'POST', '/ext/keystore'],
  ['avax', 'GET', '/ext/metrics'],
  ['avax', 'POST', '/'],
  ['eos', 'POST', '/v1/chain/push_block'],
  ['eos', 'POST', '/v1/producer/pause'],
  ['eos', 'POST', '/v1/net/connect'],
  ['filecoin', 'POST', '/'],
  ['filecoin', 'POST', '/rest/v0/import'],
  ['filecoin', 'GET', '/debug/metrics'],
  ['cosmos', 'GET', '/metrics'],
  ['cosmos', 'POST', '/cosmos/bank/v1beta1/balances/cosmos1abc'],
  ['starknet', 'POST', '/rpc/admin'],
])('%s does not take %s %s', (protocol, verb, path) => {
  expect(found(serviceOf(protocol), verb, path)).toBeUndefined()
})

/** What may not be in a path, with what makes it so: whatever stands before it, and a slash or nothing behind it. */
const HOSTILE = [
  ...['/..', '/.', '/..;', '/.;x=y', '/..%20', '/..%3b', '/../..', '/', '//', '\\', '/\\..', '/..\\'],
  ...['%2e', '%2E%2e', '%2fb', '%2F', '%5c', '%00', '%0a', '%0D%0A', '%7f', '%1F', '%', '%2', '%zz', '%g0'],
  ...['%252e', '%252f', '%25%32%65', '%252%65', '%25%32e', '%c0%af', '%e0%80%af', '%ff', '?', '?x', '#', '#x'],
  ...['\0', '\n', '\r', '\r\n', '\t', ' ', '\x7f', '\x85', 'ÿ', '\u2215', '\uff0f', '\ud800'],
]

interface OpenPlace {
  readonly service: Service
  readonly verb: string
  readonly path: string
}

/** Where anything may stand. */
const OPEN_PLACES = PROTOCOLS.flatMap(({ name, services }) =>
  services.flatMap((service) =>
    service.routes
      .filter(({ path }) => path.includes('*'))
      .flatMap((route) =>
        route.verbs.map((verb): [string, OpenPlace] => [
          `${name} ${verb} ${route.path}`,
          { service, verb, path: route.path },
        ]),
      ),
  ),
)

const anyPlace = fc.constantFrom(...OPEN_PLACES.map(([name]) => name))
const PLACES = new Map(OPEN_PLACES)

function placeOf(name: string): OpenPlace {
  const place = PLACES.get(name)
  if (place === undefined) throw new Error(name)
  return place
}

const plainText = fc.stringMatching(/^[A-Za-z0-9_~:-]{0,8}$/)

test('what a server could read as another path is never a route', () => {
  fc.assert(
    fc.property(anyPlace, fc.constantFrom(...HOSTILE), plainText, (name, hostile, text) => {
      const { service, verb, path } = placeOf(name)
      for (const end of ['', '/']) {
        const filled = path.replace(/\*\*?/g, () => `a${text}${hostile}`) + end
        // At an open end one slash more is a folder.
        if (hostile === '/' && end === '' && path.endsWith('**') && path.split('*').length === 3) continue
        expect(matchRoute(service, verb, filled), filled).toBeUndefined()
      }
    }),
    { numRuns: 20_000 },
  )
})

test('what matches stays under its pattern, however it is read', () => {
  const segment = fc.string({ unit: fc.constantFrom(...'/.%25cfe;\\abx03 ~'), maxLength: 12 })
  fc.assert(
    fc.property(anyPlace, fc.array(segment, { maxLength: 3 }), (name, texts) => {
      const { service, verb, path } = placeOf(name)
      const filled = path.replace(/\*\*?/g, () => texts.pop() ?? 'x')
      const route = matchRoute(service, verb, filled)
      if (route === undefined) return
      const start = route.path.slice(0, route.path.indexOf('*'))
      for (const read of [filled, decodedOnce(filled), decodedOnce(decodedOnce(filled))])
        for (const cut of [read, read.replace(/;[^/]*/g, '')])
          expect(new URL(cut, 'http://node').pathname.startsWith(start), `${filled} as ${cut}`).toBe(true)
    }),
    { numRuns: 50_000 },
  )
})

/** As the most careless server does it: byte by byte. */
function decodedOnce(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

test('every random path is answered', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SERVICES), fc.constantFrom(...VERBS), fc.string(), ([, service], verb, text) => {
      const path = `/${text}`
      const route = matchRoute(service, verb, path)
      if (route !== undefined) expect(route.verbs).toContain(verb)
    }),
  )
})

test('what changes something is marked, and nothing else', () => {
  const writes = PROTOCOLS.flatMap(({ name, services }) =>
    services.flatMap(({ routes }) => routes.filter(({ isWrite }) => isWrite).map(({ path }) => `${name} ${path}`)),
  )
  expect(writes).toEqual([
    ...['sendBoc', 'sendBocReturnHash', 'sendQuery'].map((path) => `ton /api/v2/${path}`),
    'ton /api/v3/message',
    ...['broadcasttransaction', 'broadcasthex'].map((path) => `tron /wallet/${path}`),
    ...[
      ...['v1/beacon/pool/attestations', 'v1/beacon/pool/attester_slashings', 'v1/beacon/pool/proposer_slashings'],
      ...['v1/beacon/pool/voluntary_exits', 'v1/beacon/pool/bls_to_execution_changes'],
      ...['v1/beacon/pool/payload_attestations', 'v2/beacon/pool/attestations', 'v2/beacon/pool/attester_slashings'],
      ...['v1/beacon/pool/sync_committees', 'v1/beacon/blocks', 'v2/beacon/blocks'],
    ].map((path) => `ethereum2 /eth/${path}`),
    ...['push_transaction', 'push_transactions', 'send_transaction', 'send_transaction2'].map(
      (path) => `eos /v1/chain/${path}`,
    ),
    ...['transactions', 'transactions/batch'].map((path) => `aptos /v1/${path}`),
    'cosmos /cosmos/tx/v1beta1/txs',
  ])
})

test('a call is named by its pattern', () => {
  const route = matchRoute(serviceOf('ethereum2'), 'GET', '/eth/v1/beacon/states/head/root')
  if (route === undefined) throw new Error('no route')
  expect(callName(route, 'GET')).toBe('GET#/eth/v1/beacon/states/*/root')
})

test.each([
  ['tron', 'POST', '', '/jsonrpc'],
  ['tron', 'POST', '/jsonrpc', '/jsonrpc'],
  ['ethereum', 'POST', '', '/'],
  ['cosmos', 'GET', '/blocks/latest', '/cosmos/base/tendermint/v1beta1/blocks/latest'],
  ['cosmos', 'GET', '/blocks/17', '/cosmos/base/tendermint/v1beta1/blocks/17'],
  ['cosmos', 'GET', '/cosmos/bank/v1beta1/params', '/cosmos/bank/v1beta1/params'],
])('a node of %s is asked %s %j at %s', (protocol, verb, path, nodePath) => {
  const route = matchRoute(serviceOf(protocol), verb, path)
  if (route === undefined) throw new Error('no route')
  expect(nodePathOf(route, path)).toBe(nodePath)
})

test('an upstream of ipfs is asked for an identifier that carries its own content', () => {
  const cid = serviceOf('ipfs').identity?.path.split('/').at(-1) ?? ''
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  const bits = [...cid.slice(1)].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const bytes = Buffer.from((bits.match(/[01]{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  // Version 1, raw bytes, the identity "hash", its length.
  expect([...bytes.subarray(0, 4)]).toEqual([1, 0x55, 0, bytes.length - 4])
  expect(JSON.parse(bytes.subarray(4).toString())).toBe(protocolOf('ipfs')?.networks.pub?.identity)
})
