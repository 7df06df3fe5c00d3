import { chainNames } from '../chains.ts'
import { APTOS } from './aptos.ts'
import { AVAX } from './avax.ts'
import { BITCOIN_ROWS } from './bitcoin.ts'
import { COSMOS } from './cosmos.ts'
import { EOS } from './eos.ts'
import { ETHEREUM2 } from './ethereum2.ts'
import { EVM_ROWS } from './evm.ts'
import { FILECOIN } from './filecoin.ts'
import { IPFS } from './ipfs.ts'
import { NEAR } from './near.ts'
import type { Network, Protocol } from './protocol.ts'
import { SOLANA } from './solana.ts'
import { STARKNET } from './starknet.ts'
import { SUBSTRATE_ROWS } from './substrate.ts'
import { SUI } from './sui.ts'
import { TON } from './ton.ts'
import { TRON } from './tron.ts'
import { XRP } from './xrp.ts'

/** All that the gateway serves, in the order of specification 4.4. */
export const PROTOCOLS: readonly Protocol[] = [
  EVM_ROWS.ethereum,
  SOLANA,
  TON,
  EVM_ROWS.bsc,
  EVM_ROWS.polygon,
  TRON,
  ETHEREUM2,
  SUBSTRATE_ROWS.polkadot,
  FILECOIN,
  IPFS,
  BITCOIN_ROWS.bitcoin,
  BITCOIN_ROWS.litecoin,
  NEAR,
  EVM_ROWS.etc,
  BITCOIN_ROWS.bch,
  SUBSTRATE_ROWS.kusama,
  BITCOIN_ROWS.bsv,
  EOS,
  EVM_ROWS.fantom,
  APTOS,
  SUI,
  AVAX,
  EVM_ROWS.arbitrum,
  BITCOIN_ROWS.omni,
  COSMOS,
  BITCOIN_ROWS.dogecoin,
  EVM_ROWS.optimism,
  XRP,
  BITCOIN_ROWS.dash,
  BITCOIN_ROWS.zcash,
  EVM_ROWS.base,
  EVM_ROWS.scroll,
  BITCOIN_ROWS.qtum,
  STARKNET,
  EVM_ROWS.blast,
  EVM_ROWS.worldchain,
]

const BY_NAME: ReadonlyMap<string, Protocol> = new Map(PROTOCOLS.map((protocol) => [protocol.name, protocol]))

export function protocolOf(name: string): Protocol | undefined {
  return BY_NAME.get(name)
}

/** Undefined where the protocol has no network of this name: `constructor` is none. */
export function networkOf({ networks }: Protocol, name: string): Network | undefined {
  return Object.hasOwn(networks, name) ? networks[name] : undefined
}

/** What else a network is called; made once, for every call asks. */
export interface Place {
  /** Protocol and network with a slash between them. */
  readonly name: string
  /** As tokens and tables name it. */
  readonly chain: string
}

const PLACES: ReadonlyMap<Protocol, ReadonlyMap<string, Place>> = new Map(
  PROTOCOLS.map((protocol) => {
    const places = Object.keys(protocol.networks).map((network): [string, Place] => {
      const { name: chain } = chainNames(protocol.name, network)
      return [network, { name: `${protocol.name}/${network}`, chain }]
    })
    return [protocol, new Map(places)]
  }),
)

/** Undefined where the protocol has no network of this name. */
export function placeOf(protocol: Protocol, network: string): Place | undefined {
  return PLACES.get(protocol)?.get(network)
}

/** What upstreams of the service answer to its identity probe; undefined where it is not known. */
export function identityOf({ identity }: Network, serviceName: string): string | undefined {
  return typeof identity === 'object' ? identity[serviceName] : identity
}
