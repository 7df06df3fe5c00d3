import { WebSocket } from 'ws'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { Together } from '../../schemas/together.ts'
import { basicCredentials } from '../basic-credentials.ts'
import type { Flow, SocketHandler, UpstreamSocket } from '../ports/upstreams.ts'
import type { UpstreamOptions } from './http-upstream.ts'

/** Where an upstream's WebSocket is, and what it wants to know. Both may hold secrets. */
export interface SocketAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Who holds a socket hears of its end whoever ends it. */
export interface HeldSocketHandler extends SocketHandler {
  /** It does not connect: `onLost` follows. */
  onRefused(): void
  onGone(): void
}

/** A socket that its group looks after. */
export interface OpenSocket extends UpstreamSocket {
  /** Gives it up, as if the node had closed it. */
  lose(): void
  /** To be called now and then: loses it where the node has said nothing since the last but one. */
  ping(): void
}

const CONNECT_MS_MAX = 5_000
/** Nodes send whole blocks with their receipts. */
const MESSAGE_BYTES_MAX = 32 * 1024 * 1024
const MESSAGE_FRAGMENTS_MAX = 16 * 1024
/** One may be late. */
const PINGS_UNANSWERED_MAX = 1

/** Undefined: the upstream has none, or the protocol. */
export function socketAddressOf(
  { wsUrl, headers }: UpstreamOptions,
  webSocket: Protocol['webSocket'],
): SocketAddress | undefined {
  if (wsUrl === undefined || webSocket === undefined || webSocket.isBridged === true) return undefined
  const url = new URL(wsUrl)
  const authorization = url.username === '' ? undefined : `Basic ${basicCredentials(url)}`
  url.username = ''
  url.password = ''
  url.pathname = url.pathname.replace(/\/+$/, '') + webSocket.path
  return { url: url.href, headers: { ...(authorization === undefined ? {} : { authorization }), ...headers } }
}

export function connectSocket(id: string, { url, headers }: SocketAddress, handler: HeldSocketHandler): OpenSocket {
  const socket = new WebSocket(url, {
    headers: { 'user-agent': 'epochline', ...headers },
    perMessageDeflate: false,
    handshakeTimeout: CONNECT_MS_MAX,
    maxPayload: MESSAGE_BYTES_MAX,
    maxFragments: MESSAGE_FRAGMENTS_MAX,
    followRedirects: false,
  })
  let together: Together | undefined
  let hasOpened = false
  let isOver = false
  let isPaused = false
  let pingsUnanswered = 0

  /** Says whether it was not over before. */
  function end(): boolean {
    if (isOver) return false
    isOver = true
    socket.terminate()
    handler.onGone()
    return true
  }
  function lose(): void {
    if (end()) handler.onLost()
  }
  const heard = (): void => {
    pingsUnanswered = 0
  }
  const flow: Flow = {
    pause() {
      isPaused = true
      socket.pause()
    },
    resume() {
      isPaused = false
      heard()
      socket.resume()
    },
  }

  socket.on('upgrade', ({ socket: stream }) => {
    together = new Together(stream)
  })
  socket.on('open', () => {
    hasOpened = true
    if (!isOver) handler.onOpen()
  })
  socket.on('message', (data: Buffer) => {
    heard()
    if (!isOver) handler.onMessage(data)
  })
  socket.on('pong', heard)
  socket.on('error', () => {}) // `close` follows, and nobody is told of a node more than that it is gone
  socket.on('close', () => {
    if (!hasOpened && !isOver) handler.onRefused()
    lose()
  })
  return {
    id,
    flow,
    lose,
    send(text, onOut) {
      together?.hold()
      socket.send(text, { binary: false }, () => onOut?.())
    },
    close: () => void end(),
    ping() {
      // Before it is open, connecting has a limit of its own; what is held back is not heard.
      if (socket.readyState !== WebSocket.OPEN || isPaused) return
      if (pingsUnanswered > PINGS_UNANSWERED_MAX) lose()
      else {
        pingsUnanswered++
        socket.ping()
      }
    },
  }
}
