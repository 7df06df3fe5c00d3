import { hashToken } from '../../schemas/events/accounts.ts'
import type { Route, Service } from '../../schemas/protocols/protocol.ts'
import { findRoute, type GatewayAddress, parseAddress } from './address.ts'
import type { ClientRequest } from './client-exchange.ts'
import { PlainRequest } from './plain/plain-request.ts'

/** What a request asks for by its target and its verb, whoever asks. */
export interface AskedTarget {
  /** With the network that its host name stands for. */
  readonly target: string
  /** As `parseAddress` tells it. */
  readonly address: GatewayAddress | 'unknown' | undefined
  readonly found: { readonly service: Service; readonly route: Route } | undefined
  /** Empty without a token. */
  readonly tokenHash: string
}

/** `target` is the request's, with the network that its host name stands for. Looked for once for all requests of a connection with one head. */
export function askedTarget(request: ClientRequest, target: string): AskedTarget {
  const kept = request instanceof PlainRequest ? request.kept : undefined
  if (kept?.target?.target === target) return kept.target
  const address = parseAddress(target)
  const isOurs = address !== undefined && address !== 'unknown'
  const asked: AskedTarget = {
    target,
    address,
    found: isOurs ? findRoute(address, request.method ?? '') : undefined,
    tokenHash: isOurs && address.token !== undefined ? hashToken(address.token) : '',
  }
  if (kept !== undefined) kept.target = asked
  return asked
}
