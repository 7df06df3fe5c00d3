import { expect } from 'vitest'
import type { ChainBlock, ChainLog } from './given-evm-chain.ts'
import type { GivenGateway } from './given-gateway.ts'
import { type Client, openClient, socketUrl } from './given-socket.ts'

/** What a subscription has told, in order. */
export interface Told<Result = unknown> {
  readonly id: unknown
  readonly results: readonly Result[]
  readonly replayed: readonly boolean[]
}

interface Message {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: unknown
  readonly params?: { readonly subscription: unknown; readonly result: unknown; readonly replayed?: boolean }
}

export interface Subscriber extends Disposable {
  readonly client: Client
  /** The answer, parsed. */
  call(method: string, params?: readonly unknown[]): Promise<Message>
  subscribe<Result = unknown>(...params: readonly unknown[]): Promise<Told<Result>>
}

/** A client that sorts what it is told by its subscriptions. */
export async function openSubscriber(gateway: GivenGateway): Promise<Subscriber> {
  const client = await openClient(socketUrl(gateway, 'ethereum/mainnet'))
  const told = new Map<unknown, { results: unknown[]; replayed: boolean[] }>()
  const waiting = new Map<unknown, (message: Message) => void>()
  let lastId = 0
  const ofId = (id: unknown) => {
    const known = told.get(id) ?? { results: [], replayed: [] }
    told.set(id, known)
    return known
  }
  client.socket.on('message', (data) => {
    const message = JSON.parse(data.toString()) as Message
    if (message.params === undefined) waiting.get(message.id)?.(message)
    else {
      const { subscription, result, replayed = false } = message.params
      const known = ofId(subscription)
      known.results.push(result)
      known.replayed.push(replayed)
    }
  })
  const call = async (method: string, params: readonly unknown[] = []): Promise<Message> => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<Message>()
    waiting.set(id, resolve)
    client.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return promise
  }
  return {
    client,
    call,
    async subscribe<Result>(...params: readonly unknown[]) {
      const { result, error } = await call('eth_subscribe', params)
      if (error !== undefined) throw new Error(JSON.stringify(error))
      return { id: result, ...ofId(result) } as Told<Result>
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  }
}

/** What heads say, without anything else: each follows one that was told before, and none is told twice. */
export function expectLinked(heads: readonly ChainBlock['head'][], first: string): void {
  const known = new Set<unknown>([first])
  for (const { hash, parentHash } of heads) {
    expect(known.has(parentHash), `${String(hash)} follows nothing that was told`).toBe(true)
    expect(known.has(hash), `${String(hash)} was told before`).toBe(false)
    known.add(hash)
  }
}

/** Logs that stand when all were told, in order; each that is removed stood before, and none that stands is told again. */
export function standingOf(told: readonly ChainLog[]): readonly ChainLog[] {
  const standing = new Map<string, ChainLog>()
  for (const log of told) {
    const key = `${log.blockHash} ${log.logIndex}`
    expect(standing.has(key), JSON.stringify(log)).toBe(log.removed === true)
    if (log.removed === true) standing.delete(key)
    else standing.set(key, log)
  }
  return [...standing.values()]
}
