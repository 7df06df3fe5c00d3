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
  if (devnet === undefined) return gateway
  const inFile = new Set(gateway.networks.map(gatewayName))
  const own = devnetUpstreams(chains, devnet).networks.filter((network) => !inFile.has(gatewayName(network)))
  return { ...gateway, networks: [...own, ...gateway.networks] }
}

/** The devnet's nodes as upstreams of the networks whose names its chains have; a network that no protocol has is left out. */
export function devnetUpstreams(chains: Config['chains'], urls: DevnetUrls): Pick<GatewayConfig, 'networks'> {
  const networks = chains.flatMap(({ names: { protocol, network }, source }): readonly GatewayNetworkConfig[] => {
    if (source.kind !== 'devnet') return []
    const { beaconUrl, executionUrl, secondExecutionUrl } = urls
    if (source.layer === 'second')
      return secondExecutionUrl === undefined
        ? []
        : [executionUpstream({ protocol, network, chainId: SECOND_CHAIN_ID, url: secondExecutionUrl })]
    return [
      executionUpstream({ protocol, network, chainId: DEVNET_CHAIN_ID, url: executionUrl }),
      beaconUpstream(network, beaconUrl),
    ]
  })
  return { networks: networks.filter(isServed) }
}

function executionUpstream({
  protocol,
  network,
  chainId,
  url,
}: {
  readonly protocol: string
  readonly network: string
  readonly chainId: number
  readonly url: string
}): GatewayNetworkConfig {
  const upstream = { url, wsUrl: url.replace(/^http/, 'ws'), headers: {}, isArchive: false, weight: 1 }
  return { protocol, network, service: '', identity: `0x${chainId.toString(16)}`, upstreams: [upstream] }
}

/** Its states are made again from what is kept, of whatever slot. */
function beaconUpstream(network: string, url: string): GatewayNetworkConfig {
  const upstream = { url, headers: {}, isArchive: true, weight: 1 }
  return {
    ...{ protocol: BEACON_PROTOCOL, network, service: '', identity: GENESIS_VALIDATORS_ROOT },
    upstreams: [upstream],
  }
}

function isServed({ protocol, network }: GatewayNetworkConfig): boolean {
  const row = protocolOf(protocol)
  return row !== undefined && networkOf(row, network) !== undefined
}
