import type { IncomingMessage } from 'node:http'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { networkOf, protocolOf } from '../../schemas/protocols/protocols.ts'

/** Where a WebSocket goes. */
export interface SocketAddress {
  readonly protocol: Protocol
  readonly network: string
  readonly token: string
}

const ADDRESS = /^\/ws\/([^/]+)\/([^/]+)\/([^/]+)\/?$/

/** The address `/ws/{protocol}/{network}/{token}`; undefined: there is none, or the network has no WebSocket. */
export function parseSocketAddress(target: string): SocketAddress | undefined {
  const [, name = '', network = '', token = ''] = ADDRESS.exec(target.split('?', 1)[0] ?? '') ?? []
  const protocol = protocolOf(name)
  if (protocol?.webSocket === undefined || networkOf(protocol, network) === undefined) return undefined
  return { protocol, network, token }
}

const asksFor = ({ headers }: IncomingMessage): readonly string[] =>
  (headers.upgrade ?? '').split(',').map((name) => name.trim().toLowerCase())

/** Other protocols that a client would rather speak are not offered: the request is answered as it is. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return asksFor(request).includes('websocket')
}

/** Which of them a request is for, a proxy in between may tell differently. */
export function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts++
  return hosts > 1
}

/** Of the protocol; there is no other. */
export const WEB_SOCKET_VERSION = '13'
const KEY = /^[+/0-9A-Za-z]{22}==$/

/** What is wrong with a request that asks for a WebSocket; undefined where nothing is. */
export function handshakeFault(request: IncomingMessage): 'version' | 'request' | undefined {
  const { headers, method, httpVersion } = request
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  if (method !== 'GET' || httpVersion !== '1.1' || headers.host === undefined || hasBody) return 'request'
  if (asksFor(request).length !== 1 || hasSeveralHosts(request)) return 'request'
  if (headers['sec-websocket-version'] !== WEB_SOCKET_VERSION) return 'version'
  return KEY.test(headers['sec-websocket-key'] ?? '') ? undefined : 'request'
}
