import { ssz } from '@lodestar/types'
import type { TransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import { rootOfFields } from './state-root.ts'

// A state behind empty slots is named by no block: its last block names what it was before these. What they have written follows from the
// state an epoch earlier, so that root can be told once both are known.

const ROOT_BYTES = 32
/** Where `BeaconBlockHeader` has its state root (consensus-specs, phase0). */
const HEADER_STATE_ROOT_AT = 48

/** What of a state tells the root that it had before the empty slots at its end. */
export interface AnchorParts {
  /** Roots of its fields in their order, 32 bytes each. */
  readonly fieldRoots: Uint8Array
  /** `latest_block_header`, serialized. */
  readonly latestBlockHeader: Uint8Array
}

/** What of a state the root of the one an epoch later may need: roots by slot modulo SLOTS_PER_HISTORICAL_ROOT, 32 bytes each. */
export interface EarlierRoots {
  readonly slot: number
  readonly blockRoots: Uint8Array
  readonly stateRoots: Uint8Array
}

export interface EmptyEnd extends EarlierRoots {
  readonly fork: TransitionFork
  readonly anchor: AnchorParts
}

/**
 * Whether a state that ends with empty slots is, without these, the one that its last block names; undefined where that cannot be told, as behind slots
 * that are empty for longer than the states are apart. `before` is of the same branch.
 */
export function isNamedBefore(state: EmptyEnd, before: EarlierRoots): boolean | undefined {
  const { fork, anchor } = state
  const header = ssz.phase0.BeaconBlockHeader.deserialize(anchor.latestBlockHeader)
  if (header.slot <= before.slot) return undefined
  const root = rootOfFields(fork, anchor.fieldRoots, fieldsBack(state, before, header.slot))
  return Buffer.compare(root, header.stateRoot) === 0
}

/**
 * What empty slots have changed in a state, as it was after the block of slot `from` (consensus-specs, process_slot): the roots that each of
 * them has written are those of long before again, which the state before the epoch still has.
 */
function fieldsBack(state: EmptyEnd, before: EarlierRoots, from: number): ReadonlyMap<string, Uint8Array> {
  const slot = new Uint8Array(8)
  new DataView(slot.buffer).setBigUint64(0, BigInt(from), true)
  const latestBlockHeader = state.anchor.latestBlockHeader.slice()
  latestBlockHeader.fill(0, HEADER_STATE_ROOT_AT, HEADER_STATE_ROOT_AT + ROOT_BYTES)
  const rootsBack = (name: 'blockRoots' | 'stateRoots') => {
    const [roots, earlier] = [state[name].slice(), before[name]]
    for (let written = from; written < state.slot; written++) {
      const at = (written * ROOT_BYTES) % roots.length
      roots.set(earlier.subarray(at, at + ROOT_BYTES), at)
    }
    return roots
  }
  const [blockRoots, stateRoots] = [rootsBack('blockRoots'), rootsBack('stateRoots')]
  return new Map(Object.entries({ slot, latestBlockHeader, blockRoots, stateRoots }))
}
