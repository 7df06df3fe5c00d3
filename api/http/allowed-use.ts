import type { IncomingMessage } from 'node:http'
import type { AllowLists } from '../../schemas/allow-lists.ts'
import { methodMatcher } from '../../schemas/protocols/method-patterns.ts'
import type { ClientAddresses } from '../gateway/client-address.ts'
import { IpNetworks, parseIpNetwork } from './ip-networks.ts'

/** The lists of a key as they are asked at every request; of a list that it has not, nothing. */
export interface AllowedUse {
  readonly origins?: ReadonlySet<string>
  readonly networks?: IpNetworks
  /** Of JSON-RPC by its method, of native calls by verb and path. */
  readonly isMethod?: (name: string) => boolean
  /** Lower case. */
  readonly contracts?: ReadonlySet<string>
}

/** What a key is not for: a word for programs, and what was meant. */
export interface NotAllowed {
  readonly what: 'origin' | 'address' | 'contract'
  readonly named: string
}

const MADE = new WeakMap<AllowLists, AllowedUse>()
const EVERYTHING: AllowedUse = {}

/** Made once for each key that has lists. */
export function allowedUseOf(allow: AllowLists | undefined): AllowedUse {
  if (allow === undefined) return EVERYTHING
  let made = MADE.get(allow)
  if (made === undefined) {
    const { origins, ips, methods, contracts } = allow
    made = {
      ...(origins === undefined ? {} : { origins: new Set(origins) }),
      // What is no address here allows nothing.
      ...(ips === undefined
        ? {}
        : { networks: new IpNetworks(ips.filter((one) => parseIpNetwork(one) !== undefined)) }),
      ...(methods === undefined ? {} : { isMethod: methodMatcher(methods) }),
      ...(contracts === undefined ? {} : { contracts: new Set(contracts) }),
    }
    MADE.set(allow, made)
  }
  return made
}

/** What of the request's client the key is not for; undefined where it is. A request that names no origin is of none. */
export function foreignClient(
  allow: AllowLists | undefined,
  request: Pick<IncomingMessage, 'socket' | 'headers'>,
  addresses: ClientAddresses,
): NotAllowed | undefined {
  const { origins, networks } = allowedUseOf(allow)
  if (origins !== undefined) {
    const { origin } = request.headers
    if (origin === undefined || !origins.has(origin)) return { what: 'origin', named: origin ?? 'none' }
  }
  if (networks !== undefined) {
    const address = addresses.of(request)
    if (!networks.has(address)) return { what: 'address', named: address }
  }
  return undefined
}

/** Clients' own text may be long: the beginning of it is told. */
const SHOWN_MAX = 128
const WORDS: Readonly<Record<NotAllowed['what'], string>> = {
  origin: 'Origin not allowed',
  address: 'Address not allowed',
  contract: 'Contract not allowed',
}

export function notAllowedWords({ what, named }: NotAllowed): string {
  return `${WORDS[what]}: ${named.slice(0, SHOWN_MAX)}`
}
