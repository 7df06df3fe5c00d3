import { isDeepStrictEqual } from 'node:util'
import { gatewayName } from './gateway.ts'
import type { ChainConfig, Config, GatewayHostConfig, GatewayNetworkConfig } from './types.ts'

/** What is taken over while the program runs. */
export type LiveSettings = Pick<Config, 'chains' | 'gateway'>

/** What has to be done to get from one set of named settings to another. */
export interface NamedDiff<Setting> {
  readonly added: readonly Setting[]
  readonly removed: readonly Setting[]
  /** The same name with other settings. */
  readonly changed: readonly { readonly before: Setting; readonly after: Setting }[]
}

export interface ConfigDiff {
  readonly chains: NamedDiff<ChainConfig>
  /** Networks that the gateway has upstreams of. */
  readonly gateway: NamedDiff<GatewayNetworkConfig>
  /** Host names that stand for networks. */
  readonly hosts: NamedDiff<GatewayHostConfig>
}

export const hostName = ({ name }: GatewayHostConfig): string => name

export const chainName = ({ names }: ChainConfig): string => names.name

export function diffConfig(before: LiveSettings, after: LiveSettings): ConfigDiff {
  return {
    chains: diffNamed(before.chains, after.chains, chainName),
    gateway: diffNamed(before.gateway.networks, after.gateway.networks, gatewayName),
    hosts: diffNamed(before.gateway.hosts, after.gateway.hosts, hostName),
  }
}

/** Compares by name; the order means nothing. */
function diffNamed<Setting>(
  before: readonly Setting[],
  after: readonly Setting[],
  nameOf: (setting: Setting) => string,
): NamedDiff<Setting> {
  const old = new Map(before.map((setting) => [nameOf(setting), setting]))
  const names = new Set(after.map(nameOf))
  return {
    added: after.filter((setting) => !old.has(nameOf(setting))),
    removed: before.filter((setting) => !names.has(nameOf(setting))),
    changed: after.flatMap((setting) => {
      const earlier = old.get(nameOf(setting))
      return earlier === undefined || isDeepStrictEqual(earlier, setting) ? [] : [{ before: earlier, after: setting }]
    }),
  }
}

export function isEmptyDiff({ added, removed, changed }: NamedDiff<unknown>): boolean {
  return added.length === 0 && removed.length === 0 && changed.length === 0
}
