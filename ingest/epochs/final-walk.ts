import type {
  BeaconBlock,
  BeaconSource,
  BlockHeader,
  FinalChain,
  FinalizedCheckpoint,
} from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { ToldCheckpoints } from './told-checkpoints.ts'

/** Epochs whose blocks are asked for by slot before the walk comes by: enough to keep a node's connections busy. */
const EPOCHS_HINTED_AHEAD = 2
/**
 * Epochs without a block that are believed, on either side of where a walk begins: no public network had as many in a row. A node
 * that has no block in more of them has none from so long ago.
 */
const EMPTY_EPOCHS_MAX = 8

/** The final blocks of an epoch. */
export interface FinalBlocks {
  readonly blocks: readonly BeaconBlock[]
  /** Root of the newest final block up to the epoch's last slot: what the epoch after it continues. */
  readonly endRoot: string
}

export interface FinalWalkOptions {
  readonly beacon: Pick<BeaconSource, 'blockByRoot' | 'headerByRoot'>
  readonly final: FinalChain
  readonly clock: ChainClock
  readonly checkpoint: FinalizedCheckpoint
  readonly told: ToldCheckpoints
  /** Epochs that are walked over, both before the checkpoint's. */
  readonly from: number
  readonly to: number
  /** From this slot on blocks are of a fork that is not known here: the walk passes them by their headers, and ends before. */
  readonly unknownFromSlot?: number | undefined
  /** The block that the first epoch is expected to continue: spares a question when it does. */
  readonly after?: string | undefined
}

/**
 * The final blocks of a stretch of epochs: what the walk back by parent roots reaches from the checkpoint's root, and nothing
 * else. The blocks are asked for by slot ahead of the walk, which takes those that it comes by; what is not among them it asks for
 * by root. A stretch that ends far before the checkpoint is walked from the block after it: that one is known by its slot
 * only, from a node that holds the checkpoint's block as final.
 */
export class FinalWalk {
  readonly #options: FinalWalkOptions
  readonly #found = new Map<number, PromiseWithResolvers<FinalBlocks>>()
  readonly #hints = new Map<number, Promise<ReadonlyMap<string, BeaconBlock>>>()

  constructor(options: FinalWalkOptions, signal: AbortSignal) {
    this.#options = options
    for (let epoch = options.from; epoch <= options.to; epoch++) {
      const found = Promise.withResolvers<FinalBlocks>()
      found.promise.catch(() => {}) // thrown when the epoch's turn comes
      this.#found.set(epoch, found)
    }
    this.#run(signal).catch((error: unknown) => {
      for (const { reject } of this.#found.values()) reject(error)
    })
  }

  /** Throws AppErrors of node faults. */
  blocksOf(epoch: number): Promise<FinalBlocks> {
    const found = this.#found.get(epoch)
    if (found === undefined) throw new Error(`epoch ${epoch} is not walked over`)
    return found.promise
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { from, to, clock, checkpoint, told } = this.#options
    let { root: next, childSlot: child } = await this.#passUnknown(await this.#begin(to, signal), signal)
    for (let epoch = to; epoch >= from; epoch--) {
      signal.throwIfAborted()
      const blocks: BeaconBlock[] = []
      let endRoot = next
      for (;;) {
        const block = await this.#block(next, epoch)
        if (block !== undefined) told.check(clock, checkpoint, block, child)
        if (block === undefined || block.slot < Math.max(1, firstSlotOfEpoch(clock, epoch))) break
        if (block.slot >= child) throw notBefore(block, child)
        child = block.slot
        next = block.parentRoot
        if (block.slot > lastSlotOfEpoch(clock, epoch)) endRoot = next
        else blocks.unshift(block)
      }
      this.#found.get(epoch)?.resolve({ blocks, endRoot })
      this.#hints.delete(epoch + 1)
    }
  }

  /** The newest block of a known fork that is an ancestor of this one, or itself. */
  async #passUnknown(begin: WalkPoint, signal: AbortSignal): Promise<WalkPoint> {
    const { beacon, clock, checkpoint, told, unknownFromSlot = Number.POSITIVE_INFINITY } = this.#options
    let { root, childSlot } = begin
    while (childSlot > unknownFromSlot) {
      signal.throwIfAborted()
      const header = await beacon.headerByRoot(root)
      if (header.slot < unknownFromSlot) break
      if (header.slot >= childSlot) throw notBefore(header, childSlot)
      told.check(clock, checkpoint, header, childSlot)
      childSlot = header.slot
      root = header.parentRoot
    }
    return { root, childSlot }
  }

  /** The block that the walk comes by; undefined where it is known to lie before the walk's last epoch, or to be the genesis. */
  async #block(root: string, epoch: number): Promise<BeaconBlock | undefined> {
    const { beacon, from, after } = this.#options
    for (let ahead = epoch; ahead >= Math.max(from, epoch - EPOCHS_HINTED_AHEAD); ahead--) this.#hintsOf(ahead)
    const hinted = (await this.#hintsOf(epoch)).get(root)
    if (hinted !== undefined) return hinted
    if (epoch > from) {
      const earlier = (await this.#hintsOf(epoch - 1)).get(root)
      if (earlier !== undefined) return earlier
    } else if (root === after) return undefined
    return epoch === 0 ? this.#blockUnlessGenesis(root) : beacon.blockByRoot(root)
  }

  /** Many nodes do not have the block of slot 0, which was never proposed. */
  async #blockUnlessGenesis(root: string): Promise<BeaconBlock | undefined> {
    try {
      return await this.#options.beacon.blockByRoot(root)
    } catch (error) {
      if (error instanceof AppError && error.code === 'node_lagging') return undefined
      throw error
    }
  }

  #hintsOf(epoch: number): Promise<ReadonlyMap<string, BeaconBlock>> {
    const known = this.#hints.get(epoch)
    if (known !== undefined) return known
    const asked = this.#askHints(epoch)
    asked.catch(() => {}) // awaited when the walk comes by
    this.#hints.set(epoch, asked)
    return asked
  }

  async #askHints(epoch: number): Promise<ReadonlyMap<string, BeaconBlock>> {
    const { final, clock } = this.#options
    const [first, last] = [firstSlotOfEpoch(clock, epoch), lastSlotOfEpoch(clock, epoch)]
    const slots = Array.from({ length: last - first + 1 }, (_, i) => first + i)
    const blocks = await Promise.all(slots.map((slot) => final.blockHint(slot)))
    return new Map(blocks.flatMap((block) => (block === undefined ? [] : [[block.root, block]])))
  }

  /** The block that the walk begins with, and the first slot that a child of it may have. */
  async #begin(to: number, signal: AbortSignal): Promise<WalkPoint> {
    const { final, clock, checkpoint } = this.#options
    const first = firstSlotOfEpoch(clock, to + 1)
    for (let slot = first; epochOf(clock, slot) < checkpoint.epoch; slot++) {
      signal.throwIfAborted()
      if (slot === firstSlotOfEpoch(clock, to + 1 + EMPTY_EPOCHS_MAX)) await this.#refuseNoHistory(first, slot, signal)
      const root = await final.rootAt(slot)
      if (root !== undefined) return { root, childSlot: slot + 1 }
    }
    return { root: checkpoint.root, childSlot: firstSlotOfEpoch(clock, checkpoint.epoch) + 1 }
  }

  /** Slots without a block may be empty where the node has blocks before them, and are not where it has none. */
  async #refuseNoHistory(first: number, end: number, signal: AbortSignal): Promise<void> {
    const { final, clock } = this.#options
    const earliest = Math.max(0, first - EMPTY_EPOCHS_MAX * clock.slotsPerEpoch)
    for (let slot = first - 1; slot >= earliest; slot--) {
      signal.throwIfAborted()
      if ((await final.rootAt(slot)) !== undefined) return
    }
    throw new AppError(
      'node_lagging',
      `the beacon node has no block from slot ${earliest} to ${end - 1}: it keeps none from so long ago, and the epochs before ${epochOf(clock, first)} ` +
        'need one that does',
      { retryable: true },
    )
  }
}

/** Where a walk is: a block, and the first slot that a child of it may have. */
interface WalkPoint {
  readonly root: string
  readonly childSlot: number
}

function notBefore({ root, slot }: BlockHeader, child: number): AppError {
  return new AppError('node_inconsistent', `block ${root} of slot ${slot} is the parent of one of slot ${child}`, {
    retryable: true,
  })
}
