import type { BeaconBlock, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, firstSlotOfEpoch } from '../../schemas/eth/time.ts'

type SlotAndRoot = Pick<BeaconBlock, 'slot' | 'root'>

/** Checkpoints remembered: those of the epochs that may still have to be read, and some before them. */
const REMEMBERED_MAX = 16

/**
 * The finalized checkpoints that nodes have told while this process runs. Two of one chain never contradict each other: where
 * two nodes tell of different chains, one of them is on another fork. The word of the earlier node in the configuration counts,
 * whether it can be asked at the moment or not: what only a later one says is not taken.
 */
export class ToldCheckpoints {
  readonly #told = new Map<number, FinalizedCheckpoint>()

  /**
   * Throws AppError `node_inconsistent` for another block than an earlier node has told, and `node_lagging` for one that lies before:
   * finality does not go back, and whether the two are of one chain cannot be seen from there.
   */
  note(checkpoint: FinalizedCheckpoint): void {
    const { epoch, toldBy } = checkpoint
    const newer = [...this.#told.values()].find((told) => told.toldBy < toldBy && told.epoch > epoch)
    if (newer !== undefined) {
      throw new AppError(
        'node_lagging',
        `beacon node ${toldBy + 1} calls epoch ${epoch} final, beacon node ${newer.toldBy + 1} has called ${newer.epoch} so, and may be on another ` +
          'fork: nothing is taken until it has got there',
        { retryable: true },
      )
    }
    this.#compare(this.#told.get(epoch), checkpoint, checkpoint.root)
    this.#told.delete(epoch)
    this.#told.set(epoch, checkpoint)
    const [oldest] = this.#told.keys()
    if (this.#told.size > REMEMBERED_MAX && oldest !== undefined) this.#told.delete(oldest)
  }

  /**
   * Makes sure that the chain of a checkpoint has the blocks that were told before: given is a block of it and the slot of its
   * child. Throws AppError `node_inconsistent`.
   */
  check(clock: ChainClock, checkpoint: FinalizedCheckpoint, block: SlotAndRoot, childSlot: number): void {
    for (const told of this.#told.values()) {
      const lastSlot = firstSlotOfEpoch(clock, told.epoch)
      if (block.slot <= lastSlot && lastSlot < childSlot) this.#compare(told, checkpoint, block.root)
    }
  }

  /** As `check`, of blocks of the checkpoint's chain that follow each other; oldest first. */
  checkAll(clock: ChainClock, checkpoint: FinalizedCheckpoint, blocks: readonly SlotAndRoot[]): void {
    blocks.forEach((block, i) => {
      const child = blocks[i + 1]
      if (child !== undefined) this.check(clock, checkpoint, block, child.slot)
    })
  }

  #compare(told: FinalizedCheckpoint | undefined, { toldBy }: FinalizedCheckpoint, root: string): void {
    if (told === undefined || told.root === root) return
    if (told.toldBy >= toldBy) {
      this.#told.delete(told.epoch)
      return
    }
    throw new AppError(
      'node_inconsistent',
      `beacon node ${toldBy + 1} is on another fork than beacon node ${told.toldBy + 1}: the final block at the beginning of ` +
        `epoch ${told.epoch} was ${told.root}, now it is ${root}; nothing is taken from it while both are configured`,
      { retryable: true },
    )
  }
}
