import { JsonRpcProvider, WebSocketProvider } from 'ethers'
import { createPublicClient, http, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN } from './given-api.ts'
import { ADDRESSES, type ChainBlock, EvmChain, EvmNode } from './given-evm-chain.ts'
import { type GivenGateway, openGivenGateway, untilHealthy } from './given-gateway.ts'
import { openClient, socketUrl } from './given-socket.ts'

// Clients of EVM chains as their users have them, before nodes that are lost.

const PLACE = 'ethereum/mainnet'
/** As decision 44 says. */
const REPLAYED_BLOCKS_MAX = 128
const SOON = { interval: 10 }
const open = new AsyncDisposableStack()
const chain = new EvmChain()
const nodes: EvmNode[] = []
let gateway: GivenGateway
let url: string
beforeAll(async () => {
  chain.append(5)
  for (let i = 0; i < 2; i++) nodes.push(open.use(await EvmNode.open(chain)))
  const upstreams = nodes.map((one) => ({ url: one.url, wsUrl: one.url.replace('http', 'ws'), headers: {}, weight: 1 }))
  gateway = open.use(
    await openGivenGateway([{ ...{ protocol: 'ethereum', network: 'mainnet', service: '' }, upstreams }]),
  )
  await untilHealthy(gateway, PLACE)
  url = `${gateway.api.url}/${PLACE}/${TOKEN}`
})
afterAll(() => open.disposeAsync())

const numbersFrom = ({ number }: ChainBlock): readonly number[] =>
  chain.blocks.filter((block) => block.number > number).map((block) => block.number)

/** The node that tells dies, the chain goes on and turns, and the node is back. */
async function loseTeller(): Promise<void> {
  const isTelling = ({ subscribed }: EvmNode) => subscribed.size > 0
  await expect.poll(() => nodes.some(isTelling), SOON).toBe(true)
  const node = nodes.find(isTelling) as EvmNode
  await node.kill()
  chain.append(3)
  await expect.poll(() => nodes.some(isTelling), SOON).toBe(true)
  chain.append(2)
  await node.start()
}

/** All nodes die, and are back when the chain has gone on by more than is told again: the gateway closes sockets with 1012. */
async function loseAll(): Promise<void> {
  using witness = await openClient(socketUrl(gateway, PLACE))
  await witness.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  for (const node of nodes) await node.kill()
  chain.append(REPLAYED_BLOCKS_MAX + 2)
  for (const node of nodes) await node.start()
  expect((await witness.closed).code).toBe(1012)
}

describe('viem', () => {
  test('reads over HTTP, alone and in batches', async () => {
    for (const batch of [false, true]) {
      const client = createPublicClient({ transport: http(url, { batch, retryCount: 0 }) })
      const { number, hash } = chain.tip
      const answers = await Promise.all([client.getChainId(), client.getBlockNumber(), client.getBlock()])
      expect(answers).toMatchObject([1, BigInt(number), { hash, number: BigInt(number) }])
      await expect(client.getBalance({ address: '0x00' as never })).rejects.toThrow('no eth_getBalance')
    }
  })

  test('says what is refused, and why', async () => {
    const call = (at: string, method: string) =>
      createPublicClient({ transport: http(at, { retryCount: 0 }) }).request({ method } as never)
    await expect(call(url, 'admin_peers')).rejects.toThrow('Method not allowed: admin_peers')
    await expect(call(url.replace(TOKEN, 'nobody'), 'eth_chainId')).rejects.toThrow('Authentication failed')
  })

  test('hears every block and log over WebSocket, once and in order, while the node that tells is lost', async () => {
    const transport = webSocket(socketUrl(gateway, PLACE), { reconnect: false })
    const client = createPublicClient({ transport })
    const heads: bigint[] = []
    const logs: { readonly blockNumber: bigint; readonly logIndex: number }[] = []
    const faults: Error[] = []
    const onError = (error: Error) => faults.push(error)
    const base = chain.tip
    const ends = [
      client.watchBlockNumber({ onBlockNumber: (number) => heads.push(number), onError }),
      client.watchEvent({
        address: ADDRESSES as never,
        onLogs: (told) => logs.push(...(told as unknown as typeof logs)),
        onError,
      }),
    ]
    await expect.poll(() => nodes.reduce((sum, { subscribed }) => sum + subscribed.size, 0), SOON).toBe(2)
    chain.append()
    await loseTeller()
    await expect.poll(() => heads.at(-1), SOON).toBe(BigInt(chain.tip.number))
    expect(heads.map(Number)).toEqual(numbersFrom(base))
    const standing = chain.blocks.filter(({ number }) => number > base.number).flatMap((block) => block.logs)
    await expect.poll(() => logs.length, SOON).toBe(standing.length)
    expect(logs.map(({ blockNumber, logIndex }) => [Number(blockNumber), logIndex])).toEqual(
      standing.map(({ blockNumber, logIndex }) => [Number(blockNumber), Number(logIndex)]),
    )
    expect(faults).toEqual([])
    for (const end of ends) end()
    await expect.poll(() => nodes.some(({ subscribed }) => subscribed.size > 0), SOON).toBe(false)
    ;(await transport({}).value?.getRpcClient())?.close()
  })
})

describe('ethers', () => {
  test('reads over HTTP in batches', async () => {
    const provider = new JsonRpcProvider(url)
    const { number, hash } = chain.tip
    const answers = await Promise.all([provider.getNetwork(), provider.getBlockNumber(), provider.getBlock('latest')])
    expect(answers).toMatchObject([{ chainId: 1n }, number, { hash, number }])
    await expect(provider.send('admin_peers', [])).rejects.toThrow('Method not allowed: admin_peers')
    provider.destroy()
  })

  test('hears every block and log over WebSocket while the node that tells is lost', async () => {
    const provider = new WebSocketProvider(socketUrl(gateway, PLACE))
    const heads: number[] = []
    const logs: number[] = []
    const base = chain.tip
    await provider.on('block', (number: number) => heads.push(number))
    await provider.on({ address: ADDRESSES[0] as string }, ({ blockNumber }) => logs.push(blockNumber))
    await expect.poll(() => nodes.reduce((sum, { subscribed }) => sum + subscribed.size, 0), SOON).toBe(2)
    chain.append()
    await loseTeller()
    await expect.poll(() => heads.at(-1), SOON).toBe(chain.tip.number)
    expect(heads).toEqual(numbersFrom(base))
    const standing = chain.blocks
      .filter(({ number }) => number > base.number)
      .flatMap((block) => block.logs.filter(({ address }) => address === ADDRESSES[0]).map(() => block.number))
    await expect.poll(() => logs.length, SOON).toBe(standing.length)
    expect(logs).toEqual(standing)
    await provider.destroy()
  })

  test('does not connect again by itself when its socket is closed: a new provider hears on', async () => {
    const first = new WebSocketProvider(socketUrl(gateway, PLACE))
    const [before, after]: [number[], number[]] = [[], []]
    await first.on('block', (number: number) => before.push(number))
    await expect.poll(() => nodes.some(({ subscribed }) => subscribed.size > 0), SOON).toBe(true)
    await loseAll()
    const socket = first.websocket as unknown as WebSocket
    await expect.poll(() => socket.readyState, SOON).toBe(WebSocket.CLOSED)
    const second = new WebSocketProvider(socketUrl(gateway, PLACE))
    await second.on('block', (number: number) => after.push(number))
    await expect.poll(() => nodes.some(({ subscribed }) => subscribed.size > 0), SOON).toBe(true)
    chain.append()
    await expect.poll(() => after, SOON).toEqual([chain.tip.number])
    expect(before).toEqual([])
    for (const provider of [first, second]) await provider.destroy().catch(() => {})
  })
})

test('viem connects again by itself when its socket is closed, and its watcher goes on', async () => {
  const isAnySubscribed = () => nodes.some(({ subscribed }) => subscribed.size > 0)
  await expect.poll(isAnySubscribed, SOON).toBe(false)
  const options = { reconnect: { attempts: 2, delay: 20 }, keepAlive: { interval: 100 } }
  const transport = webSocket(socketUrl(gateway, PLACE), options)
  const client = createPublicClient({ transport })
  const heads: bigint[] = []
  const faults: Error[] = []
  const end = client.watchBlockNumber({
    onBlockNumber: (number) => heads.push(number),
    onError: (error) => faults.push(error),
  })
  await expect.poll(isAnySubscribed, SOON).toBe(true)
  chain.append()
  await expect.poll(() => heads, SOON).toEqual([BigInt(chain.tip.number)])
  await loseAll()
  await expect.poll(isAnySubscribed, SOON).toBe(true)
  chain.append(2)
  await expect.poll(() => heads.slice(1), SOON).toEqual([chain.tip.number - 1, chain.tip.number].map(BigInt))
  expect(faults.map(({ name }) => name)).toContain('SocketClosedError')
  end()
  // The watcher gives back the id that it had before; and viem connects again whenever it is closed.
  const rpc = await transport({}).value?.getRpcClient()
  rpc?.subscriptions.clear()
  rpc?.close()
})
