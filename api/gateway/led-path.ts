import { matchRoute } from '../../schemas/protocols/match-route.ts'
import type { Service } from '../../schemas/protocols/protocol.ts'

/**
 * What a client is told of where a node leads it, from the path behind the token that it has asked for: a way from there, which is the same
 * whatever stands before, so that no token is in it. Undefined: the gateway has no such path. IPFS does so of directories.
 */
export function ledPath(service: Service, asked: string, node: string): string | undefined {
  const mark = node.indexOf('?')
  const path = mark === -1 ? node : node.slice(0, mark)
  // Without a slash at its end the token is the last segment: from there no way leads back to it.
  if (asked === '' || path.includes('#') || matchRoute(service, 'GET', path) === undefined) return undefined
  const up = asked.split('/').length - 2
  return `${up > 0 ? '../'.repeat(up) : './'}${node.slice(1)}`
}
