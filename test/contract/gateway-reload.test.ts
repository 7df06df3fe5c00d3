import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NetworkOptions } from '../../infra/upstreams/upstreams.ts'
import { ADDRESSES, type ChainBlock, type ChainLog, EvmChain, EvmNode } from './given-evm-chain.ts'
import {
  type GivenGateway,
  networkOn,
  openGivenGateway,
  openStub,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'
import { openClient, socketsOn, socketUrl, withSockets } from './given-socket.ts'
import { expectLinked, openSubscriber, standingOf } from './given-subscriber.ts'

// Nodes that are added to the configuration, changed there and taken out of it, while clients call.

const ANSWER = '{"jsonrpc":"2.0","id":7,"result":"0x2a"}'
const PLACE = 'ethereum/mainnet'
const SOON = { interval: 10 }
/** Long enough for calls to find each state of the configuration. */
const PHASE_MS = 200
/** More than of an answer that is held until it is whole. */
const LONG_BYTES = 200_000

let open: AsyncDisposableStack
beforeEach(() => {
  open = new AsyncDisposableStack()
})
afterEach(() => open.disposeAsync())

async function openNodes(count: number): Promise<readonly Stub[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const node = open.use(await openStub('ethereum', 'mainnet'))
      withSockets(node)
      return node
    }),
  )
}

async function openBefore(...nodes: readonly Pick<Stub, 'url'>[]): Promise<GivenGateway> {
  const gateway = open.use(await openGivenGateway([socketsOn(PLACE, ...nodes)]))
  await untilHealthy(gateway, PLACE)
  return gateway
}

/** Calls again and again, and returns what ends that and resolves with all answers that there were. */
function callOn(call: () => Promise<string>): () => Promise<ReadonlySet<string>> {
  const answers = new Set<string>()
  let isOver = false
  const calling = (async () => {
    while (!isOver) answers.add(await call())
  })()
  return async () => {
    isOver = true
    await calling
    return answers
  }
}

/** Which of the nodes get calls from now on. */
async function askedOf(nodes: readonly Stub[]): Promise<readonly Stub[]> {
  for (const { got } of nodes) got.length = 0
  await wait(PHASE_MS)
  return nodes.filter(({ got }) => got.length > 0)
}

test('a network whose nodes change in the configuration fails no call, over open sockets neither, and asks its own nodes alone', async () => {
  const nodes = await openNodes(3)
  const [a, b, c] = nodes as [Stub, Stub, Stub]
  const gateway = await openBefore(a, b)
  const client = open.use(await openClient(socketUrl(gateway, PLACE)))
  const ends = [
    callOn(async () => (await gateway.call(PLACE, 'eth_gasPrice')).text()),
    callOn(() => client.ask('{"jsonrpc":"2.0","id":7,"method":"eth_gasPrice"}')),
  ]
  const heavier = socketsOn(PLACE, b, c)
  const states: readonly [NetworkOptions, readonly Stub[]][] = [
    [socketsOn(PLACE, a, b, c), [a, b, c]],
    [socketsOn(PLACE, b, c), [b, c]],
    [{ ...heavier, upstreams: heavier.upstreams.map((one) => ({ ...one, weight: 2 })) }, [b, c]],
    [{ ...heavier, hedge: true, keptBytes: 1_000_000 }, [b, c]],
    [socketsOn(PLACE, a), [a]],
    [socketsOn(PLACE, b), [b]],
  ]
  for (const [options, asked] of states) {
    gateway.upstreams.replace([options])
    await expect.poll(() => askedOf(nodes), SOON).toEqual(asked)
  }
  for (const end of ends) expect(await end()).toEqual(new Set([ANSWER]))
})

test('a node whose place another one takes is asked until that one has shown its chain, and a wrong one in its place is not asked', async () => {
  const [first, wrong, right] = (await openNodes(3)) as [Stub, Stub, Stub]
  wrong.identity = '0x5'
  const gateway = await openBefore(first)
  const end = callOn(async () => (await gateway.call(PLACE, 'eth_gasPrice')).text())
  gateway.upstreams.replace([socketsOn(PLACE, right)])
  gateway.upstreams.replace([socketsOn(PLACE, wrong)])
  gateway.upstreams.replace([socketsOn(PLACE, right)])
  await expect.poll(() => askedOf([first, wrong, right]), SOON).toEqual([right])
  expect(await end()).toEqual(new Set([ANSWER]))
  gateway.upstreams.replace([socketsOn(PLACE, wrong)])
  await expect.poll(async () => (await gateway.call(PLACE, 'eth_gasPrice')).status, SOON).toBe(503)
  expect(wrong.got).toEqual([])
})

test('a node that leaves is asked until there is one that is well, whatever else stays', async () => {
  const [dead, leaving, coming] = (await openNodes(3)) as [Stub, Stub, Stub]
  const gateway = await openBefore(dead, leaving)
  const well = () => gateway.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })?.all() ?? []
  await expect.poll(() => well().length, SOON).toBe(2)
  await dead[Symbol.asyncDispose]()
  await expect.poll(() => well().length, SOON).toBe(1)
  const before = well()
  const end = callOn(async () => (await gateway.call(PLACE, 'eth_gasPrice')).text())
  gateway.upstreams.replace([socketsOn(PLACE, dead, coming)])
  expect(well()).toEqual(before)
  await expect.poll(() => askedOf([leaving, coming]), SOON).toEqual([coming])
  expect(await end()).toEqual(new Set([ANSWER]))
})

test('what another chain is expected of has to show it anew', async () => {
  const [node] = (await openNodes(1)) as [Stub]
  const gateway = await openBefore(node)
  gateway.upstreams.replace([{ ...socketsOn(PLACE, node), identity: '0x5' }])
  expect((await gateway.call(PLACE, 'eth_gasPrice')).status).toBe(503)
  expect(node.got).toEqual([])
})

describe('a node that is taken out of the configuration', () => {
  test('ends the calls that it has, and gets no new ones', async () => {
    const [leaving, staying] = (await openNodes(2)) as [Stub, Stub]
    const gateway = await openBefore(leaving)
    const answers: ServerResponse[] = []
    leaving.answer = ({ body }, response) => {
      answers.push(response)
      // One has begun to answer: with more than is held until it is whole.
      if (body.includes('eth_getLogs')) response.writeHead(200).write(`[${' '.repeat(LONG_BYTES)}`)
    }
    const waiting = gateway.call(PLACE, 'eth_call')
    const begun = await gateway.call(PLACE, 'eth_getLogs')
    await expect.poll(() => answers.length, SOON).toBe(2)
    gateway.upstreams.replace([socketsOn(PLACE, staying)])
    await expect.poll(() => gateway.upstreams.status()[0]?.upstreams.map(({ answers: is }) => is), SOON).toEqual([true])
    for (let i = 0; i < 10; i++) expect((await gateway.call(PLACE, 'eth_chainId')).status).toBe(200)
    expect(leaving.got).toHaveLength(2)
    for (const answer of answers) answer.end('[]')
    expect(await (await waiting).text()).toBe('[]')
    expect(await begun.text()).toHaveLength(LONG_BYTES + 3)
  })

  test('has the filters that it has made no more, and those of others go on', async () => {
    const [leaving, staying] = (await openNodes(2)) as [Stub, Stub]
    for (const node of [leaving, staying])
      node.answer = (_got, response) => sendJson(response, { jsonrpc: '2.0', id: 7, result: '0x1' })
    const gateway = await openBefore(leaving)
    const make = async (): Promise<string> => {
      const { result } = (await (await gateway.call(PLACE, 'eth_newBlockFilter')).json()) as { readonly result: string }
      return result
    }
    const poll = async (filter: string) => (await gateway.call(PLACE, 'eth_getFilterChanges', [filter])).json()
    const filter = await make()
    gateway.upstreams.replace([socketsOn(PLACE, staying)])
    await expect
      .poll(() => gateway.upstreams.status()[0]?.upstreams.map(({ answers }) => answers), SOON)
      .toEqual([true])
    const other = await make()
    expect(await poll(other)).toMatchObject({ result: '0x1' })
    expect(await poll(filter)).toMatchObject({ error: { code: -32000, message: 'filter not found' } })
    const client = open.use(await openClient(socketUrl(gateway, PLACE)))
    const call = { jsonrpc: '2.0', id: 7, method: 'eth_getFilterChanges', params: [filter] }
    expect(await client.ask(JSON.stringify(call))).toContain('filter not found')
    expect(leaving.got).toHaveLength(1)
  })

  test('leaves subscriptions to another one, which tells all that was missed; what cannot be told again ends', async () => {
    const chain = new EvmChain()
    chain.append(5)
    const [first, second] = [open.use(await EvmNode.open(chain)), open.use(await EvmNode.open(chain))]
    const gateway = await openBefore(first)
    const one = open.use(await openSubscriber(gateway))
    const other = open.use(await openSubscriber(gateway))
    const base = chain.tip
    const heads = await one.subscribe<ChainBlock['head']>('newHeads')
    const logs = await one.subscribe<ChainLog>('logs', { address: ADDRESSES[0] })
    await other.subscribe('newPendingTransactions')
    for (const node of [second, first]) {
      chain.append(3)
      gateway.upstreams.replace([socketsOn(PLACE, node)])
      do {
        chain.append()
        await wait(PHASE_MS / 10)
      } while (node.subscribed.size < 2 || heads.results.at(-1)?.hash !== chain.tip.hash)
    }
    expectLinked(heads.results, base.hash)
    const since = chain.blocks.filter(({ number }) => number > base.number)
    expect(heads.results.map(({ hash }) => hash)).toEqual(since.map(({ hash }) => hash))
    const wanted = since.flatMap((block) => block.logs.filter(({ address }) => address === ADDRESSES[0]))
    await expect.poll(() => standingOf(logs.results), SOON).toEqual(wanted)
    expect((await other.client.closed).code).toBe(1012)
  })

  test('keeps its streams of events until they end', async () => {
    const place = 'ethereum2/mainnet'
    const [leaving, staying] = [
      open.use(await openStub('ethereum2', 'mainnet')),
      open.use(await openStub('ethereum2', 'mainnet')),
    ]
    let events: ServerResponse | undefined
    leaving.answer = (_got, response) => {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' })
      events.flushHeaders()
    }
    const gateway = open.use(await openGivenGateway([networkOn(place, leaving)]))
    await untilHealthy(gateway, place)
    const { body } = await gateway.ask(place, { path: '/eth/v1/events?topics=head' })
    gateway.upstreams.replace([networkOn(place, staying)])
    await expect
      .poll(() => gateway.upstreams.status()[0]?.upstreams.map(({ answers }) => answers), SOON)
      .toEqual([true])
    events?.write('event: head\n\n')
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('event: head\n\n')
    events?.end()
    expect(await reader.read()).toMatchObject({ done: true })
  })
})
