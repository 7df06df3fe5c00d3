/** Letters and digits of a chain's name: what stands in event keys, sort keys, metrics and file names. */
export const CHAIN_NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,62}$'

/** The names that one chain goes by. */
export interface ChainNames {
  /** In event keys, tables, cursors and metrics: `mainnet`, `scroll_mainnet`. */
  readonly name: string
  /** First segment of the API's paths: `ethereum`, `scroll`. */
  readonly protocol: string
  /** Second segment of the API's paths: `mainnet`. */
  readonly network: string
  /** In the paths of the NFT API: `eth_mainnet`, `scroll_mainnet`. */
  readonly nftName: string
}

const ETHEREUM = 'ethereum'

/**
 * The names of a chain by its place in the API's paths. Networks of Ethereum go by their own name, every other chain by
 * protocol and network.
 */
export function chainNames(protocol: string, network: string): ChainNames {
  if (protocol === ETHEREUM) return { name: network, protocol, network, nftName: `eth_${network}` }
  const name = `${protocol}_${network}`
  return { name, protocol, network, nftName: name }
}

/** What separates the chain from the rest of an event's key; no chain has it in its name. */
const KEY_SEPARATOR = ':'

/** Ordering key of an event of a chain: the chain alone, or the chain and what within it has to keep its order. */
export function chainKey(chain: string, part?: string | number): string {
  return part === undefined ? chain : `${chain}${KEY_SEPARATOR}${part}`
}

/** The chain that a key of `chainKey` begins with. */
export function chainOfKey(key: string): string {
  const end = key.indexOf(KEY_SEPARATOR)
  return end === -1 ? key : key.slice(0, end)
}
