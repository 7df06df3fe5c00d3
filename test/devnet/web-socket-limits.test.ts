import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type BlockStore, type NewBlock, openBlockStore } from '../../infra/devnet/execution/block-store.ts'
import { type ChainFeed, createChainFeed } from '../../infra/devnet/execution/chain-feed.ts'
import { openFront } from '../../infra/devnet/execution/front.ts'
import { openJsonRpc } from '../../infra/devnet/execution/json-rpc.ts'
import { REQUEST_BYTES_MAX } from '../../infra/devnet/execution/request-text.ts'
import {
  REQUESTS_AT_ONCE_MAX,
  SUBSCRIPTIONS_MAX,
  UNSENT_ANSWERS_BYTES_MAX,
  UNSENT_NOTIFICATIONS_BYTES_MAX,
} from '../../infra/devnet/execution/web-socket.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { openJsonRpcSocket, toSocketUrl } from './json-rpc-socket.ts'

const NO_LOGS: Hex = `0x${'00'.repeat(256)}`

function blockOf(number: number, changes: Partial<NewBlock> = {}): NewBlock {
  const hash: Hex = `0x${number.toString(16).padStart(64, '0')}`
  const header = { number: `0x${number.toString(16)}`, hash, size: '0x1', uncles: [], withdrawals: [] }
  return { number, hash, header, transactions: [], logsBloom: NO_LOGS, receipts: Promise.resolve([]), ...changes }
}

interface Opened extends AsyncDisposable {
  readonly url: string
  readonly store: BlockStore
  readonly feed: ChainFeed
}

/** A front before blocks that the test makes, and before no anvil; what anvil is asked for waits for `settled`. */
async function open(settled: () => Promise<unknown> = () => Promise.resolve()): Promise<Opened> {
  const anvil = openJsonRpc('http://127.0.0.1:1')
  const feed = createChainFeed()
  const store = openBlockStore(blockOf(0), undefined, feed.publish)
  const front = await openFront({
    host: '127.0.0.1',
    port: 0,
    portSetting: 'DEVNET_EXECUTION_PORT',
    chainId: 7,
    finality: { kind: 'none' },
    store,
    feed,
    anvil,
    settled,
    submit: async () => ({ status: 'error', code: -32_000, message: 'there is no pool' }),
    anvilHash: (hash) => hash,
  })
  return {
    url: front.url,
    store,
    feed,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]()
      await anvil[Symbol.asyncDispose]()
    },
  }
}

async function closeCodeOf(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close')) as [number]
  return code
}

it('keeps nothing of a socket that was closed or broke off', async () => {
  await using front = await open()
  const clients = await Promise.all(Array.from({ length: 20 }, () => openJsonRpcSocket(front.url)))
  for (const client of clients) {
    for (const kind of ['newHeads', 'logs', 'newPendingTransactions']) await client.subscribe(kind)
  }
  expect(front.feed.size).toBe(60)
  for (const [index, { socket }] of clients.entries()) index % 2 === 0 ? socket.close() : socket.terminate()
  await expect.poll(() => front.feed.size).toBe(0)
})

it('ends a subscription for who has it, once, and for nobody else', async () => {
  await using front = await open()
  using one = await openJsonRpcSocket(front.url)
  using other = await openJsonRpcSocket(front.url)
  const { id } = await one.subscribe('newHeads')
  await expect(other.call('eth_unsubscribe', [id])).rejects.toThrow('subscription not found')
  expect(await one.call('eth_unsubscribe', [id])).toBe(true)
  expect(front.feed.size).toBe(0)
  await expect(one.call('eth_unsubscribe', [id])).rejects.toThrow('subscription not found')
  expect(await one.ask({ id: [1], method: 'eth_unsubscribe' })).toMatchObject({ id: [1], error: { code: -32_602 } })
})

it('tells nothing of a subscription before its id is told, and then all that has happened since', async () => {
  const settled = Promise.withResolvers<void>()
  await using front = await open(() => settled.promise)
  using client = await openJsonRpcSocket(front.url)
  const answered = client.ask([
    { id: 1, method: 'eth_subscribe', params: ['newHeads'] },
    { id: 2, method: 'eth_blockNumber' },
    { id: 3, method: 'eth_gasPrice' },
  ])
  await expect.poll(() => front.feed.size).toBe(1)
  for (const number of [1, 2]) front.store.append(blockOf(number))
  await front.store.head.texts()
  settled.resolve()
  const [subscribed, head] = (await answered) as unknown as { readonly result: string }[]
  expect(head?.result).toBe('0x0')
  await expect.poll(() => client.messages.length).toBe(3)
  expect(client.messages.slice(1)).toEqual(
    [1, 2].map((number) => ({
      jsonrpc: '2.0',
      method: 'eth_subscription',
      params: { subscription: subscribed?.result, result: { number: `0x${number}`, hash: blockOf(number).hash } },
    })),
  )
})

it('tells everything in its order, however long a block takes to be known, and to nobody what was before', async () => {
  await using front = await open()
  using early = await openJsonRpcSocket(front.url)
  using late = await openJsonRpcSocket(front.url)
  const receipts = Promise.withResolvers<readonly object[]>()
  const all = await early.subscribe('newHeads')
  front.store.append(blockOf(1, { receipts: receipts.promise }))
  front.store.append(blockOf(2))
  const newest = await late.subscribe('newHeads')
  front.store.append(blockOf(3))
  expect(await early.call('eth_blockNumber')).toBe('0x3')
  expect(all.results).toEqual([])
  receipts.resolve([])
  await expect.poll(() => all.results.map(({ number }) => number)).toEqual(['0x1', '0x2', '0x3'])
  await expect.poll(() => newest.results.map(({ number }) => number)).toEqual(['0x3'])
})

it('cuts off a client that does not read, and goes on telling the others', async () => {
  await using front = await open()
  using reader = await openJsonRpcSocket(front.url)
  using sleeper = await openJsonRpcSocket(front.url)
  const heads = await reader.subscribe('newHeads')
  await sleeper.subscribe('newHeads')
  sleeper.socket.pause()
  const extraData = `0x${'ab'.repeat(50_000)}`
  const blocksMax = 1_000 // what the system's own buffers take, and more
  let number = 0
  while (front.feed.size === 2 && number < blocksMax) {
    const block = blockOf(++number)
    front.store.append({ ...block, header: { ...block.header, extraData } })
    await expect.poll(() => heads.results.length, { interval: 1 }).toBe(number)
  }
  expect(number * extraData.length).toBeGreaterThan(UNSENT_NOTIFICATIONS_BYTES_MAX)
  expect([front.feed.size, number < blocksMax]).toEqual([1, true])
})

it('reads some requests of a socket at once, and the others when answers are out', async () => {
  const settled = Promise.withResolvers<void>()
  let asked = 0
  await using front = await open(() => {
    asked++
    return settled.promise
  })
  using client = await openJsonRpcSocket(front.url)
  // Larger than what is read of a socket in one go.
  const request = JSON.stringify({ id: 1, method: 'eth_gasPrice' }).padEnd(200_000)
  for (let sent = 0; sent < 100; sent++) client.socket.send(request)
  await expect.poll(() => asked).toBe(REQUESTS_AT_ONCE_MAX)
  using other = await openJsonRpcSocket(front.url)
  expect(await other.call('eth_chainId')).toBe('0x7')
  expect(asked).toBe(REQUESTS_AT_ONCE_MAX)
  settled.resolve()
  await expect.poll(() => client.messages.length).toBe(100)
})

it('cuts off a client that lets answers wait', async () => {
  await using front = await open()
  using client = await openJsonRpcSocket(front.url)
  await client.subscribe('logs')
  const block = blockOf(1)
  front.store.append({ ...block, header: { ...block.header, extraData: `0x${'ab'.repeat(500_000)}` } })
  client.socket.pause()
  const request = { id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] }
  const count = Math.ceil((1.2 * UNSENT_ANSWERS_BYTES_MAX) / 1_000_000)
  for (const _ of [1, 2]) client.socket.send(JSON.stringify(Array(count).fill(request)))
  await expect.poll(() => front.feed.size).toBe(0)
})

it('closes its sockets when what came next cannot be known', async () => {
  await using front = await open()
  using client = await openJsonRpcSocket(front.url)
  await client.subscribe('newHeads')
  const closed = closeCodeOf(client.socket)
  front.store.append(blockOf(1, { receipts: Promise.reject(new Error('anvil is gone')) }))
  expect(await closed).toBe(1011)
  await expect.poll(() => front.feed.size).toBe(0)
})

it('says that it goes away when it stops', async () => {
  const front = await open()
  using client = await openJsonRpcSocket(front.url)
  await client.subscribe('newHeads')
  const closed = closeCodeOf(client.socket)
  await front[Symbol.asyncDispose]()
  expect(await closed).toBe(1001)
  expect(front.feed.size).toBe(0)
})

it('has a limit of subscriptions for each socket', async () => {
  await using front = await open()
  using client = await openJsonRpcSocket(front.url)
  const request = { id: 1, method: 'eth_subscribe', params: ['newHeads'] }
  await client.ask(Array(SUBSCRIPTIONS_MAX).fill(request))
  expect(await client.ask(request)).toMatchObject({ id: 1, error: { code: -32_005 } })
  expect(front.feed.size).toBe(SUBSCRIPTIONS_MAX)
  using other = await openJsonRpcSocket(front.url)
  expect((await other.subscribe('newHeads')).id).toMatch(/^0x/)
})

it('reads no message that is larger than a request may be', async () => {
  await using front = await open()
  using client = await openJsonRpcSocket(front.url)
  const request = (bytes: number) => '{"id":1,"method":"eth_chainId"}'.padEnd(bytes)
  expect(await client.ask(request(REQUEST_BYTES_MAX))).toMatchObject({ result: '0x7' })
  const closed = closeCodeOf(client.socket)
  client.socket.send(request(REQUEST_BYTES_MAX + 1))
  expect(await closed).toBe(1009)
})

it('compresses nothing, even for a client that offers it', async () => {
  await using front = await open()
  using client = await openJsonRpcSocket(front.url, { perMessageDeflate: true })
  expect(client.socket.extensions).toBe('')
})

it('refuses to upgrade at another path, and answers requests at this one', async () => {
  await using front = await open()
  for (const path of ['/ws', '//', '/%2f']) {
    const socket = new WebSocket(`${toSocketUrl(front.url)}${path}`)
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toBe('Unexpected server response: 404')
  }
  using client = await openJsonRpcSocket(`${front.url}/?any=query`)
  expect(await client.call('eth_chainId')).toBe('0x7')
})

it('answers over HTTP a request that offers to upgrade to something else', async () => {
  await using front = await open()
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
  const request = httpRequest(front.url, { method: 'POST', headers })
  request.end('{"id":1,"method":"eth_chainId"}')
  const [response] = await once(request, 'response')
  expect([response.statusCode, JSON.parse((await response.toArray()).join(''))]).toMatchObject([200, { result: '0x7' }])
})
