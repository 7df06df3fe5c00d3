import { createPublicClient, type Hex, keccak256, parseAbiItem, toEventSelector, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { COLLECTIBLE_721_ADDRESS } from '../../infra/devnet/execution/genesis.ts'
import { openDevnet } from '../../infra/devnet/open.ts'
import { defaultScenario } from '../../infra/devnet/scenario.ts'
import { openSecondChain, type SecondChain, type SecondChainSetup } from '../../infra/devnet/second/open.ts'
import { FIRST_REORG_BLOCK } from '../../infra/devnet/second/reorgs.ts'
import { askJsonRpc } from '../ask-json-rpc.ts'
import { WALLET } from '../wallets.ts'
import { headerHash, type RpcBlock } from './json-rpc.ts'
import { openJsonRpcSocket, toSocketUrl } from './json-rpc-socket.ts'

const GENESIS_TIME_SEC = 1_800_000_000
const LONG_TIMEOUT_MS = 60_000
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)')

type Log = Readonly<Record<string, unknown>>

function openChain(changes: Partial<SecondChainSetup> = {}): Promise<SecondChain> {
  return openSecondChain({
    seed: 'web socket',
    host: '127.0.0.1',
    port: 0,
    directory: undefined,
    clock: 'manual',
    now: () => GENESIS_TIME_SEC,
    signal: new AbortController().signal,
    genesisTimeSec: GENESIS_TIME_SEC,
    ...changes,
  })
}

const latest = (url: string) => askJsonRpc<RpcBlock>(url, 'eth_getBlockByNumber', ['latest', false])
const blockWith = (url: string, hash: Hex) => askJsonRpc<RpcBlock>(url, 'eth_getBlockByHash', [hash, false])

/** Hashes of the canonical blocks after genesis, by plain questions over HTTP. */
async function chainOf(url: string): Promise<Hex[]> {
  const hashes: Hex[] = []
  for (let block = await latest(url); block.number !== '0x0'; block = await blockWith(url, block.parentHash as Hex))
    hashes.unshift(block.hash)
  return hashes
}

async function logsOf(url: string, hashes: readonly Hex[], filter: object = {}): Promise<Log[]> {
  const perBlock = hashes.map((blockHash) => askJsonRpc<Log[]>(url, 'eth_getLogs', [{ ...filter, blockHash }]))
  return (await Promise.all(perBlock)).flat()
}

/** What subscribers of heads and logs are to hear when the chain was each of these, one after the other. */
async function expectedOf(url: string, chains: readonly (readonly Hex[])[], filter: object = {}) {
  const heads: Hex[] = []
  const logs: Log[] = []
  let before: readonly Hex[] = []
  for (const chain of chains) {
    const orphans = before.filter((hash) => !chain.includes(hash))
    const added = chain.filter((hash) => !before.includes(hash))
    heads.push(...added)
    logs.push(...(await logsOf(url, orphans, filter)).map((log) => ({ ...log, removed: true })))
    logs.push(...(await logsOf(url, added, filter)))
    before = chain
  }
  return { heads, logs }
}

const hashesOf = (heads: readonly Log[]) => heads.map(({ hash }) => hash)

test('tells heads and logs of the Ethereum as its JSON-RPC has them, and as it has them once sixty slots are taken back', {
  timeout: LONG_TIMEOUT_MS,
}, async () => {
  const firstSlot = 70
  const depth = 60
  await using devnet = await openDevnet({
    seed: 'deep',
    genesisTimeSec: GENESIS_TIME_SEC,
    validators: 128,
    clock: 'manual',
    beaconPort: 0,
    executionPort: 0,
    scenario: { ...defaultScenario, version: 'deep-1', incidents: [{ kind: 'reorg', slot: firstSlot, depth }] },
  })
  const url = devnet.executionUrl
  using client = await openJsonRpcSocket(url)
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', {})
  await devnet.advanceTo(firstSlot + depth - 1)
  const before = await chainOf(url)
  await devnet.advanceTo(firstSlot + depth + 3)
  const after = await chainOf(url)
  expect(before.filter((hash) => !after.includes(hash))).toHaveLength(depth)

  const expected = await expectedOf(url, [before, after])
  expect(expected.logs.filter(({ removed }) => removed === true).length).toBeGreaterThan(20)
  await expect
    .poll(() => [heads.results.length, logs.results.length])
    .toEqual([expected.heads.length, expected.logs.length])
  expect(hashesOf(heads.results)).toEqual(expected.heads)
  expect(logs.results).toEqual(expected.logs)
  for (const head of heads.results) {
    expect(headerHash(head)).toBe(head.hash)
    const {
      transactions: _,
      uncles: __,
      withdrawals: ___,
      size: ____,
      ...header
    } = await blockWith(url, head.hash as Hex)
    expect(head).toEqual(header)
  }
})

describe('the second chain', () => {
  it('tells a hundred subscribers the same heads and logs, three and sixty blocks taken back', {
    timeout: LONG_TIMEOUT_MS,
  }, async () => {
    await using chain = await openChain()
    const { url } = chain
    await using stack = new AsyncDisposableStack()
    const filter = { address: COLLECTIBLE_721_ADDRESS }
    const subscribers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const client = stack.use(await openJsonRpcSocket(url))
        return { heads: await client.subscribe('newHeads'), logs: await client.subscribe('logs', filter) }
      }),
    )
    const chains: Hex[][] = []
    for (const head of [FIRST_REORG_BLOCK, 70]) {
      await chain.advanceTo(head)
      chains.push(await chainOf(url))
    }
    chain.orphan(60)
    await chain.advanceTo(75)
    chains.push(await chainOf(url))
    const expected = await expectedOf(url, chains, filter)
    expect([expected.heads.length, expected.logs.some(({ removed }) => removed === true)]).toEqual([75 + 3 + 60, true])
    const told = subscribers.map(({ heads, logs }) => ({ heads: heads.results, logs: logs.results }))
    await expect
      .poll(() =>
        told.every(({ heads, logs }) => heads.length + logs.length === expected.heads.length + expected.logs.length),
      )
      .toBe(true)
    for (const { heads, logs } of told) expect({ heads: hashesOf(heads), logs }).toEqual(expected)
    const ids = subscribers.flatMap(({ heads, logs }) => [heads.id, logs.id])
    expect([new Set(ids).size, ids.filter((id) => /^0x[0-9a-f]{32}$/.test(id)).length]).toEqual([200, 200])
  })

  it('tells a head when it is the latest block, and nothing of the blocks before a subscription', async () => {
    await using chain = await openChain()
    await chain.advanceTo(5)
    using client = await openJsonRpcSocket(chain.url)
    const heads = await client.subscribe('newHeads')
    for (let number = 6; number <= FIRST_REORG_BLOCK + 2; number++) {
      await chain.advanceTo(number)
      const { hash } = await latest(chain.url)
      await expect.poll(() => heads.results.at(-1)?.hash).toBe(hash)
    }
    expect(heads.results[0]?.number).toBe('0x6')
    await client.call('eth_unsubscribe', [heads.id])
    const count = heads.results.length
    await chain.advanceTo(FIRST_REORG_BLOCK + 5)
    expect(await client.call('eth_blockNumber')).toBe(`0x${(FIRST_REORG_BLOCK + 5).toString(16)}`)
    expect(heads.results).toHaveLength(count)
  })

  it("is watched by viem's own transport, blocks and events", async () => {
    await using chain = await openChain()
    const client = createPublicClient({ transport: webSocket(toSocketUrl(chain.url)) })
    const blocks: (bigint | null)[] = []
    const moved: { readonly hash: Hex | null; readonly tokenId: bigint | undefined; readonly removed: boolean }[] = []
    const failures: Error[] = []
    const onError = (error: Error) => failures.push(error)
    const unwatch = [
      client.watchBlocks({ onBlock: ({ number }) => blocks.push(number), onError }),
      client.watchEvent({
        address: COLLECTIBLE_721_ADDRESS,
        event: TRANSFER,
        onLogs: (logs) =>
          moved.push(
            ...logs.map(({ blockHash, args, removed }) => ({ hash: blockHash, tokenId: args.tokenId, removed })),
          ),
        onError,
      }),
    ]
    // Both subscriptions are asked for before this, on the same socket.
    expect(await client.getChainId()).toBe(chain.chainId)
    for (let number = 1; number <= FIRST_REORG_BLOCK; number++) await chain.advanceTo(number)
    const before = await chainOf(chain.url)
    await chain.advanceTo(FIRST_REORG_BLOCK + 10)
    const after = await chainOf(chain.url)
    const filter = { address: COLLECTIBLE_721_ADDRESS, topics: [toEventSelector(TRANSFER)] }
    const expected = await expectedOf(chain.url, [before, after], filter)
    await expect.poll(() => [blocks.length, moved.length]).toEqual([expected.heads.length, expected.logs.length])
    const toMoved = ({ blockHash, topics, removed }: Log) => ({
      hash: blockHash,
      tokenId: BigInt((topics as Hex[])[3] ?? 0),
      removed,
    })
    expect(moved).toEqual(expected.logs.map(toMoved))
    expect(moved.some(({ removed }) => removed)).toBe(true)
    expect(failures).toEqual([])
    for (const end of unwatch) end()
    ;(await client.transport.getSocket()).close()
  })

  it('tells of a transaction that somebody sends, and again when its block is taken back', async () => {
    await using chain = await openChain()
    await chain.advanceTo(3)
    using client = await openJsonRpcSocket(chain.url)
    const pending = await client.subscribe('newPendingTransactions')
    const raw = await WALLET.signTransaction({
      chainId: chain.chainId,
      nonce: 0,
      to: WALLET.address,
      value: 1n,
      gas: 21_000n,
      maxFeePerGas: 50_000_000_000n,
      maxPriorityFeePerGas: 1n,
    })
    const hash = keccak256(raw)
    expect(await client.call('eth_sendRawTransaction', [raw])).toBe(hash)
    await chain.advanceTo(4)
    expect(await client.call('eth_getTransactionReceipt', [hash])).toMatchObject({ blockNumber: '0x4' })
    await expect.poll(() => pending.results).toEqual([hash])
    chain.orphan(1)
    await chain.advanceTo(6)
    await expect.poll(() => pending.results).toEqual([hash, hash])
  })
})

describe('calls over WebSocket', () => {
  let chain: SecondChain
  beforeAll(async () => {
    chain = await openChain()
    await chain.advanceTo(FIRST_REORG_BLOCK + 3)
  })
  afterAll(() => chain[Symbol.asyncDispose]())

  const over = async (body: string): Promise<unknown> => (await fetch(chain.url, { method: 'POST', body })).json()

  it.each([
    ['of a number', { id: 1, method: 'eth_blockNumber' }],
    ['of a block', { jsonrpc: '2.0', id: 'a', method: 'eth_getBlockByNumber', params: ['0x20', true] }],
    [
      'of the finalized block',
      { jsonrpc: '2.0', id: 'a', method: 'eth_getBlockByNumber', params: ['finalized', false] },
    ],
    ['of logs', { id: null, method: 'eth_getLogs', params: [{ fromBlock: '0x0', toBlock: 'latest' }] }],
    ['of a balance', { jsonrpc: '2.0', id: 7, method: 'eth_getBalance', params: [WALLET.address, 'latest'] }],
    ['of a method that is not there', { id: { any: ['id'] }, method: 'evm_mine' }],
    ['of a bad number', { id: 1.5, method: 'eth_getBlockByNumber', params: ['0xzz', false] }],
    [
      'of several at once',
      [
        { id: 1, method: 'eth_chainId' },
        { id: 2, method: 'eth_getLogs', params: [{}] },
        { id: 3, method: 'eth_nothing' },
        7,
      ],
    ],
    ['of none', []],
    ['that is no JSON', '{"jsonrpc"'],
  ])('a question %s is answered as over HTTP', async (_, request) => {
    const body = typeof request === 'string' ? request : JSON.stringify(request)
    using client = await openJsonRpcSocket(chain.url)
    expect(await client.ask(body)).toEqual(await over(body))
  })

  it('are taken as text or as bytes', async () => {
    using client = await openJsonRpcSocket(chain.url)
    const answered = client.ask('{"id":1,"method":"eth_chainId"}')
    client.socket.send(Buffer.from('{"id":2,"method":"net_version"}'))
    expect(await answered).toMatchObject({ id: 1 })
    await expect.poll(() => client.messages[1]).toMatchObject({ id: 2, result: String(chain.chainId) })
  })

  it.each([
    ['an unknown kind', ['syncing'], -32_601],
    ['no kind', [], -32_602],
    ['a kind that is no text', [{}], -32_602],
    ['heads with a filter', ['newHeads', {}], -32_602],
    ['logs of something else', ['logs', 'all'], -32_602],
    ['logs of a bad address', ['logs', { address: '0x12' }], -32_602],
    ['logs of a bad topic', ['logs', { topics: [['0x12']] }], -32_602],
    ['logs of one block', ['logs', { blockHash: `0x${'11'.repeat(32)}` }], -32_602],
    ['logs up to a block', ['logs', { toBlock: '0x100' }], -32_602],
    ['logs of too many addresses', ['logs', { address: Array(1_001).fill(COLLECTIBLE_721_ADDRESS) }], -32_602],
    ['whole pending transactions', ['newPendingTransactions', true], -32_602],
  ])('refuse to subscribe to %s, whatever the id', async (_, params, code) => {
    using client = await openJsonRpcSocket(chain.url)
    for (const id of [1, -7, 1.5, 'text', '', null, true, { any: [1] }, ['id']])
      expect(await client.ask({ jsonrpc: '2.0', id, method: 'eth_subscribe', params })).toMatchObject({
        id,
        error: { code },
      })
  })

  it('take filters as clients of other languages send them', async () => {
    using client = await openJsonRpcSocket(chain.url)
    // go-ethereum's own client names the whole range.
    const filter = { address: [COLLECTIBLE_721_ADDRESS], topics: null, fromBlock: '0x0', toBlock: 'latest' }
    expect((await client.subscribe('logs', filter)).id).toMatch(/^0x/)
    expect((await client.subscribe('logs')).id).toMatch(/^0x/)
    expect((await client.subscribe('newPendingTransactions', false)).id).toMatch(/^0x/)
  })

  it('subscribe only where something can be told: HTTP refuses', async () => {
    expect(await over('{"id":1,"method":"eth_subscribe","params":["newHeads"]}')).toMatchObject({
      error: { code: -32_601 },
    })
  })
})
