import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import { hashToken } from '../../schemas/events/accounts.ts'
import { insertRows } from './api-fixture.ts'
import { TOKEN } from './given-api.ts'
import { type GivenGateway, networkOn, type Stub } from './given-gateway.ts'

// WebSockets of clients to a gateway, and of a gateway to nodes that answer what a test says.

export interface SocketStub {
  /** What it has got, in order, over all sockets. */
  readonly got: string[]
  /** That sockets were asked for at. */
  readonly paths: ReadonlySet<string>
  readonly sockets: ReadonlySet<WebSocket>
  answer: (text: string, socket: WebSocket) => void
}

/** Lets the stub speak WebSocket on its port. */
export function withSockets(stub: Stub): SocketStub {
  const server = new WebSocketServer({ server: stub.server })
  const paths = new Set<string>()
  const node: SocketStub = { got: [], paths, sockets: server.clients, answer: () => {} }
  server.on('connection', (socket, { url = '' }) => {
    paths.add(url)
    socket.on('message', (data) => {
      node.got.push(data.toString())
      node.answer(data.toString(), socket)
    })
  })
  return node
}

export function socketsOn(place: string, ...stubs: readonly Pick<Stub, 'url'>[]) {
  const network = networkOn(place, ...stubs)
  return { ...network, upstreams: network.upstreams.map((one) => ({ ...one, wsUrl: one.url.replace('http', 'ws') })) }
}

export function socketUrl({ api }: Pick<GivenGateway, 'api'>, place: string, token = TOKEN): string {
  return `${api.url.replace('http', 'ws')}/ws/${place}/${token}`
}

/** A client that keeps what it hears. */
export interface Client extends Disposable {
  readonly socket: WebSocket
  readonly heard: readonly string[]
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  /** Resolves with the next message. One at a time. */
  ask(text: string | Buffer): Promise<string>
}

export async function openClient(url: string, options: ClientOptions = {}): Promise<Client> {
  const socket = new WebSocket(url, options)
  const heard: string[] = []
  socket.on('message', (data) => heard.push(data.toString()))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  )
  await once(socket, 'open')
  socket.on('error', () => {})
  return {
    socket,
    heard,
    closed,
    async ask(message) {
      const next = once(socket, 'message')
      socket.send(message)
      const [data] = await next
      return String(data)
    },
    [Symbol.dispose]: () => socket.terminate(),
  }
}

/** Sends lines as they stand, and reads until the other side closes. */
export async function sendRaw({ api }: GivenGateway, ...lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return text(socket)
}

export function handshake(path: string, ...more: readonly string[]): readonly string[] {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
  ]
}

/** Status and parsed body of an answer as it came. */
export function parseRaw(answer: string): readonly [number, unknown] {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2)
  return [Number(head.split(' ')[1]), body === '' ? undefined : JSON.parse(body)]
}

/** A key that may be taken back. */
export async function givenKey({ given, ask }: GivenGateway, token: string): Promise<{ revoke(): Promise<void> }> {
  const row = { token_hash: hashToken(token), account: 'demo' }
  await insertRows(given.warehouse, 'access_tokens', [{ ...row, version: 1, is_deleted: 0 }])
  const isKnown = async () => (await ask('ethereum/mainnet', { token, method: 'POST', body: '{}' })).status !== 401
  await expect.poll(isKnown).toBe(true)
  return { revoke: () => insertRows(given.warehouse, 'access_tokens', [{ ...row, version: 2, is_deleted: 1 }]) }
}
