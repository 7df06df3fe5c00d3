import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as soon } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { readCalls } from '../../api/gateway/calls.ts'
import { ClientLink } from '../../api/gateway/client-link.ts'
import type { ClientSubscriptions } from '../../api/gateway/subscriptions/client-subscriptions.ts'
import { SOCKETS_OF_NODE_MAX } from '../../api/gateway/subscriptions/node-link.ts'
import { SUBSCRIPTIONS_OF_KEY_MAX, Subscriptions } from '../../api/gateway/subscriptions/subscriptions.ts'
import type { SocketHandler, UpstreamGroup, UpstreamSocket, Wanted } from '../../infra/ports/upstreams.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'
import { silentLog } from './silent-log.ts'

// Clients and one node of any protocol, without a network between them.

interface Asked {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

/** As providers have it for one socket. */
const NODE_SUBSCRIPTIONS_MAX = 1_000

/** A socket to the node, which counts what is subscribed to by itself. */
interface FakeNodeSocket {
  readonly handler: SocketHandler
  /** Ids of what is subscribed to now. */
  readonly subscribed: Set<unknown>
  count: number
}

/** Answers calls of ours; sockets are open at once. */
class FakeNode {
  readonly asked: Asked[] = []
  readonly sockets: FakeNodeSocket[] = []
  /** Which nodes were wanted, socket by socket. */
  readonly wanted: Wanted[] = []
  socketsMax = Number.POSITIVE_INFINITY
  newId = (count: number): unknown => `0x${count.toString(16)}`
  beforeAnswer: (id: unknown) => void = () => {}

  readonly group = {
    connect: (wanted: Wanted, handler: SocketHandler) => this.#connect(wanted, handler),
    tellsHead: () => true,
  } as Partial<UpstreamGroup> as UpstreamGroup

  /** How many are there now, socket by socket. */
  get subscribed(): readonly number[] {
    return this.sockets.map(({ subscribed }) => subscribed.size)
  }

  tell(method: string, subscription: unknown, result: unknown, socket = 0): void {
    const { handler } = this.sockets[socket] as FakeNodeSocket
    this.#send(handler, { jsonrpc: '2.0', method, params: { subscription, result } })
  }

  lose(socket = 0): void {
    for (const { handler } of this.sockets.splice(socket, 1)) handler.onLost()
  }

  #connect(wanted: Wanted, handler: SocketHandler): UpstreamSocket | undefined {
    this.wanted.push(wanted)
    if (wanted.tried.includes('node')) return undefined
    const socket: FakeNodeSocket = { handler, subscribed: new Set(), count: 0 }
    const isTaken = this.sockets.length < this.socketsMax
    if (isTaken) this.sockets.push(socket)
    setImmediate(() => (isTaken ? handler.onOpen() : handler.onLost()))
    return {
      id: 'node',
      flow: { pause() {}, resume() {} },
      send: (text) => this.#hear(JSON.parse(text.toString()) as Asked, socket),
      close: () => {
        if (this.sockets.includes(socket)) this.sockets.splice(this.sockets.indexOf(socket), 1)
      },
    }
  }

  #hear(asked: Asked, socket: FakeNodeSocket): void {
    const { handler, subscribed } = socket
    this.asked.push(asked)
    setImmediate(() => {
      if (!this.sockets.includes(socket)) return
      if (/unsubscribe|unwatch/i.test(asked.method)) {
        this.#send(handler, { id: asked.id, result: subscribed.delete(asked.params?.[0]) })
        return
      }
      if (subscribed.size >= NODE_SUBSCRIPTIONS_MAX) {
        this.#send(handler, { id: asked.id, error: { code: -32006, message: 'Too many subscriptions' } })
        return
      }
      const id = this.newId(++socket.count)
      subscribed.add(id)
      this.beforeAnswer(id)
      this.#send(handler, { jsonrpc: '2.0', id: asked.id, result: id })
    })
  }

  #send(handler: SocketHandler, message: object): void {
    handler.onMessage(Buffer.from(JSON.stringify(message)))
  }
}

/** The end of a client's socket that is ours. */
class FakeSocket extends EventEmitter {
  readonly readyState = 1
  readonly bufferedAmount = 0
  readonly heard: string[] = []
  code: number | undefined

  send(text: string, _options: object, onOut?: () => void): void {
    this.heard.push(text)
    onOut?.()
  }

  close(code: number): void {
    this.code = code
    this.emit('close')
  }
}

interface Client {
  readonly socket: FakeSocket
  readonly subscriptions: ClientSubscriptions
  /** `params` is JSON. */
  subscribe(method: string, params: string): void
  /** The id that the client was answered with. */
  readonly id: () => unknown
}

const clients: Client[] = []
afterEach(() => {
  for (const { subscriptions } of clients.splice(0)) subscriptions.end()
})

const callIn = (body: Buffer) => {
  const read = readCalls(body)
  if (read.status !== 'read' || read.calls[0] === undefined) throw new Error('no call')
  return read.calls[0]
}

function given(protocolName: string) {
  const node = new FakeNode()
  const all = new Subscriptions({ groupOf: () => node.group }, silentLog)
  const protocol = protocolOf(protocolName)
  if (protocol === undefined) throw new Error(`no ${protocolName}`)
  const openFor = (tokenHash: string, socket: FakeSocket) =>
    all.open(
      { protocol, network: 'mainnet', tokenHash, order: undefined, onTold() {} },
      new ClientLink(socket as unknown as WebSocket, new PassThrough()),
    )
  const open = (tokenHash = 'one'): Client => {
    const socket = new FakeSocket()
    const subscriptions = openFor(tokenHash, socket) as ClientSubscriptions
    socket.once('close', () => subscriptions.end())
    const client: Client = {
      ...{ socket, subscriptions },
      subscribe(method, params) {
        if (!subscriptions.reserve()) throw new Error('too many')
        const body = Buffer.from(`{"id":"mine","method":"${method}","params":${params}}`)
        subscriptions.subscribe(body, callIn(body), { onOut() {}, bill: undefined })
      },
      id() {
        const answer = socket.heard.find((text) => text.includes('"id":"mine"')) ?? '{}'
        return (JSON.parse(answer) as { readonly result?: unknown }).result
      },
    }
    clients.push(client)
    return client
  }
  return { node, all, open, openFor }
}

/** Until all has happened that happens by itself. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await soon()
}

describe('each protocol', () => {
  test.each([
    ['solana', 'slotSubscribe', 'slotUnsubscribe', 23_784, 'number'],
    ['sui', 'suix_subscribeEvent', 'suix_unsubscribeEvent', 3_121_662_727, 'number'],
    ['polkadot', 'chain_subscribeNewHeads', 'chain_unsubscribeNewHeads', 'X0kD7Bl2q', 'string'],
    ['kusama', 'author_submitAndWatchExtrinsic', 'author_unwatchExtrinsic', 'X0kD7Bl2q', 'string'],
    ['avax', 'eth_subscribe', 'eth_unsubscribe', '0x1', 'string'],
  ])('%s has its own names, and ids of its own kind', async (protocol, subscribe, unsubscribe, nodeId, kind) => {
    const { node, all, open } = given(protocol)
    node.newId = () => nodeId
    const client = open()
    client.subscribe(subscribe, '["newPendingTransactions"]')
    await settled()
    expect(typeof client.id()).toBe(kind)
    expect(client.id()).not.toBe(nodeId)
    node.tell('told', nodeId, { deep: [1, 'two'] })
    expect(JSON.parse(client.socket.heard.at(-1) as string)).toEqual({
      ...{ jsonrpc: '2.0', method: 'told' },
      params: { subscription: client.id(), result: { deep: [1, 'two'] } },
    })
    const body = Buffer.from(JSON.stringify({ id: 7, method: unsubscribe, params: [client.id()] }))
    expect(client.subscriptions.unsubscribe(body, callIn(body))).toBe('{"jsonrpc":"2.0","id":7,"result":true}')
    expect([all.size, all.keys]).toEqual([0, 0])
  })

  test.each(['xrp', 'dogecoin', 'near'])('%s has none that are shared', (name) => {
    expect(given(name).openFor('one', new FakeSocket())).toBeUndefined()
  })
})

test('who joins a subscription that begins with how things are is told how they are', async () => {
  const { node, open } = given('polkadot')
  const [first, second] = [open(), open()]
  first.subscribe('state_subscribeRuntimeVersion', '[]')
  await settled()
  node.tell('state_runtimeVersion', '0x1', { specVersion: 9 })
  second.subscribe('state_subscribeRuntimeVersion', '[]')
  await settled()
  expect(node.asked).toHaveLength(1)
  expect(JSON.parse(second.socket.heard[1] as string)).toMatchObject({
    params: { subscription: second.id(), result: { specVersion: 9 } },
  })
})

test.each([
  ['polkadot', 'state_subscribeStorage'],
  ['polkadot', 'author_submitAndWatchExtrinsic'],
  ['solana', 'signatureSubscribe'],
])('of %s each client has a %s of its own', async (protocol, method) => {
  const { node, open } = given(protocol)
  for (let i = 0; i < 3; i++) open().subscribe(method, '["equal"]')
  await settled()
  expect(node.subscribed).toEqual([3])
})

test('what is told before the id is, is told behind the answer', async () => {
  const { node, open } = given('solana')
  node.beforeAnswer = (id) => node.tell('slotNotification', id, 'early')
  const client = open()
  client.subscribe('slotSubscribe', '[]')
  await settled()
  expect(client.socket.heard.map((text) => text.includes('early'))).toEqual([false, true])
})

test('numbers that a double does not hold are not taken for equal', async () => {
  const { node, open } = given('solana')
  for (const params of ['[9007199254740993]', '[9007199254740992]', '[1]', '[ 1 ]'])
    open().subscribe('slotSubscribe', params)
  await settled()
  expect(node.subscribed).toEqual([3])
})

test('what cannot be told again closes its clients with the code to begin again, and leaves the others alone', async () => {
  const { node, all, open } = given('solana')
  const [one, other] = [open(), open()]
  one.subscribe('slotSubscribe', '[]')
  await settled()
  node.lose()
  await settled()
  expect([one.socket.code, other.socket.code, all.size, all.keys]).toEqual([1012, undefined, 0, 0])
})

test.each(['solana', 'polkadot', 'ethereum'])(
  'of %s, who subscribes as the last of all leaves is subscribed',
  async (protocol) => {
    const { node, all, open } = given(protocol)
    const [method, params] = {
      solana: ['slotSubscribe', '[]'],
      polkadot: ['chain_subscribeNewHeads', '[]'],
      ethereum: ['eth_subscribe', '["newPendingTransactions"]'],
    }[protocol] as [string, string]
    let last = open()
    last.subscribe(method, params)
    await settled()
    for (let turns = 0; turns < 8; turns++) {
      last.socket.close(1000)
      for (let i = 0; i < turns; i++) await Promise.resolve()
      const next = open()
      next.subscribe(method, params)
      await settled()
      expect([next.socket.heard, next.socket.code], `${turns} turns behind`).toEqual([
        [expect.stringContaining('"result":')],
        undefined,
      ])
      last = next
    }
    last.socket.close(1000)
    await settled()
    expect([all.size, node.subscribed]).toEqual([0, []])
  },
)

test('what a node tells in thousands of levels is told to nobody, and harms nothing', async () => {
  const { node, open } = given('ethereum')
  const client = open()
  client.subscribe('eth_subscribe', '["newPendingTransactions"]')
  await settled()
  const { handler } = node.sockets[0] as FakeNodeSocket
  const tell = (result: string) =>
    handler.onMessage(Buffer.from(`{"method":"eth_subscription","params":{"subscription":"0x1","result":${result}}}`))
  tell(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
  tell('"0x7"')
  expect(client.socket.heard.slice(1).map((text) => JSON.parse(text).params.result)).toEqual(['0x7'])
})

test('a thousand clients that come and go, some before they are answered, leave nothing behind', async () => {
  const { node, all, open } = given('solana')
  for (let i = 0; i < 1_000; i++) {
    const client = open(`key ${i % 7}`)
    client.subscribe(i % 2 === 0 ? 'slotSubscribe' : 'logsSubscribe', `[${i % 5}]`)
    if (i % 3 === 0) await settled()
    client.socket.close(1000)
  }
  await settled()
  expect([all.size, all.keys, node.subscribed]).toEqual([0, 0, []])
})

test('a key has so many subscriptions over all its sockets, and those of another key do not count', () => {
  const { open } = given('solana')
  const full = Array.from({ length: SUBSCRIPTIONS_OF_KEY_MAX / 1_000 }, () => open('full'))
  for (const client of full) for (let n = 0; n < 1_000; n++) client.subscribe('slotSubscribe', '[]')
  expect(open('full').subscriptions.reserve()).toBe(false)
  expect(() => open('other').subscribe('slotSubscribe', '[]')).not.toThrow()
  full[0]?.socket.close(1000)
  expect(() => open('full').subscribe('slotSubscribe', '[]')).not.toThrow()
})

/** Of what the client was answered first. */
function unsubscribing(client: Client): [body: Buffer, call: ReturnType<typeof callIn>] {
  const body = Buffer.from(JSON.stringify({ id: 8, method: 'logsUnsubscribe', params: [client.id()] }))
  return [body, callIn(body)]
}

describe('more subscriptions than a socket to a node may have', () => {
  /** 1,000 of one client, 1,000 of the next one, and 2 of the last. */
  async function givenMany({ socketsMax = Number.POSITIVE_INFINITY } = {}) {
    const found = given('solana')
    found.node.socketsMax = socketsMax
    found.node.newId = (count) => count
    const many = [1_000, 1_000, 2].map((count, i) => {
      const client = found.open(`key ${i}`)
      for (let n = 0; n < count; n++) client.subscribe('logsSubscribe', `[${i},${n}]`)
      return client
    })
    await settled()
    return { ...found, many: many as [Client, Client, Client] }
  }
  const errorsOf = ({ socket }: Client) => socket.heard.filter((text) => text.includes('"error"'))

  test('go over further ones to the same node, whose ids may be those of the first', async () => {
    const { node, all, many } = await givenMany()
    expect(node.subscribed).toEqual([1_000, 1_000, 2])
    expect(node.wanted.slice(1)).toEqual([1, 2].map(() => ({ tried: [], id: 'node' })))
    expect(many.flatMap(errorsOf)).toEqual([])
    const heard = () => many.map(({ socket }) => socket.heard.filter((text) => text.includes('told')).length)
    for (const [socket, expected] of [
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
    ].entries()) {
      node.tell('logsNotification', 1, 'told', socket)
      expect(heard()).toEqual(expected)
    }
    many[2].socket.close(1000)
    await settled()
    expect(node.subscribed, 'a further one goes with its last').toEqual([1_000, 1_000])
    many[0].socket.close(1000)
    await settled()
    expect([all.size, node.subscribed]).toEqual([1_000, [0, 1_000]])
    expect(many[1].socket.code).toBeUndefined()
    many[1].socket.close(1000)
    await settled()
    expect([all.size, node.subscribed]).toEqual([0, []])
  })

  test.each([0, 2])('are lost together, whichever socket is (%i)', async (lost) => {
    const { node, all, many } = await givenMany()
    node.lose(lost)
    await settled()
    expect(many.map(({ socket }) => socket.code)).toEqual([1012, 1012, 1012])
    expect([all.size, node.subscribed]).toEqual([0, []])
  })

  test('are refused where no further one opens, and the others go on', async () => {
    const { node, all, many, open } = await givenMany({ socketsMax: 1 })
    expect(node.subscribed).toEqual([1_000])
    expect(many.map((client) => errorsOf(client).length)).toEqual([0, 1_000, 2])
    expect(all.size).toBe(1_000)
    node.tell('logsNotification', 1, 'told')
    expect(many[0].socket.heard.at(-1)).toContain('told')
    const [first] = many
    expect(first.subscriptions.unsubscribe(...unsubscribing(first))).toContain('"result":true')
    open('later').subscribe('logsSubscribe', '["later"]')
    await settled()
    expect([all.size, node.subscribed]).toEqual([1_000, [1_000]])
  })

  test('are more sockets than one network may have at a node, and the rest is refused', async () => {
    const { node, open } = given('solana')
    node.newId = (count) => count
    const clients = Array.from({ length: SOCKETS_OF_NODE_MAX + 1 }, (_, i) => open(`key ${i}`))
    for (const [i, client] of clients.entries())
      for (let n = 0; n < 1_000; n++) client.subscribe('logsSubscribe', `[${i},${n}]`)
    await settled()
    expect(node.subscribed).toEqual(Array(SOCKETS_OF_NODE_MAX).fill(1_000))
    expect(clients.map((client) => errorsOf(client).length)).toEqual([...Array(SOCKETS_OF_NODE_MAX).fill(0), 1_000])
  })
})
