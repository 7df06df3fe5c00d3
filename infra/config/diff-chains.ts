import { isDeepStrictEqual } from 'node:util'
import type { ChainConfig } from './types.ts'

/** What has to be done to get from one set of chains to another. */
export interface ChainDiff {
  readonly added: readonly ChainConfig[]
  readonly removed: readonly ChainConfig[]
  /** The same name with other nodes, another start, or paused or resumed. */
  readonly changed: readonly { readonly before: ChainConfig; readonly after: ChainConfig }[]
}

/** Compares by name; the order of the chains means nothing. */
export function diffChains(before: readonly ChainConfig[], after: readonly ChainConfig[]): ChainDiff {
  const old = new Map(before.map((chain) => [chain.names.name, chain]))
  const names = new Set(after.map((chain) => chain.names.name))
  return {
    added: after.filter((chain) => !old.has(chain.names.name)),
    removed: before.filter((chain) => !names.has(chain.names.name)),
    changed: after.flatMap((chain) => {
      const earlier = old.get(chain.names.name)
      return earlier === undefined || isDeepStrictEqual(earlier, chain) ? [] : [{ before: earlier, after: chain }]
    }),
  }
}

export function isEmptyDiff({ added, removed, changed }: ChainDiff): boolean {
  return added.length === 0 && removed.length === 0 && changed.length === 0
}
