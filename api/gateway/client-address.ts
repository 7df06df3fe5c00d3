import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { IpNetworks } from '../http/ip-networks.ts'

const MAPPED = '::ffff:'

/** Who has sent a request, as far as that can be known. */
export class ClientAddresses {
  readonly #trusted: IpNetworks
  readonly #hasTrusted: boolean

  /** Addresses and networks (`10.0.0.0/8`) of proxies that are believed whom they ask for. */
  constructor(trustedProxies: readonly string[] = []) {
    this.#hasTrusted = trustedProxies.length > 0
    this.#trusted = new IpNetworks(trustedProxies)
  }

  /**
   * The peer of the connection; behind trusted proxies the last address of `X-Forwarded-For` that none of them has. What stands before
   * that one a client may have written itself.
   */
  of({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let address = plain(socket.remoteAddress ?? '')
    const forwarded = headers['x-forwarded-for']
    if (!this.#hasTrusted || typeof forwarded !== 'string') return address
    const hops = forwarded.split(',')
    while (hops.length > 0 && this.#trusted.has(address)) {
      const hop = plain(withoutPort((hops.pop() as string).trim()))
      if (isIP(hop) === 0) return address // what is no address is no client's
      address = hop
    }
    return address
  }
}

const WITH_PORT = /^(?:([\d.]+)|\[(.+)\]):\d+$/

/** Some proxies write the port behind the address. */
function withoutPort(hop: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(hop) ?? []
  return ipv4 ?? ipv6 ?? hop
}

/** Of an IPv4 address that a socket tells as one of IPv6, the former. */
function plain(address: string): string {
  return address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address
}
