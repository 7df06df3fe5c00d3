import { once } from 'node:events'
import { type ClientOptions, WebSocket } from 'ws'

/** An answer to a request or batch, as it came. */
export type Answer = Readonly<Record<string, unknown>>

/** What a subscription has heard so far, in order. */
export interface Heard {
  readonly id: string
  readonly results: readonly Readonly<Record<string, unknown>>[]
}

/** A client of JSON-RPC over WebSocket that keeps all that it is told. */
export interface JsonRpcSocket extends Disposable {
  readonly socket: WebSocket
  /** Every message so far, parsed. */
  readonly messages: readonly Answer[]
  /** Sends a text, or JSON of anything else; resolves with the next message that is no notification. One at a time. */
  ask(request: unknown): Promise<Answer>
  /** Throws an Error with the node's words for an error. */
  call<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>
  subscribe(...params: readonly unknown[]): Promise<Heard>
}

interface Notification {
  readonly method?: unknown
  readonly params: { readonly subscription: string; readonly result: Heard['results'][number] }
}

export function toSocketUrl(url: string): string {
  return url.replace(/^http/, 'ws')
}

/** Connects to a JSON-RPC's http:// address. */
export async function openJsonRpcSocket(url: string, options: ClientOptions = {}): Promise<JsonRpcSocket> {
  const socket = new WebSocket(toSocketUrl(url), options)
  const messages: Answer[] = []
  const heard = new Map<string, Heard['results'][number][]>()
  const waiting: ((answer: Answer) => void)[] = []
  const resultsOf = (id: string) => {
    const results = heard.get(id) ?? []
    heard.set(id, results)
    return results
  }
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString()) as Answer
    messages.push(message)
    const { method, params } = message as unknown as Notification
    if (method === 'eth_subscription') resultsOf(params.subscription).push(params.result)
    else waiting.shift()?.(message)
  })
  await once(socket, 'open')

  async function ask(request: unknown): Promise<Answer> {
    const answered = new Promise<Answer>((resolve) => waiting.push(resolve))
    socket.send(typeof request === 'string' ? request : JSON.stringify(request))
    return answered
  }

  async function call<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const { result, error } = await ask({ jsonrpc: '2.0', id: 1, method, params })
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as Result
  }

  return {
    socket,
    messages,
    ask,
    call,
    async subscribe(...params) {
      const id = await call<string>('eth_subscribe', params)
      return { id, results: resultsOf(id) }
    },
    [Symbol.dispose]: () => socket.terminate(),
  }
}
