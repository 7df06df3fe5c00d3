import { matchRoute } from '../../schemas/protocols/match-route.ts'
import type { Protocol, Route, Service } from '../../schemas/protocols/protocol.ts'
import { type Place, placeOf, protocolOf } from '../../schemas/protocols/protocols.ts'
import { type PublicAccess, publicAccessOf } from '../../schemas/protocols/public-methods.ts'

/** Where a request of the gateway goes. */
export interface GatewayAddress {
  readonly protocol: Protocol
  readonly network: string
  readonly place: Place
  /** Undefined: public access, which has none. */
  readonly token: string | undefined
  readonly publicAccess: PublicAccess | undefined
  /** Behind that, as the client has written it, without the query. */
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
}

const PUBLIC = 'public'
/** Behind the token these are the REST API's and GraphQL's, of whatever protocol. */
const OF_OTHER_FAMILIES = /^\/(?:api\/v1(?:\/|$)|graphql\/?$)/

/**
 * The address of a request whose target is the gateway's: `/{protocol}/{network}/{token}` and `/public/{protocol}/{network}`, with what
 * follows. `unknown`: it begins as one, and there is no such network or public access. Undefined: it is another family's.
 */
export function parseAddress(target: string): GatewayAddress | 'unknown' | undefined {
  if (target.charCodeAt(0) !== SLASH) return undefined
  const mark = target.indexOf('?')
  const end = mark === -1 ? target.length : mark
  const query = mark === -1 ? '' : target.slice(mark)
  const first = segmentAt(target, 0, end)
  if (first.text === PUBLIC) return parsePublic(target, { from: first.end, end, query })
  const protocol = protocolOf(first.text)
  if (protocol === undefined) return undefined
  const network = segmentAt(target, first.end, end)
  const token = segmentAt(target, network.end, end)
  const path = target.slice(token.end, end)
  if (OF_OTHER_FAMILIES.test(path)) return undefined
  const place = placeOf(protocol, network.text)
  if (place === undefined || token.text === '') return 'unknown'
  return { protocol, network: network.text, place, token: token.text, publicAccess: undefined, path, query }
}

function parsePublic(
  target: string,
  { from, end, query }: { readonly from: number; readonly end: number; readonly query: string },
): GatewayAddress | 'unknown' {
  const name = segmentAt(target, from, end)
  const network = segmentAt(target, name.end, end)
  const protocol = protocolOf(name.text)
  const publicAccess = publicAccessOf(name.text, network.text)
  const place = protocol === undefined ? undefined : placeOf(protocol, network.text)
  if (protocol === undefined || place === undefined || publicAccess === undefined) return 'unknown'
  return {
    protocol,
    network: network.text,
    place,
    token: undefined,
    publicAccess,
    path: target.slice(network.end, end),
    query,
  }
}

const SLASH = 0x2f

/** The segment that begins with the slash at `at`; empty where there is none. */
function segmentAt(target: string, at: number, end: number): { readonly text: string; readonly end: number } {
  if (at >= end) return { text: '', end: at }
  const next = target.indexOf('/', at + 1)
  const last = next === -1 || next > end ? end : next
  return { text: target.slice(at + 1, last), end: last }
}

/** What of the protocol the path is, and is asked by this verb; undefined where that is nothing. */
export function findRoute(
  { protocol, path, publicAccess }: GatewayAddress,
  verb: string,
): { readonly service: Service; readonly route: Route } | undefined {
  if (publicAccess !== undefined && (path === '' ? '/' : path) !== publicAccess.path) return undefined
  for (const service of protocol.services) {
    const route = matchRoute(service, verb, path)
    if (route !== undefined) return { service, route }
  }
  return undefined
}
