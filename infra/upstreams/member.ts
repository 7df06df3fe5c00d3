import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { HttpUpstream, type UpstreamOptions } from './http-upstream.ts'
import { type OpenSocket, type SocketAddress, socketAddressOf } from './socket.ts'
import { UpstreamHealth } from './upstream-health.ts'

/** One of the upstreams of a network, and what is known of it. */
export interface Member {
  readonly upstream: HttpUpstream
  readonly health: UpstreamHealth
  /** Undefined: it has none. */
  readonly socket?: MemberSocket | undefined
}

export interface MemberSocket {
  readonly address: SocketAddress
  /** Those that are open, or opening. */
  readonly open: Set<OpenSocket>
  /** Whether the last one that was tried has opened; undefined: none was. */
  connects: boolean | undefined
  /** Tries in a row that have not opened one. */
  failedTries: number
  /** Looks that pass before the next try. */
  looksLeft: number
}

interface MemberOf {
  readonly protocol: Protocol
  /** Of ids. */
  readonly secret: string
}

/** `health` is what is known of the node already. */
export function openMember(
  options: UpstreamOptions,
  { protocol: { webSocket }, secret }: MemberOf,
  health = new UpstreamHealth(),
): Member {
  const address = socketAddressOf(options, webSocket)
  const socket = address && { address, open: new Set<OpenSocket>(), connects: undefined, failedTries: 0, looksLeft: 0 }
  return { upstream: new HttpUpstream(options, secret), health, socket }
}

/** As if the node had closed them. */
export function loseSockets({ socket }: Member): void {
  for (const one of socket?.open ?? []) one.lose()
}
