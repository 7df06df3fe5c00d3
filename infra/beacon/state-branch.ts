import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ReadState, StatePlace } from './state-reader.ts'

const ROOT_BYTES = 32

/** Whether a later state is of a block's branch: it names, for a slot, the block of it or the last one before it. */
export function isOfBranch(
  later: Pick<ReadState, 'slot'> & { readonly blockRoots: Uint8Array },
  { slot, blockRoot }: StatePlace,
): boolean {
  const isNamed = later.slot > slot && (later.slot - slot) * ROOT_BYTES <= later.blockRoots.length
  return isNamed && rootAt(later.blockRoots, slot) === blockRoot
}

/** Throws AppError `node_inconsistent` unless the later state names, for the earlier one's slot, the block that the earlier one is of. */
export function refuseOtherBranch(earlier: ReadState, later: ReadState): void {
  const named = rootAt(later.columns.blockRoots, earlier.slot)
  if (named === earlier.blockRoot) return
  const why = `the states of slots ${earlier.slot} and ${later.slot} are of different branches: ${earlier.blockRoot} and ${named}`
  throw new AppError('node_inconsistent', why, { retryable: true })
}

/**
 * Whether a later state whose root is the chain's names the earlier one: it has the roots of states of the last slots, empty ones too
 * (consensus-specs, process_slot). One that was read anew behind an empty slot has nothing else to be known by. Throws AppError
 * `node_inconsistent` where the chain had another state there.
 */
export function isNamedBy(later: ReadState, earlier: ReadState): boolean {
  if ((later.slot - earlier.slot) * ROOT_BYTES > later.stateRoots.length) return false
  if (rootAt(later.stateRoots, earlier.slot) === earlier.stateRoot) return true
  const why = `a node told a state of slot ${earlier.slot} that the chain did not have`
  throw new AppError('node_inconsistent', why, { retryable: true })
}

/** Of a vector of roots by slot. */
function rootAt(roots: Uint8Array, slot: number): string {
  const at = (slot * ROOT_BYTES) % roots.length
  return hexOf(roots.subarray(at, at + ROOT_BYTES))
}
