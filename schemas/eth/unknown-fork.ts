import type { Spec } from './chain-spec.ts'
import { TRANSITION_FORKS } from './transition/fork-rules.ts'

const KNOWN_FORKS: ReadonlySet<string> = new Set(TRANSITION_FORKS)
const FORK_EPOCH = /^([A-Z0-9_]+)_FORK_EPOCH$/

/** A fork that is scheduled and not known here: nothing of its epochs is read. */
export interface UnknownFork {
  readonly name: string
  /** Its first epoch. */
  readonly epoch: number
}

/** The first of them by a node's `GET /eth/v1/config/spec`; undefined where none is planned. */
export function unknownFork(spec: Spec): UnknownFork | undefined {
  const planned = Object.entries(spec).flatMap(([key, text]): readonly UnknownFork[] => {
    const name = FORK_EPOCH.exec(key)?.[1]?.toLowerCase()
    if (name === undefined || KNOWN_FORKS.has(name) || !/^\d+$/.test(text)) return []
    // FAR_FUTURE_EPOCH is the plan of nobody.
    return BigInt(text) > Number.MAX_SAFE_INTEGER ? [] : [{ name, epoch: Number(text) }]
  })
  return planned.toSorted((one, other) => one.epoch - other.epoch || (one.name < other.name ? -1 : 1))[0]
}

/** "from epoch 500000 on the chain is of the fork gloas, which this version does not know" */
export function saysUnknown({ name, epoch }: UnknownFork): string {
  return `from epoch ${epoch} on the chain is of the fork ${name}, which this version does not know`
}
