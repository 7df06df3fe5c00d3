import type { BeaconBlock } from '../ports/beacon-source.ts'

/** Blocks kept: finality is 64 to 95 slots behind the head, and both sides may be some epochs apart. About 5 MB. */
const BLOCKS_MAX = 1_024

/**
 * Decoded blocks by root, and for finalized slots the root of their block. The head follower reads a block first, the
 * finalized epochs read it again a quarter of an hour later: it is downloaded once.
 */
export class BlockCache {
  readonly #byRoot = new Map<string, BeaconBlock>()
  /** By slot what was read last: it may be of any fork. */
  readonly #rootBySlot = new Map<number, string>()
  /** The chain that the newest checkpoint has, as far as its blocks are here; null: the slot is known to be empty. */
  #finalRootBySlot = new Map<number, string | null>()

  get(root: string): BeaconBlock | undefined {
    return this.#byRoot.get(root)
  }

  put(block: BeaconBlock): void {
    this.#byRoot.set(block.root, block)
    dropOldest(this.#byRoot)
    this.#rootBySlot.set(block.slot, block.root)
    dropOldest(this.#rootBySlot)
  }

  /** The finalized block of a slot: null when the slot is empty, undefined when it is not known here. */
  atFinalSlot(slot: number): BeaconBlock | null | undefined {
    const root = this.#finalRootBySlot.get(slot)
    return typeof root === 'string' ? this.#byRoot.get(root) : root
  }

  /** The block of a slot that was read last, whatever chain it is of. */
  lastAt(slot: number): BeaconBlock | undefined {
    const root = this.#rootBySlot.get(slot)
    return root === undefined ? undefined : this.#byRoot.get(root)
  }

  /**
   * Follows parent roots from the finalized block through the blocks at hand: what it meets is final, what it skips is empty.
   * What earlier checkpoints had is kept as far as it is of the same chain.
   */
  markFinal(checkpointRoot: string): void {
    const found: (readonly [number, string | null])[] = []
    let kept = Number.NEGATIVE_INFINITY
    let child: BeaconBlock | undefined
    for (
      let block = this.#byRoot.get(checkpointRoot);
      block !== undefined;
      child = block, block = this.#byRoot.get(block.parentRoot)
    ) {
      for (let slot = (child?.slot ?? 0) - 1; slot > block.slot; slot--) found.push([slot, null])
      found.push([block.slot, block.root])
      if (this.#finalRootBySlot.get(block.slot) !== block.root) continue
      kept = block.slot
      break
    }
    const earlier = [...this.#finalRootBySlot].filter(([slot]) => slot < kept)
    this.#finalRootBySlot = new Map([...earlier, ...found.reverse()].slice(-BLOCKS_MAX))
  }
}

function dropOldest(map: Map<unknown, unknown>): void {
  if (map.size <= BLOCKS_MAX) return
  const [oldest] = map.keys()
  map.delete(oldest)
}
