import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import type { ChainFeed } from './chain-feed.ts'
import { REQUEST_BYTES_MAX } from './request-text.ts'
import { INVALID_PARAMS, LIMIT_EXCEEDED, RpcFault, SERVER_ERROR } from './rpc-fault.ts'
import { parseTopic } from './topics.ts'

/** JSON text of a result. */
export type Handler = (params: readonly unknown[]) => Promise<string> | string

export type Handlers = ReadonlyMap<string, Handler>

export interface WebSocketOptions {
  readonly server: Server
  readonly feed: ChainFeed
  /** JSON text of the answer to a request or batch; `own` are methods that only this socket has. */
  readonly answer: (text: string, own: Handlers) => Promise<string>
}

/** A client that lets more notifications than this wait is cut off; it can connect again and read what it missed. */
export const UNSENT_NOTIFICATIONS_BYTES_MAX = 4 * 1024 * 1024
/** The same of answers: one alone may be larger, and waits; no other is put behind it. */
export const UNSENT_ANSWERS_BYTES_MAX = 64 * 1024 * 1024
/** Of one socket: the next is read when an answer is out. */
export const REQUESTS_AT_ONCE_MAX = 16
/** Of one socket. */
export const SUBSCRIPTIONS_MAX = 1_000
const ID_BYTES = 16

const GOING_AWAY = 1001
const INTERNAL = 1011

/** Other protocols that a client would rather speak are not offered: the request is answered as it is. */
export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Speaks WebSocket on the server's port, at `/` only. To be disposed after the server has begun to close. */
export function serveWebSocket({ server, feed, answer }: WebSocketOptions): Disposable {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: REQUEST_BYTES_MAX, perMessageDeflate: false })
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (request.url?.split('?', 1)[0] !== '/') return refusePath(stream)
    sockets.handleUpgrade(request, stream, head, (socket) => serveSocket(socket, feed, answer))
  })
  return {
    [Symbol.dispose]() {
      for (const socket of sockets.clients) {
        socket.close(GOING_AWAY, 'the devnet stops')
        socket.terminate()
      }
    },
  }
}

function refusePath(stream: Duplex): void {
  stream.on('error', () => stream.destroy())
  stream.once('finish', () => stream.destroy())
  stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}

function serveSocket(socket: WebSocket, feed: ChainFeed, answer: WebSocketOptions['answer']): void {
  const subscriptions = createSubscriptions(socket, feed)
  let requests = 0

  async function onMessage(text: string): Promise<void> {
    requests++
    if (requests >= REQUESTS_AT_ONCE_MAX) socket.pause()
    const begun: Subscription[] = []
    const answered = await answer(text, subscriptions.methods(begun))
    const sent = sendAnswer(socket, answered)
    for (const subscription of begun) subscription.begin()
    await sent
    requests--
    if (requests < REQUESTS_AT_ONCE_MAX) socket.resume()
  }

  // Text and bytes alike: some clients send their JSON as a binary message.
  socket.on('message', (data) => {
    onMessage(data.toString()).catch(() => socket.close(INTERNAL, 'the devnet cannot answer'))
  })
  socket.on('error', () => {}) // `close` follows, and the client was sent the code that says why
  socket.on('close', () => subscriptions.end())
}

/** Resolves when it is out, or the client is gone. */
function sendAnswer(socket: WebSocket, text: string): Promise<void> {
  if (socket.bufferedAmount > UNSENT_ANSWERS_BYTES_MAX) socket.terminate()
  return new Promise((resolve) => socket.send(text, () => resolve()))
}

interface Subscription {
  /** Its id is on its way to the client: what has happened since, and from now on, may follow. */
  begin(): void
}

interface Subscriptions {
  /** Of one message, whose subscriptions are put into `begun`. */
  methods(begun: Subscription[]): Handlers
  end(): void
}

/** Those of one socket. */
function createSubscriptions(socket: WebSocket, feed: ChainFeed): Subscriptions {
  const ends = new Map<string, () => void>()
  let unsentBytes = 0

  function send(text: string): void {
    socket.send(text, () => {
      unsentBytes -= text.length
    })
  }

  function subscribe(params: readonly unknown[], begun: Subscription[]): string {
    const topic = parseTopic(params)
    if (ends.size >= SUBSCRIPTIONS_MAX)
      throw new RpcFault(LIMIT_EXCEEDED, `at most ${SUBSCRIPTIONS_MAX} subscriptions on one connection`)
    if (socket.readyState !== WebSocket.OPEN) throw new RpcFault(SERVER_ERROR, 'the connection is closed')
    const id = `0x${randomBytes(ID_BYTES).toString('hex')}`
    let early: string[] | undefined = []
    function tell(result: string): void {
      if (socket.readyState !== WebSocket.OPEN) return
      const text = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`
      unsentBytes += text.length
      if (unsentBytes > UNSENT_NOTIFICATIONS_BYTES_MAX) socket.terminate()
      else if (early === undefined) send(text)
      else early.push(text)
    }
    ends.set(id, feed.subscribe({ topic, tell, end: () => socket.close(INTERNAL, 'the devnet has lost its chain') }))
    begun.push({
      begin() {
        for (const text of early ?? []) send(text)
        early = undefined
      },
    })
    return JSON.stringify(id)
  }

  function unsubscribe([id]: readonly unknown[]): string {
    if (typeof id !== 'string') throw new RpcFault(INVALID_PARAMS, 'the parameter is the id of a subscription')
    const end = ends.get(id)
    if (end === undefined) throw new RpcFault(SERVER_ERROR, 'subscription not found')
    end()
    ends.delete(id)
    return 'true'
  }

  return {
    methods: (begun) =>
      new Map<string, Handler>([
        ['eth_subscribe', (params) => subscribe(params, begun)],
        ['eth_unsubscribe', unsubscribe],
      ]),
    end() {
      for (const end of ends.values()) end()
      ends.clear()
    },
  }
}
