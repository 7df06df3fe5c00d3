import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Log } from '../../infra/ports/log.ts'
import type { UpstreamGroup, Upstreams } from '../../infra/ports/upstreams.ts'
import { chainNames } from '../../schemas/chains.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { allowedUseOf, foreignClient } from '../http/allowed-use.ts'
import type { KnownToken } from '../http/standings.ts'
import type { ClientAddresses } from './client-address.ts'
import { CLOSE } from './client-link.ts'
import { ClientSocket } from './client-socket.ts'
import { type HeldOpen, lackAt } from './held-open.ts'
import type { Hosts } from './hosts.ts'
import type { Keys } from './keys.ts'
import type { Meter } from './meter.ts'
import { RPC_BODY_BYTES_MAX } from './read-body.ts'
import { type Refusal, restRefusal, rpcRefusal, tellFailure, tellRefusal } from './refusals.ts'
import type { SharedReads } from './shared-reads.ts'
import { handshakeFault, parseSocketAddress, type SocketAddress, WEB_SOCKET_VERSION } from './socket-address.ts'
import { Subscriptions } from './subscriptions/subscriptions.ts'

export interface SocketsParts {
  readonly upstreams: Upstreams
  readonly hosts: Hosts
  readonly keys: Keys
  readonly heldOpen: HeldOpen
  readonly reads: SharedReads
  readonly accountsKnown: () => Promise<boolean>
  readonly addresses: ClientAddresses
  /** Without one nothing is limited. */
  readonly meter?: Meter | undefined
  /** Unix milliseconds on the machine. */
  readonly wallNow: () => number
  readonly log: Log
}

/** Of all keys. */
export const SOCKETS_MAX = 10_000
export const SOCKETS_OF_KEY_MAX = 1_000
/** Of one message, which small ones are put together to. */
const FRAGMENTS_MAX = 1_024
/** A client that does not answer two in turn is gone. */
const PING_MS = 30_000
/** Of one that asks nothing, and has nothing to hear. */
export const IDLE_MS_MAX = 600_000
/** Until a client has answered that its socket closes. */
const CLOSE_MS_MAX = 2_000

const LIMITS = { maxPayload: RPC_BODY_BYTES_MAX, maxFragments: FRAGMENTS_MAX, closeTimeout: CLOSE_MS_MAX }

/** Refused before it is one. */
interface Refused {
  readonly refusal: Refusal
  readonly isRpc: boolean
}

interface Admitted {
  readonly address: SocketAddress
  readonly tokenHash: string
  readonly known: KnownToken
}

/** The WebSockets of clients: lets them in, looks whether they are there, and ends them. */
export class Sockets {
  readonly #parts: SocketsParts
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, ...LIMITS })
  readonly #open = new Set<ClientSocket>()
  readonly #ofKeys = new Map<string, number>()
  readonly #subscriptions: Subscriptions
  #timer: NodeJS.Timeout | undefined
  #isStopping = false

  constructor(parts: SocketsParts) {
    this.#parts = parts
    this.#subscriptions = new Subscriptions(parts.upstreams, parts.log)
    parts.meter?.onUsedUp((account) => {
      for (const client of this.#open) if (client.account === account) client.endSubscriptions(USED_UP)
    })
    // What it would answer itself has no body of ours.
    this.#server.on('wsClientError', (_error, stream) => refuse(stream, { refusal: BAD_HANDSHAKE, isRpc: false }))
  }

  get size(): number {
    return this.#open.size
  }

  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const onError = (): void => void stream.destroy()
    stream.on('error', onError)
    this.#admit(request, stream, head)
      .then((refused) => {
        if (refused !== undefined) refuse(stream, refused)
        else stream.off('error', onError)
      })
      .catch((error: unknown) => {
        refuse(stream, { refusal: tellFailure(this.#parts.log, error), isRpc: true })
      })
  }

  /** Lets nobody in any more. Those that are open are told to leave by who holds them open. */
  stop(): void {
    this.#isStopping = true
  }

  cut(): void {
    for (const socket of this.#open) socket.close(CLOSE.goingAway, STOPS)
  }

  async #admit(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<Refused | undefined> {
    const address = parseSocketAddress(this.#parts.hosts.socketTargetOf(request) ?? request.url ?? '')
    if (address === undefined) return { refusal: { kind: 'not-found' }, isRpc: false }
    const fault = handshakeFault(request)
    if (fault !== undefined)
      return { refusal: fault === 'version' ? { kind: 'socket-version' } : BAD_HANDSHAKE, isRpc: false }
    const tokenHash = hashToken(address.token)
    const known = await this.#find(address, tokenHash)
    if ('kind' in known) return { refusal: known, isRpc: true }
    const foreign = foreignClient(known.allow, request, this.#parts.addresses)
    if (foreign !== undefined) return { refusal: { kind: 'not-allowed', of: foreign }, isRpc: true }
    const lack = this.#lackOfNodes(address, known)
    if (lack !== undefined) return { refusal: lack, isRpc: true }
    if (this.#isStopping) return { refusal: { kind: 'stopping' }, isRpc: true }
    const ofKey = this.#ofKeys.get(tokenHash) ?? 0
    if (this.#open.size >= SOCKETS_MAX || ofKey >= SOCKETS_OF_KEY_MAX)
      return { refusal: { kind: 'sockets' }, isRpc: true }
    if (stream.destroyed) return undefined
    this.#server.handleUpgrade(request, stream, head, (socket) =>
      this.#begin(socket, stream, { address, tokenHash, known }),
    )
    return undefined
  }

  /** A key may be newer than what is known of keys; and tables that lack accounts do not say that there is none. */
  async #find({ protocol, network }: SocketAddress, tokenHash: string): Promise<KnownToken | Refusal> {
    const { keys, accountsKnown, wallNow } = this.#parts
    let known = (await keys.get()).tokenOf(tokenHash) ?? (await keys.look()).tokenOf(tokenHash)
    if (known === undefined) {
      if (!(await accountsKnown())) return { kind: 'filling' }
      known = (await keys.look()).tokenOf(tokenHash)
    }
    if (known === undefined) return { kind: 'unauthenticated' }
    const why = lackAt(known, chainNames(protocol.name, network).name, wallNow())
    return why === undefined ? known : { kind: 'unauthenticated', why }
  }

  #groupOf({ protocol, network }: SocketAddress, { order }: KnownToken): UpstreamGroup | undefined {
    return this.#parts.upstreams.groupOf({ protocol: protocol.name, network, order: order?.id })
  }

  #lackOfNodes(address: SocketAddress, known: KnownToken): Refusal | undefined {
    const group = this.#groupOf(address, known)
    if (group === undefined) return { kind: 'no-upstream' }
    return group.hasSockets || address.protocol.webSocket?.isBridged === true ? undefined : { kind: 'no-socket' }
  }

  #begin(socket: WebSocket, stream: Duplex, { address, tokenHash, known }: Admitted): void {
    const { protocol, network } = address
    const { log, meter, reads } = this.#parts
    const ofKey = { tokenHash, account: known.account, allowed: allowedUseOf(known.allow), order: known.order?.id }
    const subscriptions = this.#subscriptions
    const ofNetwork = { protocol, network, groupOf: () => this.#groupOf(address, known), reads }
    const client = new ClientSocket({ socket, stream, ...ofNetwork, ...ofKey, meter, subscriptions, log })
    this.#open.add(client)
    this.#ofKeys.set(tokenHash, (this.#ofKeys.get(tokenHash) ?? 0) + 1)
    this.#timer ??= setInterval(() => this.#look(), PING_MS)
    const release = this.#parts.heldOpen.hold({
      tokenHash,
      chain: chainNames(protocol.name, network).name,
      end: () => client.close(CLOSE.policy, 'Authentication failed'),
      leave: () => client.leave(CLOSE.goingAway, STOPS),
    })
    socket.once('close', () => {
      release()
      this.#open.delete(client)
      const left = (this.#ofKeys.get(tokenHash) ?? 0) - 1
      if (left > 0) this.#ofKeys.set(tokenHash, left)
      else this.#ofKeys.delete(tokenHash)
      if (this.#open.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    })
  }

  #look(): void {
    const idleSinceMs = performance.now() - IDLE_MS_MAX
    for (const client of this.#open) {
      if (client.heardMs < idleSinceMs) client.close(CLOSE.goingAway, 'nothing was asked')
      else client.ping()
    }
  }
}

const STOPS = 'the service stops'
const USED_UP = 'the requests of the day are used up'

const BAD_HANDSHAKE: Refusal = {
  kind: 'unreadable',
  fault: 'request',
  why: 'the request is no WebSocket handshake',
}

/** There is no reply object yet. */
function refuse(stream: Duplex, { refusal, isRpc }: Refused): void {
  const told = tellRefusal(refusal)
  const body = isRpc ? rpcRefusal(told) : restRefusal(told)
  const lines = [
    `HTTP/1.1 ${told.status} ${STATUS_CODES[told.status] ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(refusal.kind === 'socket-version' ? [`sec-websocket-version: ${WEB_SOCKET_VERSION}`] : []),
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ]
  stream.once('finish', () => stream.destroy())
  stream.end(lines.join('\r\n'))
}
