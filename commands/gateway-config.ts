import { gatewayName } from '../infra/config/gateway.ts'
import type { Config, GatewayConfig, GatewayNetworkConfig } from '../infra/config/types.ts'
import type { DevnetUrls } from '../infra/devnet/child.ts'
import { GENESIS_VALIDATORS_ROOT } from '../infra/devnet/consensus/genesis-validators.ts'
import { DEVNET_CHAIN_ID, SECOND_CHAIN_ID } from '../infra/devnet/execution/genesis.ts'
import { networkOf, protocolOf } from '../schemas/protocols/protocols.ts'

const BEACON_PROTOCOL = 'ethereum2'

/**
 * What the gateway sends calls to: the devnet's chains, where there is a devnet, and what the file says, which for a
 * network takes the place of what the devnet has.
 */
export function gatewayConfigOf(
  { gateway, chains }: Pick<Config, 'gateway' | 'chains'>,
  devnet: DevnetUrls | undefined,
): GatewayConfig {
  const networks = configuredNetworks({ gateway, chains })
  if (devnet === undefined) return { ...gateway, networks }
  const inFile = new Set(networks.map(gatewayName))
  const own = devnetUpstreams(chains, devnet).networks.filter((network) => !inFile.has(gatewayName(network)))
  return { ...gateway, networks: [...own, ...networks] }
}

/** What the file says: nodes of an order follow the chain that the shared ones of their network do, unless it says another one. */
export function configuredNetworks({
  gateway,
  chains,
}: Pick<Config, 'gateway' | 'chains'>): readonly GatewayNetworkConfig[] {
  const shared = [...devnetNetworks(chains), ...gateway.networks.filter(({ order }) => order === undefined)]
  const identities = new Map(shared.map((network) => [gatewayName(network), network.identity]))
  return gateway.networks.map((network) => {
    const { order, ...place } = network
    const identity = identities.get(gatewayName(place))
    const isNamed = order === undefined || network.identity !== undefined || identity === undefined
    return isNamed ? network : { ...network, identity }
  })
}

/** Where one of the devnet's nodes stands in the gateway, and what it says that it follows. */
interface DevnetNetwork extends Pick<GatewayNetworkConfig, 'protocol' | 'network' | 'service'> {
  readonly identity: string
  readonly node: keyof DevnetUrls
}

/** The networks whose names the devnet's chains have; one that no protocol has is left out. */
function devnetNetworks(chains: Config['chains']): readonly DevnetNetwork[] {
  const networks = chains.flatMap(({ names: { protocol, network }, source }): readonly DevnetNetwork[] => {
    if (source.kind !== 'devnet') return []
    const place = { network, service: '' }
    if (source.layer === 'second')
      return [{ ...place, protocol, identity: toHex(SECOND_CHAIN_ID), node: 'secondExecutionUrl' }]
    return [
      { ...place, protocol, identity: toHex(DEVNET_CHAIN_ID), node: 'executionUrl' },
      { ...place, protocol: BEACON_PROTOCOL, identity: GENESIS_VALIDATORS_ROOT, node: 'beaconUrl' },
    ]
  })
  return networks.filter(isServed)
}

const toHex = (chainId: number): string => `0x${chainId.toString(16)}`

/** The devnet's nodes as upstreams of the networks whose names its chains have. */
export function devnetUpstreams(chains: Config['chains'], urls: DevnetUrls): Pick<GatewayConfig, 'networks'> {
  const networks = devnetNetworks(chains).flatMap(({ node, ...network }): readonly GatewayNetworkConfig[] => {
    const url = urls[node]
    return url === undefined ? [] : [{ ...network, upstreams: [devnetUpstream(node, url)] }]
  })
  return { networks }
}

function devnetUpstream(node: keyof DevnetUrls, url: string): GatewayNetworkConfig['upstreams'][number] {
  const upstream = { url, headers: {}, weight: 1 }
  // Its states are made again from what is kept, of whatever slot.
  if (node === 'beaconUrl') return { ...upstream, isArchive: true }
  return { ...upstream, wsUrl: url.replace(/^http/, 'ws'), isArchive: false }
}

function isServed({ protocol, network }: DevnetNetwork): boolean {
  const row = protocolOf(protocol)
  return row !== undefined && networkOf(row, network) !== undefined
}
