import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as soon } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { readCalls } from '../../api/gateway/calls.ts'
import { ClientLink } from '../../api/gateway/client-link.ts'
import type { ClientSubscriptions } from '../../api/gateway/subscriptions/client-subscriptions.ts'
import { SUBSCRIPTIONS_OF_KEY_MAX, Subscriptions } from '../../api/gateway/subscriptions/subscriptions.ts'
import type { SocketHandler, UpstreamGroup, UpstreamSocket } from '../../infra/ports/upstreams.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'
import { silentLog } from './silent-log.ts'

// Clients and one node of any protocol, without a network between them.

interface Asked {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

/** Answers calls of ours; sockets are open at once. */
class FakeNode {
  readonly asked: Asked[] = []
  handler: SocketHandler | undefined
  /** Ids of what is subscribed to now. */
  readonly subscribed = new Set<unknown>()
  newId = (count: number): unknown => `0x${count.toString(16)}`
  beforeAnswer: (id: unknown) => void = () => {}
  #count = 0

  readonly group = { connect: (_wanted: unknown, handler: SocketHandler) => this.#connect(handler) } as UpstreamGroup

  tell(method: string, subscription: unknown, result: unknown): void {
    this.#send({ jsonrpc: '2.0', method, params: { subscription, result } })
  }

  lose(): void {
    const { handler } = this
    this.#end()
    handler?.onLost()
  }

  #connect(handler: SocketHandler): UpstreamSocket {
    this.handler = handler
    setImmediate(() => handler.onOpen())
    return {
      id: 'node',
      flow: { pause() {}, resume() {} },
      send: (text) => this.#hear(JSON.parse(text.toString()) as Asked),
      close: () => this.#end(),
    }
  }

  #hear(asked: Asked): void {
    this.asked.push(asked)
    setImmediate(() => {
      if (/unsubscribe|unwatch/i.test(asked.method)) {
        this.#send({ id: asked.id, result: this.subscribed.delete(asked.params?.[0]) })
        return
      }
      const id = this.newId(++this.#count)
      this.subscribed.add(id)
      this.beforeAnswer(id)
      this.#send({ jsonrpc: '2.0', id: asked.id, result: id })
    })
  }

  #send(message: object): void {
    this.handler?.onMessage(Buffer.from(JSON.stringify(message)))
  }

  #end(): void {
    this.handler = undefined
    this.subscribed.clear()
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
  expect(node.subscribed.size).toBe(3)
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
  expect(node.subscribed.size).toBe(3)
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

test('a thousand clients that come and go, some before they are answered, leave nothing behind', async () => {
  const { node, all, open } = given('solana')
  for (let i = 0; i < 1_000; i++) {
    const client = open(`key ${i % 7}`)
    client.subscribe(i % 2 === 0 ? 'slotSubscribe' : 'logsSubscribe', `[${i % 5}]`)
    if (i % 3 === 0) await settled()
    client.socket.close(1000)
  }
  await settled()
  expect([all.size, all.keys, node.subscribed.size]).toEqual([0, 0, 0])
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
