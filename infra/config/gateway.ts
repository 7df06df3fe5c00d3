import { ORDER_ID_PATTERN } from '../../schemas/orders.ts'
import { hostPrefixOf } from '../../schemas/protocols/hosts.ts'
import type { Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { networkOf, PROTOCOLS, protocolOf } from '../../schemas/protocols/protocols.ts'
import { nearestName, type Path } from './mistakes.ts'
import { type FileGatewayNetwork, type FileSettings, isHostName } from './rules.ts'
import type { SettingReader } from './setting-reader.ts'
import type { GatewayConfig, GatewayHostConfig, GatewayNetworkConfig } from './types.ts'
import { readUpstream } from './upstream.ts'

/** One read in seven at most is sent twice, where it waits longer than nearly all. */
const HEDGE_DEFAULT = true
/** A read that joins another one may hear what a node knew before it was asked. */
const COALESCE_DEFAULT = false
const BYTES_PER_MEGABYTE = 1024 * 1024
const UPSTREAMS_EXAMPLE = 'upstreams: [{ url: http://127.0.0.1:8545 }]'

/** What the node-access gateway sends calls to, by protocol and network. */
export function readGateway(reader: SettingReader, { gateway }: FileSettings): GatewayConfig {
  const path = ['gateway', 'networks']
  const orders = Object.entries(gateway?.orders ?? {})
  return {
    networks: [
      ...readNetworks(reader, path, gateway?.networks ?? {}),
      ...orders.flatMap(([order, networks]) => readOrder(reader, order, networks)),
    ],
    hosts: readHosts(reader, gateway?.hosts ?? {}),
  }
}

/** Host names that stand for networks; of requests they are compared whatever their letters' case is. */
function readHosts(reader: SettingReader, inFile: Readonly<Record<string, string>>): readonly GatewayHostConfig[] {
  const hosts = new Map<string, GatewayHostConfig>()
  for (const [written, place] of Object.entries(inFile)) {
    const path = ['gateway', 'hosts', written]
    const name = written.toLowerCase()
    const wrong = hosts.has(name) ? 'is there twice, in other letters' : hostFault(written, place)
    if (wrong !== undefined) {
      reader.refuseAt(path, wrong)
      continue
    }
    const [protocol = '', network = ''] = place.split('/')
    hosts.set(name, { name, protocol, network })
    reader.show(path, place)
  }
  return [...hosts.values()]
}

/** The sentence that says why a host name cannot stand for a network; undefined where it can. */
function hostFault(name: string, place: string): string | undefined {
  if (!isHostName(name)) return 'is not a host name without a port; e.g. rpc.example.org'
  const [protocolName = '', network = '', ...more] = place.split('/')
  if (more.length === 0 && hostPrefixOf(protocolName, network) !== undefined) return undefined
  const protocol = protocolOf(protocolName)
  const isNetwork = protocol !== undefined && networkOf(protocol, network) !== undefined
  const found = isNetwork ? undefined : findService(place)
  if (typeof found === 'string') return found
  const named = PROTOCOLS.flatMap(({ name: one, networks }) =>
    Object.keys(networks).flatMap((of) => (hostPrefixOf(one, of) === undefined ? [] : [`${one}/${of}`])),
  )
  return `is for a network that has no host names; those of ${named.join(', ')} may have some`
}

/** `ethereum/mainnet`, `ton/mainnet/v2`: as the file says it; behind the id of the order that it is for. */
export function gatewayName({
  protocol,
  network,
  service,
  order,
}: Pick<GatewayNetworkConfig, 'protocol' | 'network' | 'service' | 'order'>): string {
  const place = [protocol, network, ...(service === '' ? [] : [service])].join('/')
  return order === undefined ? place : `${order} ${place}`
}

/** What an order's calls are sent to, and nobody else's. */
function readOrder(
  reader: SettingReader,
  order: string,
  networks: Readonly<Record<string, FileGatewayNetwork>>,
): readonly GatewayNetworkConfig[] {
  const path = ['gateway', 'orders', order]
  if (new RegExp(ORDER_ID_PATTERN).test(order))
    return readNetworks(reader, path, networks).map((network) => ({ ...network, order }))
  reader.refuseAt(path, 'is not the id of an order, as admin order list tells it; e.g. ord_0123456789abcdef')
  return []
}

function readNetworks(
  reader: SettingReader,
  path: Path,
  networks: Readonly<Record<string, FileGatewayNetwork>>,
): readonly GatewayNetworkConfig[] {
  return Object.entries(networks).flatMap(([name, network]) => readNetwork(reader, [...path, name], network) ?? [])
}

function readNetwork(
  reader: SettingReader,
  path: Path,
  { identity, hedge, coalesce, cache_mb: cacheMb, upstreams }: FileGatewayNetwork,
): GatewayNetworkConfig | undefined {
  const named = findService(String(path.at(-1)))
  if (typeof named === 'string') {
    reader.refuseAt(path, named)
    return undefined
  }
  const { protocol, network, service } = named
  if (identity !== undefined) checkIdentity(reader, [...path, 'identity'], identity, named)
  reader.show([...path, 'hedge'], hedge ?? HEDGE_DEFAULT, hedge === undefined ? 'default' : undefined)
  reader.show([...path, 'coalesce'], coalesce ?? COALESCE_DEFAULT, coalesce === undefined ? 'default' : undefined)
  if (cacheMb !== undefined) reader.show([...path, 'cache_mb'], cacheMb)
  if (upstreams === undefined) reader.refuseAt([...path, 'upstreams'], `is missing; e.g. ${UPSTREAMS_EXAMPLE}`)
  return {
    ...{ protocol: protocol.name, network, service: service.name },
    ...(identity === undefined ? {} : { identity }),
    hedge: hedge ?? HEDGE_DEFAULT,
    coalesce: coalesce ?? COALESCE_DEFAULT,
    ...(cacheMb === undefined ? {} : { keptBytes: cacheMb * BYTES_PER_MEGABYTE }),
    upstreams: (upstreams ?? []).map((upstream, index) =>
      readUpstream(reader, [...path, 'upstreams', index], { upstream, protocol }),
    ),
  }
}

interface NamedService {
  readonly protocol: Protocol
  readonly network: string
  readonly service: Service
}

/** What a name of the file stands for, or the sentence that says why it is none. */
function findService(name: string): NamedService | string {
  const [first = '', network = '', service = '', ...more] = name.split('/')
  const protocol = protocolOf(first)
  if (protocol === undefined) {
    const names = PROTOCOLS.map((one) => one.name)
    const meant = nearestName(first, names)
    return meant === undefined
      ? `is of no protocol that there is; write protocol/network, with one of ${names.join(', ')}`
      : `is of no protocol that there is; did you mean ${meant}?`
  }
  if (networkOf(protocol, network) === undefined) {
    const named = Object.keys(protocol.networks).map((one) => `${protocol.name}/${one}`)
    return `is no network of ${protocol.name}; write ${named.join(' or ')}`
  }
  const found = more.length > 0 ? undefined : protocol.services.find((one) => one.name === service)
  if (found !== undefined && gatewayName({ protocol: first, network, service }) === name)
    return { protocol, network, service: found }
  const named = protocol.services.map((one) => gatewayName({ protocol: first, network, service: one.name }))
  return `is not what upstreams of ${protocol.name} go by; write ${named.join(' or ')}`
}

/** What a text has to look like to be such an answer. */
const FORMS = {
  hex: { pattern: /^0x[0-9a-f]+$/i, words: '0x and hex digits', example: '"0x1"' },
  number: { pattern: /^-?\d+$/, words: 'a whole number', example: '"1"' },
} as const

function checkIdentity(reader: SettingReader, path: Path, identity: string, { protocol, service }: NamedService): void {
  if (service.identity === undefined) {
    reader.refuseAt(path, `is for protocols whose nodes say which chain they follow; those of ${protocol.name} do not`)
    return
  }
  const { as } = service.identity
  if (as === 'text' || FORMS[as].pattern.test(identity)) {
    reader.show(path, identity)
    return
  }
  const { words, example } = FORMS[as]
  reader.refuseAt(path, `is not ${words} in quotes, as nodes of ${protocol.name} answer; e.g. identity: ${example}`)
}
