import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as soon } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { ClientSocket, type ClientSocketOptions } from '../../api/gateway/client-socket.ts'
import { SharedReads } from '../../api/gateway/shared-reads.ts'
import { Subscriptions } from '../../api/gateway/subscriptions/subscriptions.ts'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'
import { silentLog } from './silent-log.ts'

/** The end of a client's socket that is ours. */
class FakeSocket extends EventEmitter {
  readonly readyState = 1
  readonly bufferedAmount = 0
  readonly heard: string[] = []

  send(text: string, _options: object, onOut?: () => void): void {
    this.heard.push(text)
    onOut?.()
  }

  pause(): void {}
  resume(): void {}
}

/** A client of a network that has no node. `bill`: of each call. */
function given(bill: object) {
  const socket = new FakeSocket()
  const subscriptions = new Subscriptions({ groupOf: () => undefined }, silentLog)
  const options = {
    ...{ socket: socket as unknown as WebSocket, stream: new PassThrough(), subscriptions, log: silentLog },
    ...{ protocol: protocolOf('ethereum') as Protocol, network: 'mainnet', groupOf: () => undefined },
    ...{ tokenHash: 'one', account: 'one', allowed: {}, order: undefined, reads: new SharedReads() },
    meter: { open: () => ({ addRequestBytes() {}, asks() {}, answered() {}, failed() {}, ...bill }), push() {} },
  } as unknown as ClientSocketOptions
  new ClientSocket(options)
  const ask = async (method: string, params: string): Promise<unknown> => {
    socket.emit('message', Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`))
    for (let i = 0; i < 10; i++) await soon()
    return JSON.parse(socket.heard.at(-1) ?? 'null')
  }
  return { ask, subscriptions }
}

const PASSED = { take: () => ({ status: 'passed' }) }
const deep = (levels: number) => `["logs",{"topics":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}]`

test.each([
  [33, 'nested too deep'],
  [20_000, 'more than 128 levels'],
])('parameters of %i levels subscribe to nothing, and hold no place: %s', async (levels, why) => {
  const { ask, subscriptions } = given(PASSED)
  const tooDeep = { error: { code: -32600, message: expect.stringContaining(why) } }
  for (let i = 0; i < 3; i++) expect(await ask('eth_subscribe', deep(levels))).toMatchObject(tooDeep)
  expect(await ask('eth_unsubscribe', deep(levels))).toMatchObject(tooDeep)
  expect(subscriptions.keys).toBe(0)
})

test('parameters of 32 levels are asked for', async () => {
  const { ask } = given(PASSED)
  expect(await ask('eth_subscribe', deep(32))).toMatchObject({ error: { code: -32011 } })
})

test.each([
  ['the counters fail', { take: () => Promise.reject(new Error('away')) }],
  ['the day is used up', { take: () => ({ status: 'limited', reason: 'daily_quota', limit: 1, resetSec: 1 }) }],
  ['no node is there', PASSED],
])('a place that is reserved is given up where %s', async (_, bill) => {
  const { ask, subscriptions } = given(bill)
  for (let i = 0; i < 3; i++) expect(await ask('eth_subscribe', '["newHeads"]')).toMatchObject({ error: {} })
  expect(subscriptions.keys).toBe(0)
})
