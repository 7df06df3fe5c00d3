import type { BeaconChain } from '../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../infra/ports/execution-source.ts'
import { AppError } from '../schemas/errors.ts'

/** Public networks whose name says which chain is meant, with their deposit chain ids (eth-clients). */
const PUBLIC_NETWORKS: ReadonlyMap<string, number> = new Map([
  ['mainnet', 1],
  ['sepolia', 11_155_111],
  ['holesky', 17_000],
  ['hoodi', 560_048],
  ['gnosis', 100],
  ['chiado', 10_200],
])

/**
 * Throws AppError `config` when a chain has the name of a public network and its beacon node is on another one. Private networks
 * may go by any name.
 */
export function refuseOtherNetwork(name: string, { spec, depositChainId }: BeaconChain): void {
  if (!PUBLIC_NETWORKS.has(name)) return
  const { CONFIG_NAME: told } = spec
  const byId = [...PUBLIC_NETWORKS].find(([, chainId]) => chainId === depositChainId)?.[0]
  const actual = told !== undefined && PUBLIC_NETWORKS.has(told) ? told : byId
  if (actual === undefined || actual === name) return
  throw new AppError(
    'config',
    `the beacon node of ${name} is on ${actual}: give ${name} a node of its own, or call the chain ${actual} (EPOCHLINE_NETWORK=${actual})`,
  )
}

/** Throws AppError `config` when the execution node is on another chain than the beacon node's deposits are made on. */
export async function refuseOtherExecution(
  name: string,
  { depositChainId }: BeaconChain,
  execution: ExecutionSource,
): Promise<void> {
  const chainId = await execution.chainId()
  if (chainId === depositChainId) return
  throw new AppError(
    'config',
    `the execution node of ${name} is on chain ${chainId} (eth_chainId), its beacon node on chain ${depositChainId} ` +
      '(DEPOSIT_CHAIN_ID): they must be nodes of one network',
  )
}
