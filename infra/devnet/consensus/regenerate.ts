import type { BeaconConfig } from '@lodestar/config'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  type CachedBeaconStateFulu,
  createCachedBeaconState,
  type PubkeyCache,
  processSlots,
} from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { replayBlock } from './block.ts'
import type { BlockRecord, History, SlotRecord } from './history.ts'

/**
 * The whole state as of a slot of the canonical chain (which must exist): the tree kept for the epoch's first slot, and the blocks
 * since then applied again. Some 50 ms at the end of an epoch.
 */
export function stateAt(
  history: History,
  immutable: { readonly config: BeaconConfig; readonly pubkeyCache: PubkeyCache },
  slot: number,
): CachedBeaconStateFulu {
  const first = history.slot(slot)?.tree === undefined ? slot - (slot % SLOTS_PER_EPOCH) : slot
  const { tree } = history.slot(first) as SlotRecord
  if (tree === undefined) throw new Error(`no state is kept for slot ${first}`)
  const view = ssz.fulu.BeaconState.getViewDU(tree)
  let state = createCachedBeaconState(view, immutable, { skipSyncPubkeys: true }) as CachedBeaconStateFulu
  for (let s = first + 1; s <= slot; s++) state = replaySlot(state, s, history.block(s))
  return state
}

/** The state after a slot that the chain has played before, from the one before it. */
export function replaySlot(
  before: CachedBeaconStateFulu,
  slot: number,
  block: BlockRecord | undefined,
): CachedBeaconStateFulu {
  const state = processSlots(before, slot) as CachedBeaconStateFulu
  if (block !== undefined) replayBlock(state, block.bytes())
  return state
}
