import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ChainBlock, type ChainLog, EvmChain, EvmNode } from './given-evm-chain.ts'
import { type GivenGateway, openGivenGateway, untilHealthy } from './given-gateway.ts'
import { socketsOn } from './given-socket.ts'
import { openSubscriber } from './given-subscriber.ts'

// A node that is a balancer: two are behind its address, and each socket is one of theirs.

const SOON = { interval: 10 }
const SOCKET_SUBSCRIPTIONS = 1_000
const open = new AsyncDisposableStack()
const chain = new EvmChain()
const sockets = new Set<Socket>()
let isAway = false
/** WebSockets in turn: to the first, the second, the first … */
let webSockets = 0
let first: EvmNode
let second: EvmNode
let gateway: GivenGateway

beforeAll(async () => {
  chain.append(3)
  first = open.use(await EvmNode.open(chain))
  second = open.use(await EvmNode.open(chain))
  for (const node of [first, second]) node.subscriptionsOfSocketMax = SOCKET_SUBSCRIPTIONS
  const url = await openBalancer()
  gateway = open.use(await openGivenGateway([socketsOn('ethereum/mainnet', { url })]))
  await untilHealthy(gateway, 'ethereum/mainnet')
})
afterAll(() => open.disposeAsync())

async function openBalancer(): Promise<string> {
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    client.on('close', () => sockets.delete(client))
    if (isAway) client.destroy()
    client.once('data', (head) => {
      const isWebSocket = /^upgrade: websocket/im.test(head.toString('latin1'))
      const node = isWebSocket && webSockets++ % 2 === 0 ? first : second
      const behind = connect(Number(new URL(node.url).port), '127.0.0.1')
      behind.on('error', () => client.destroy())
      behind.write(head)
      client.pipe(behind).pipe(client)
      client.on('close', () => behind.destroy())
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.defer(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('logs of blocks that one of them had before it was asked for logs, and the other one had not, are told all the same', async () => {
  using one = await openSubscriber(gateway)
  using other = await openSubscriber(gateway)
  const base = chain.tip
  const heads = await one.subscribe<ChainBlock['head']>('newHeads')
  // Of addresses that have no logs.
  const noLogs = Array.from({ length: SOCKET_SUBSCRIPTIONS - 1 }, (_, i) => `0x${i.toString(16).padStart(40, '0')}`)
  await Promise.all(noLogs.map((address) => one.subscribe('logs', { address })))
  const logs = await other.subscribe<ChainLog>('logs')
  expect([first.subscribed.size, second.subscribed.size].toSorted()).toEqual([1, SOCKET_SUBSCRIPTIONS])
  chain.append()
  await expect.poll(() => heads.results.at(-1)?.hash, SOON).toBe(chain.tip.hash)

  isAway = true
  for (const socket of sockets) socket.destroy()
  await expect.poll(() => first.subscribed.size + second.subscribed.size, SOON).toBe(0)
  first.isStuck = true
  chain.append(2)
  webSockets = 0
  isAway = false
  await expect.poll(() => [first.subscribed.size, second.subscribed.size], SOON).toEqual([SOCKET_SUBSCRIPTIONS, 1])
  first.asked = 0
  await expect.poll(() => first.asked, SOON).toBeGreaterThan(1)
  first.isStuck = false
  chain.append()
  await expect.poll(() => heads.results.at(-1)?.hash, SOON).toBe(chain.tip.hash)
  const blocks = chain.blocks.filter(({ number }) => number > base.number)
  expect(heads.results.map(({ hash }) => hash)).toEqual(blocks.map(({ hash }) => hash))
  await expect.poll(() => logs.results, SOON).toEqual(blocks.flatMap((block) => block.logs))
})
