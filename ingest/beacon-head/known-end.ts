import type { BeaconChain, BeaconSource, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { saysUnknown, type UnknownFork, unknownFork } from '../../schemas/eth/unknown-fork.ts'
import type { BlockRef } from '../head/head-chain.ts'

/** Blocks behind the end whose way back to it is remembered: more than are not final at any time but in long outages. */
const PASSED_MAX = 1_024

export interface KnownEndOptions {
  readonly beacon: Pick<BeaconSource, 'headerByRoot' | 'finalChain'>
  readonly chain: string
  readonly log: Log
}

/**
 * Where a chain is followed to that comes to a fork which is not known here: the newest block before it. Later blocks are passed by their
 * headers, which are the same in every fork.
 */
export class KnownEnd {
  readonly #options: KnownEndOptions
  readonly #fork: UnknownFork
  /** Of the fork. */
  readonly #firstSlot: number
  readonly #endOf = new Map<string, BlockRef>()
  #final: BlockRef | undefined
  #isTold = false

  /** Undefined where no such fork is planned. */
  static of(options: KnownEndOptions, chain: BeaconChain): KnownEnd | undefined {
    const fork = unknownFork(chain.spec)
    return fork && new KnownEnd(options, fork, firstSlotOfEpoch(chain.clock, fork.epoch))
  }

  /** Whether it is this fork, as it is planned now, that ends what can be followed. */
  isOf(chain: BeaconChain): boolean {
    const fork = unknownFork(chain.spec)
    return fork?.name === this.#fork.name && fork.epoch === this.#fork.epoch
  }

  private constructor(options: KnownEndOptions, fork: UnknownFork, firstSlot: number) {
    this.#options = options
    this.#fork = fork
    this.#firstSlot = firstSlot
  }

  /** The newest block before the fork on the branch of a head; the head itself where it lies before it. */
  async upTo(head: BlockRef): Promise<BlockRef> {
    if (head.height < this.#firstSlot) return head
    this.#tell()
    if (this.#final !== undefined) return this.#final
    const passed: string[] = []
    let id = head.id
    let end = this.#endOf.get(id)
    while (end === undefined) {
      const { slot, parentRoot } = await this.#options.beacon.headerByRoot(id)
      if (slot < this.#firstSlot) end = { height: slot, id }
      else {
        passed.push(id)
        id = parentRoot
        end = this.#endOf.get(id)
      }
    }
    for (const one of passed.reverse()) this.#remember(one, end)
    return end
  }

  /** The newest block before the fork, once that is final; undefined before. */
  async final(checkpoint: FinalizedCheckpoint, finalSlot: number): Promise<BlockRef | undefined> {
    if (finalSlot < this.#firstSlot) return undefined
    const chain = this.#options.beacon.finalChain(checkpoint)
    for (let height = this.#firstSlot - 1; this.#final === undefined && height >= 0; height--) {
      const id = await chain.rootAt(height)
      if (id !== undefined) this.#final = { height, id }
    }
    return this.#final
  }

  #remember(id: string, end: BlockRef): void {
    this.#endOf.set(id, end)
    const [oldest] = this.#endOf.keys()
    if (this.#endOf.size > PASSED_MAX && oldest !== undefined) this.#endOf.delete(oldest)
  }

  #tell(): void {
    if (this.#isTold) return
    this.#isTold = true
    const { chain, log } = this.#options
    log.error({ chain }, `blocks of ${chain} are followed no further: ${saysUnknown(this.#fork)}`)
  }
}
