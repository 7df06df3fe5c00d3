import { chainKind, selectChain } from '../infra/config/select-chain.ts'
import type { ChainConfig, Config } from '../infra/config/types.ts'
import { AppError } from '../schemas/errors.ts'

/** The nodes of a chain with a beacon chain. */
export interface Nodes {
  readonly kind: 'nodes'
  readonly beaconUrls: readonly string[]
  readonly executionUrls: readonly string[]
}

/** The chain that commands work on as long as they know one: the first that has a beacon chain. */
export function firstChain({ chains }: Config): ChainConfig {
  const first = chains.find((chain) => chainKind(chain) === 'beacon')
  return first ?? selectChain({ chains }, undefined, 'beacon')
}

/** Its nodes to read from; for commands that do not bring a devnet along. */
export function nodesOf(config: Config): Nodes {
  const { source } = firstChain(config)
  if (source.kind === 'beacon') return { ...source, kind: 'nodes' }
  if (config.devnet === undefined) throw new AppError('usage', 'No chain with a beacon chain is configured.')
  const urlOf = (port: number): string => `http://127.0.0.1:${port}`
  return {
    kind: 'nodes',
    beaconUrls: [urlOf(config.devnet.beaconPort)],
    executionUrls: [urlOf(config.devnet.executionPort)],
  }
}
