import type { BeaconBlock } from '../ports/beacon-source.ts'

/** Blocks kept: finality is 64 to 95 slots behind the head, and both sides may be some epochs apart. About 5 MB. */
const BLOCKS_MAX = 1_024

/**
 * Decoded blocks by root, and for finalized slots the root of their block. The head follower reads a block first, the
 * finalized epochs read it again a quarter of an hour later: it is downloaded once.
 */
export class BlockCache {
  readonly #byRoot = new Map<string, BeaconBlock>()
  /** null: the slot is known to be empty. */
  readonly #finalRootBySlot = new Map<number, string | null>()

  get(root: string): BeaconBlock | undefined {
    return this.#byRoot.get(root)
  }

  put(block: BeaconBlock): void {
    this.#byRoot.set(block.root, block)
    dropOldest(this.#byRoot)
  }

  /** The finalized block of a slot: null when the slot is empty, undefined when it is not known here. */
  atFinalSlot(slot: number): BeaconBlock | null | undefined {
    const root = this.#finalRootBySlot.get(slot)
    return typeof root === 'string' ? this.#byRoot.get(root) : root
  }

  putFinal(block: BeaconBlock): void {
    this.put(block)
    this.#setFinal(block.slot, block.root)
  }

  /** Follows parent roots from the finalized block through the blocks at hand: what it meets is final, what it skips is empty. */
  markFinal(checkpointRoot: string): void {
    let child: BeaconBlock | undefined
    for (
      let block = this.#byRoot.get(checkpointRoot);
      block !== undefined;
      block = this.#byRoot.get(block.parentRoot)
    ) {
      for (let slot = block.slot + 1; child !== undefined && slot < child.slot; slot++) this.#setFinal(slot, null)
      if (this.#finalRootBySlot.get(block.slot) === block.root) return
      this.#setFinal(block.slot, block.root)
      child = block
    }
  }

  #setFinal(slot: number, root: string | null): void {
    this.#finalRootBySlot.set(slot, root)
    dropOldest(this.#finalRootBySlot)
  }
}

function dropOldest(map: Map<unknown, unknown>): void {
  if (map.size <= BLOCKS_MAX) return
  const [oldest] = map.keys()
  map.delete(oldest)
}
