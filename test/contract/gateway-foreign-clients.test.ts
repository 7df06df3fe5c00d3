import { getClient } from '@lodestar/api'
import { config } from '@lodestar/config/default'
import { ApiPromise, HttpProvider, WsProvider } from '@polkadot/api'
import type { ApiOptions } from '@polkadot/api/types'
import metadata from '@polkadot/types-support/metadata/static-substrate'
import { createSolanaRpc, createSolanaRpcSubscriptions } from '@solana/web3.js'
import { Address } from '@ton/core'
import { TonClient } from '@ton/ton'
import { JsonRpcProvider } from 'near-api-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TOKEN } from './given-api.ts'
import {
  type GivenGateway,
  networkOn,
  openGivenGateway,
  openStub,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'
import { type SocketStub, socketsOn, socketUrl, withSockets } from './given-socket.ts'

// Clients of chains that are not of the EVM, as their users have them, before nodes that answer as those of their chain do.

/** Sooner than any chain. */
const TELL_MS = 20
const SOON = { interval: 10 }
const PLACES = [
  'ethereum2/mainnet',
  'solana/mainnet',
  'polkadot/mainnet',
  'bitcoin/mainnet',
  'ton/mainnet/v2',
  'near/mainnet',
]
const open = new AsyncDisposableStack()
const nodes = new Map<string, Stub>()
const sockets = new Map<string, SocketStub>()
let gateway: GivenGateway
beforeAll(async () => {
  const networks = []
  for (const place of PLACES) {
    const [protocol = '', network = '', service = ''] = place.split('/')
    const node = open.use(await openStub(protocol, network, service))
    nodes.set(protocol, node)
    if (['solana', 'polkadot'].includes(protocol)) {
      sockets.set(protocol, withSockets(node))
      networks.push(socketsOn(place, node))
    } else networks.push(networkOn(place, node))
  }
  gateway = open.use(await openGivenGateway(networks))
  for (const place of PLACES) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())
const urlOf = (place: string): string => `${gateway.api.url}/${place}/${TOKEN}`

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly params: never
}
type Results = Readonly<Record<string, (params: never) => unknown>>

/** The node's results by method; what it does not know it says so, in the words of JSON-RPC. */
function answering(protocol: string, results: Results, errorStatus = 200): Stub {
  const node = nodes.get(protocol) as Stub
  node.got.length = 0
  node.answer = ({ body }, response) => {
    const { id, method, params } = JSON.parse(body) as Asked
    const result = results[method]?.(params)
    if (result === undefined)
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method}` } }, errorStatus)
    else sendJson(response, { jsonrpc: '2.0', id, result })
  }
  return node
}

/** What is told to a subscription: the method of the message, and the result. */
type Told = Readonly<Record<string, readonly [method: string, result: unknown]>>

/** Lets the node tell who subscribes by one of these methods, again and again. */
function telling(protocol: string, byMethod: Told): void {
  const node = sockets.get(protocol) as SocketStub
  let made = 0
  node.answer = (text, socket) => {
    const { id, method } = JSON.parse(text) as Asked
    const told = byMethod[method]
    const subscription = ++made
    const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
    send({ id, result: told === undefined ? true : subscription })
    if (told === undefined) return
    const [name, result] = told
    const timer = setInterval(() => send({ method: name, params: { subscription, result } }), TELL_MS)
    socket.once('close', () => clearInterval(timer))
  }
}

test('@lodestar/api reads, and hears events', async () => {
  const node = nodes.get('ethereum2') as Stub
  const genesis = {
    genesis_time: '1606824023',
    genesis_validators_root: `0x${'4b'.repeat(32)}`,
    genesis_fork_version: '0x00000000',
  }
  const head = {
    slot: '10',
    block: `0x${'01'.repeat(32)}`,
    state: `0x${'02'.repeat(32)}`,
    epoch_transition: false,
    execution_optimistic: false,
  }
  const duties = { previous_duty_dependent_root: head.block, current_duty_dependent_root: head.block }
  node.answer = ({ path }, response) => {
    if (path === '/eth/v1/beacon/genesis') sendJson(response, { data: genesis })
    else if (path.startsWith('/eth/v1/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: head\ndata: ${JSON.stringify({ ...head, ...duties })}\n\n`)
    } else sendJson(response, { code: 404, message: 'NOT_FOUND: beacon block' }, 404)
  }
  const api = getClient({ baseUrl: urlOf('ethereum2/mainnet') }, { config })
  expect((await api.beacon.getGenesis()).value()).toMatchObject({ genesisTime: 1606824023 })
  const missing = await api.beacon.getBlockHeader({ blockId: 5 })
  expect([missing.ok, missing.status, missing.error()?.message]).toEqual([
    false,
    404,
    expect.stringContaining('NOT_FOUND'),
  ])
  const events: unknown[] = []
  const stop = new AbortController()
  const topics = ['head'] as never
  await api.events.eventstream({ topics, signal: stop.signal, onEvent: (event) => events.push(event) })
  await expect.poll(() => events, SOON).toMatchObject([{ type: 'head', message: { slot: 10 } }])
  stop.abort()
})

test('@solana/web3.js reads, and hears slots', async () => {
  telling('solana', { slotSubscribe: ['slotNotification', { parent: 9, root: 1, slot: 10 }] })
  answering('solana', {
    getSlot: () => 348_000_000,
    getBalance: () => ({
      context: { slot: 1 },
      value: 5_000_000_000,
    }),
  })
  const rpc = createSolanaRpc(urlOf('solana/mainnet'))
  expect(await rpc.getSlot().send()).toBe(348_000_000n)
  const address = '11111111111111111111111111111111' as never
  expect(await rpc.getBalance(address).send()).toMatchObject({ value: 5_000_000_000n })
  await expect(rpc.getBlockHeight().send()).rejects.toThrow('no getBlockHeight')
  const stop = new AbortController()
  const subscriptions = createSolanaRpcSubscriptions(socketUrl(gateway, 'solana/mainnet') as `ws://${string}`)
  const told = await subscriptions.slotNotifications().subscribe({ abortSignal: stop.signal })
  for await (const { slot } of told) {
    expect(slot).toBe(10n)
    break
  }
  stop.abort()
})

test('@polkadot/api reads the chain, and hears heads', async () => {
  const hash = `0x${'91'.repeat(32)}`
  const header = { parentHash: hash, number: '0x2a', stateRoot: hash, extrinsicsRoot: hash, digest: { logs: [] } }
  const version = {
    specName: 'node',
    implName: 'node',
    authoringVersion: 1,
    specVersion: 1,
    implVersion: 1,
    apis: [],
    transactionVersion: 1,
    stateVersion: 1,
  }
  answering('polkadot', {
    chain_getBlockHash: () => hash,
    chain_getHeader: () => header,
    rpc_methods: () => ({ methods: ['chain_getHeader', 'chain_subscribeNewHeads', 'state_subscribeRuntimeVersion'] }),
    state_getMetadata: () => metadata,
    state_getRuntimeVersion: () => version,
    system_chain: () => 'Development',
    system_properties: () => ({ ss58Format: 42, tokenDecimals: 12, tokenSymbol: 'UNIT' }),
  })
  telling('polkadot', {
    chain_subscribeNewHead: ['chain_newHead', { ...header, number: '0x2b' }],
    state_subscribeRuntimeVersion: ['state_runtimeVersion', version],
  })
  for (const provider of [
    new HttpProvider(urlOf('polkadot/mainnet')),
    new WsProvider(socketUrl(gateway, 'polkadot/mainnet')),
  ]) {
    // Its own types do not hold with exact optional properties.
    const options = { provider, noInitWarn: true } as unknown as ApiOptions
    const api = await ApiPromise.create(options)
    expect((await api.rpc.chain.getHeader()).number.toNumber()).toBe(42)
    if (provider.hasSubscriptions) {
      const numbers: number[] = []
      const end = await api.rpc.chain.subscribeNewHeads(({ number }) => void numbers.push(number.toNumber()))
      await expect.poll(() => numbers[0], SOON).toBe(43)
      end()
    }
    await api.disconnect()
  }
})

test('JSON-RPC 1.0 as bitcoin-cli and libraries speak it reads Bitcoin, and hears its errors, which come with 500', async () => {
  const node = nodes.get('bitcoin') as Stub
  node.answer = ({ body }, response) => {
    const { id, method } = JSON.parse(body) as Asked
    if (method === 'getblockhash') sendJson(response, { result: '00'.repeat(32), error: null, id })
    else sendJson(response, { result: null, error: { code: -8, message: 'Block height out of range' }, id }, 500)
  }
  const call = async (body: object) => {
    const response = await gateway.ask('bitcoin/mainnet', { method: 'POST', body: JSON.stringify(body) })
    return [response.status, await response.json()]
  }
  const found = { result: '00'.repeat(32), error: null }
  expect(await call({ method: 'getblockhash', params: [5], id: 1 })).toEqual([200, { ...found, id: 1 }])
  const named = { jsonrpc: '1.0', id: 'curltext', method: 'getblockhash', params: { height: 5 } }
  expect(await call(named)).toEqual([200, { ...found, id: 'curltext' }])
  const error = { code: -8, message: 'Block height out of range' }
  expect(await call({ version: '1.1', method: 'getblock', params: [], id: 2 })).toEqual([
    500,
    { result: null, error, id: 2 },
  ])
})

test('TonClient reads balances and runs methods of contracts', async () => {
  const node = nodes.get('ton') as Stub
  const result: Record<string, unknown> = {
    getAddressInformation: {
      '@type': 'raw.fullAccountState',
      ...{ balance: '5000000000', extra_currencies: [], state: 'active', data: '', code: '', sync_utime: 1 },
      last_transaction_id: { '@type': 'internal.transactionId', lt: '1', hash: 'AA==' },
      block_id: {
        '@type': 'ton.blockIdExt',
        workchain: -1,
        shard: '-9223372036854775808',
        seqno: 1,
        root_hash: '',
        file_hash: '',
      },
    },
    runGetMethod: { '@type': 'smc.runResult', gas_used: 549, exit_code: 0, stack: [['num', '0x2a']] },
  }
  node.answer = ({ body }, response) => {
    const { id, method } = JSON.parse(body) as Asked
    if (method in result) sendJson(response, { ok: true, result: result[method], jsonrpc: '2.0', id })
    else sendJson(response, { ok: false, error: `no ${method}`, code: 500, jsonrpc: '2.0', id }, 500)
  }
  const client = new TonClient({ endpoint: `${urlOf('ton/mainnet')}/api/v2/jsonRPC` })
  const address = Address.parseRaw(`0:${'00'.repeat(32)}`)
  expect(await client.getBalance(address)).toBe(5_000_000_000n)
  expect((await client.runMethod(address, 'seqno')).stack.readNumber()).toBe(42)
  expect(node.got.map(({ path }) => path)).toEqual(['/api/v2/jsonRPC', '/api/v2/jsonRPC'])
})

test('near-api-js reads accounts, and hears its errors', async () => {
  const account = {
    amount: '100',
    locked: '0',
    code_hash: '1'.repeat(32),
    storage_usage: 182,
    block_hash: 'a',
    block_height: 5,
  }
  answering('near', {
    query: (params: { readonly account_id: string }) => (params.account_id === 'a.near' ? account : undefined),
  })
  const provider = new JsonRpcProvider({ url: urlOf('near/mainnet') }, { retries: 1 })
  expect(await provider.viewAccount({ accountId: 'a.near' })).toMatchObject({ amount: 100n, block_height: 5 })
  await expect(provider.viewAccount({ accountId: 'b.near' })).rejects.toThrow()
})
