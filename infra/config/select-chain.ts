import { AppError } from '../../schemas/errors.ts'
import type { ChainConfig, Config } from './types.ts'

type Chains = Pick<Config, 'chains'>

/** Whether a chain has a beacon chain, or is followed by its execution nodes alone. */
export type ChainKind = 'beacon' | 'execution'

export function chainKind({ source }: ChainConfig): ChainKind {
  if (source.kind === 'devnet') return source.layer === 'ethereum' ? 'beacon' : 'execution'
  return source.kind
}

export function hasBeacon(chain: ChainConfig): boolean {
  return chainKind(chain) === 'beacon'
}

/** The chain of the API's paths `/{protocol}/{network}/…`. */
export function chainByPath({ chains }: Chains, protocol: string, network: string): ChainConfig | undefined {
  return chains.find(({ names }) => names.protocol === protocol && names.network === network)
}

export function chainByName({ chains }: Chains, name: string): ChainConfig | undefined {
  return chains.find(({ names }) => names.name === name)
}

/**
 * The chain that a command works on: the one of this name, or without a name the only one of the kind. Throws AppError
 * `usage` that names the choices when there is none, or more than one.
 */
export function selectChain(config: Chains, name: string | undefined, kind?: ChainKind): ChainConfig {
  const fitting = config.chains.filter((chain) => kind === undefined || chainKind(chain) === kind)
  const choices = fitting.map((chain) => chain.names.name).join(', ')
  const what =
    kind === undefined ? 'chain' : kind === 'beacon' ? 'chain with a beacon chain' : 'chain without a beacon chain'
  if (fitting.length === 0) throw new AppError('usage', `No ${what} is configured.`)
  if (name !== undefined) {
    const chain = fitting.find(({ names }) => names.name === name)
    if (chain !== undefined) return chain
    throw new AppError('usage', `${JSON.stringify(name)} is not the name of a configured ${what}; there is ${choices}.`)
  }
  const [only, ...others] = fitting
  if (only !== undefined && others.length === 0) return only
  throw new AppError('usage', `More than one ${what} is configured: name one of ${choices} by --chain.`)
}
