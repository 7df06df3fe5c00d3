import type { IncomingMessage } from 'node:http'
import { type HostPrefix, hostPrefixOf } from '../../schemas/protocols/hosts.ts'

/** A host name, in lower case, and the network that it is for. */
export interface GatewayHost {
  readonly name: string
  readonly protocol: string
  readonly network: string
}

const SOCKET_PATH = '/ws/'

type Asked = Pick<IncomingMessage, 'headers' | 'url'>

/** Host names that stand for a network: their requests say the rest of the address alone. */
export class Hosts {
  readonly #current: () => readonly GatewayHost[]
  /** What `#prefixes` were made of. */
  #known: readonly GatewayHost[] = []
  #prefixes: ReadonlyMap<string, HostPrefix> = new Map()

  /** Asked at each request: they come and go while the API listens. */
  constructor(current: () => readonly GatewayHost[]) {
    this.#current = current
  }

  /** The target as it is without a host name of its own; undefined where the request's is none. */
  targetOf(request: Asked): string | undefined {
    const prefix = this.#prefixOf(request)
    return prefix === undefined ? undefined : `${prefix.http}${request.url}`
  }

  /** Likewise of a request for a WebSocket; empty, which leads nowhere, where the host has none. */
  socketTargetOf(request: Asked): string | undefined {
    const prefix = this.#prefixOf(request)
    if (prefix === undefined) return undefined
    const { url = '' } = request
    if (prefix.socket === undefined || !url.startsWith(SOCKET_PATH)) return ''
    return `${prefix.socket}/${url.slice(SOCKET_PATH.length)}`
  }

  #prefixOf({ headers, url }: Asked): HostPrefix | undefined {
    const current = this.#current()
    if (current.length === 0 || headers.host === undefined || url?.startsWith('/') !== true) return undefined
    if (current !== this.#known) {
      this.#known = current
      this.#prefixes = prefixesOf(current)
    }
    return this.#prefixes.get(hostNameOf(headers.host))
  }
}

function prefixesOf(hosts: readonly GatewayHost[]): ReadonlyMap<string, HostPrefix> {
  const entries = hosts.flatMap(({ name, protocol, network }) => {
    const prefix = hostPrefixOf(protocol, network)
    return prefix === undefined ? [] : [[name, prefix] as const]
  })
  return new Map(entries)
}

/** Without its port, in lower case; a dot at the end says that the name is whole. */
function hostNameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
