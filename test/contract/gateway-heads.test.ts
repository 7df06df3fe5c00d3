import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
import { openClient, type SocketStub, socketsOn, socketUrl, withSockets } from './given-socket.ts'

// Nodes of one chain that are some blocks apart, as nodes are, and none so far behind that it is left out. The nodes advance as a test says, and are looked
// at so seldom that only what they answer tells how far each is.

const PLACE = 'ethereum/mainnet'
const EOS = 'eos/mainnet'
const PROBE_MS = 60_000
const INFO = '/v1/chain/get_info'

const open = new AsyncDisposableStack()
let nodes: Stub[]
let producers: Stub[]
let sockets: SocketStub[]
let gateway: GivenGateway
beforeAll(async () => {
  const openThree = (protocol: string) =>
    Promise.all([1, 2, 3].map(async () => open.use(await openStub(protocol, 'mainnet'))))
  nodes = await openThree('ethereum')
  producers = await openThree('eos')
  sockets = nodes.map(withSockets)
  const networks = [socketsOn(PLACE, ...nodes), networkOn(EOS, ...producers)]
  gateway = open.use(await openGivenGateway(networks, { probeMs: PROBE_MS }))
  for (const place of [PLACE, EOS]) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())

/** Heads that a probe finds stay; those that clients are told are apart from them. */
let heads: number[]
beforeEach(() => {
  heads = [1_000, 1_001, 1_002]
  for (const list of [nodes, producers])
    for (const [i, node] of list.entries()) {
      node.got.length = 0
      node.answer = (got, response) => {
        if (got.path === INFO) sendJson(response, { head_block_num: heads[i], chain_id: node.identity })
        else if (got.body.includes('eth_blockNumber'))
          sendJson(response, {
            jsonrpc: '2.0',
            id: (JSON.parse(got.body) as { id: number }).id,
            result: `0x${heads[i]?.toString(16)}`,
          })
        else rpcAnswer(got, response)
      }
    }
})

const ASKS: Readonly<Record<string, () => Promise<() => Promise<number>>>> = {
  'over HTTP': async () => async () =>
    Number(((await (await gateway.call(PLACE, 'eth_blockNumber')).json()) as { readonly result: string }).result),
  'over WebSocket': async () => {
    const client = open.use(await openClient(socketUrl(gateway, PLACE)))
    return async () =>
      Number(
        (
          JSON.parse(await client.ask('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}')) as {
            readonly result: string
          }
        ).result,
      )
  },
  'by a path': async () => async () =>
    ((await (await gateway.ask(EOS, { path: INFO })).json()) as { readonly head_block_num: number }).head_block_num,
}

describe.each(Object.entries(ASKS))('the newest block that a client is told %s', (_how, openAsk) => {
  test('never goes back, whichever node tells it, and goes on with the chain', async () => {
    const ask = await openAsk()
    const told: number[] = []
    for (let round = 0; round < 40; round++) {
      for (let i = 0; i < 5; i++) told.push(await ask())
      // One of them has the next blocks first.
      heads[round % 3] = Math.max(...heads) + 2
    }
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    expect(told.at(-1)).toBeGreaterThan(1_040)
  })
})

test('a chain that goes back, or whose only nodes that have been so far are gone, is told as it is', async () => {
  const ask = await (ASKS['over HTTP'] as (typeof ASKS)[string])()
  heads = [5_000, 5_000, 5_000]
  await ask()
  heads = [4_998, 4_999, 4_998]
  expect([await ask(), await ask()]).toEqual([4_999, 4_999])
})

test('who was told of a block by a subscription hears of none before it when they ask', async () => {
  const ask = await (ASKS['over HTTP'] as (typeof ASKS)[string])()
  heads = [7_000, 7_000, 7_000]
  await ask()
  for (const [i, node] of sockets.entries())
    node.answer = (text, socket) => {
      const { id, method } = JSON.parse(text) as { readonly id: number; readonly method: string }
      const isSubscribing = method === 'eth_subscribe'
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: isSubscribing ? '0xab' : null }))
      if (!isSubscribing) return
      heads[i] = 7_002
      const result = { number: '0x1b5a', hash: `0x${'01'.repeat(32)}`, parentHash: `0x${'02'.repeat(32)}` }
      const params = { subscription: '0xab', result }
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
    }
  using client = await openClient(socketUrl(gateway, PLACE))
  client.socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  await expect.poll(() => client.heard.some((text) => text.includes('0x1b5a'))).toBe(true)
  for (let i = 0; i < 20; i++) expect(await ask()).toBe(7_002)
})

test('what is asked for another block, or is to go to one node, goes to whichever it goes', async () => {
  const ask = await (ASKS['over HTTP'] as (typeof ASKS)[string])()
  heads = [6_000, 6_001, 6_002]
  for (let i = 0; i < 20; i++) await ask()
  for (const node of nodes) node.got.length = 0
  for (let i = 0; i < 30; i++) await gateway.call(PLACE, 'eth_gasPrice')
  expect(nodes.filter(({ got }) => got.length > 0).length).toBeGreaterThan(1)
})
