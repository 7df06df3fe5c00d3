import { BlockList, isIP } from 'node:net'

/** An address, or a network of all that begin with the same bits. */
interface IpNetwork {
  readonly address: string
  readonly family: 'ipv4' | 'ipv6'
  /** Undefined: the one address. */
  readonly bits: number | undefined
}

const BITS_MAX = { ipv4: 32, ipv6: 128 } as const

/** `10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`; undefined for any other text. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [, address = '', bits] = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0) return undefined
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (bits === undefined) return { address, family, bits }
  return Number(bits) > BITS_MAX[family] ? undefined : { address, family, bits: Number(bits) }
}

/** Addresses of which it is kept: clients come again and again. */
const KNOWN_MAX = 1_000

/** Whether addresses are among some. An IPv4 address is the same in the spelling of IPv6 (`::ffff:10.0.0.1`). */
export class IpNetworks {
  readonly #list = new BlockList()
  readonly #known = new Map<string, boolean>()

  /** Throws for a text that `parseIpNetwork` does not know. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseIpNetwork(text)
      if (network === undefined) throw new Error(`${text} is neither an address nor a network`)
      const { address, family, bits } = network
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, bits, family)
    }
  }

  /** False also for what is no address. */
  has(address: string): boolean {
    const known = this.#known.get(address)
    if (known !== undefined) return known
    const version = isIP(address)
    // It may be long, and nothing is kept of it.
    if (version === 0) return false
    const has = this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6')
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(address, has)
    return has
  }
}
