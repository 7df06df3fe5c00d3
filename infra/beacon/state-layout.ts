import { ssz } from '@lodestar/types'
import { TRANSITION_FORKS } from '../../schemas/eth/transition/fork-rules.ts'

// The beginning of a serialized state has its fields of fixed length, and where those of variable length lie.

export const OFFSET_BYTES = 4
/** A record of the registry (consensus-specs, phase0 Validator). */
export const VALIDATOR_BYTES = 121

/** Forks whose states are laid out here. */
export const STATE_FORKS = [...TRANSITION_FORKS, 'gloas'] as const
export type StateFork = (typeof STATE_FORKS)[number]

/** The fixed part of a fork's states, in the preset of this process. */
export interface StateLayout {
  readonly bytes: number
  /** Where a field begins, or the offset of one of variable length. */
  readonly at: ReadonlyMap<string, number>
  /** Fields of variable length in their order: one ends where the next begins. */
  readonly variable: readonly string[]
}

function layoutOf(fork: StateFork): StateLayout {
  const at = new Map<string, number>()
  const variable: string[] = []
  let bytes = 0
  const fields: Readonly<Record<string, { readonly fixedSize: number | null }>> = ssz[fork].BeaconState.fields
  for (const [name, { fixedSize }] of Object.entries(fields)) {
    at.set(name, bytes)
    if (fixedSize === null) variable.push(name)
    bytes += fixedSize ?? OFFSET_BYTES
  }
  return { bytes, at, variable }
}

/** By fork. */
export const STATE_LAYOUTS: ReadonlyMap<string, StateLayout> = new Map(
  STATE_FORKS.map((fork) => [fork, layoutOf(fork)]),
)

/** The layout of a fork whose states are known here. */
export function stateLayout(fork: StateFork): StateLayout {
  const layout = STATE_LAYOUTS.get(fork)
  if (layout === undefined) throw new Error(`no layout of the fork ${fork}`)
  return layout
}

/** Where a field stands in the fixed part. */
export function fieldAt({ at }: StateLayout, name: string): number {
  const found = at.get(name)
  if (found === undefined) throw new Error(`states have no field ${name}`)
  return found
}
