import { networkOf, protocolOf } from './protocols.ts'
import { publicAccessOf } from './public-methods.ts'

/** What stands before the targets of requests at a host name of its own, to be the address that there is without one. */
export interface HostPrefix {
  readonly http: string
  /** In place of `/ws`; undefined: there is no WebSocket. */
  readonly socket: string | undefined
}

/** Of a network that may have host names of its own: one with public access, or Solana's; undefined for any other. */
export function hostPrefixOf(protocolName: string, network: string): HostPrefix | undefined {
  const place = `${protocolName}/${network}`
  if (publicAccessOf(protocolName, network) !== undefined) return { http: `/public/${place}`, socket: undefined }
  const protocol = protocolOf(protocolName)
  if (protocol?.hasOwnHost !== true || networkOf(protocol, network) === undefined) return undefined
  return { http: `/${place}`, socket: `/ws/${place}` }
}
