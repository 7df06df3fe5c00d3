import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import { refuseUnsettled } from './answer-flags.ts'
import { askRoute, missing } from './route.ts'
import { BEACON } from './routes.ts'

/** Slots without a block that are asked for behind a checkpoint's block: mostly there is none, and an epoch's worth is rare. */
const EMPTY_SLOTS_MAX = 64

/**
 * Which nodes hold the block of a finalized checkpoint as final at its slot, and none in the slots behind it up to its epoch's
 * first. What such a node answers by slot or by epoch, up to there, is of the checkpoint's chain: a block has one chain of
 * ancestors. By slot, because not every node knows of a block asked for by root whether it is canonical.
 */
export class CheckpointHolders {
  readonly #root: string
  readonly #slotOf: (root: string) => Promise<number>
  /** First slot of the checkpoint's epoch. */
  readonly #lastSlot: () => Promise<number>
  #slot: Promise<number> | undefined
  readonly #checked = new Map<ChainNode, Promise<void>>()
  /** Those that were asked something since they were confirmed. */
  readonly #unconfirmed = new Set<ChainNode>()
  #confirming: Promise<unknown> = Promise.resolve()

  constructor(root: string, slotOf: (root: string) => Promise<number>, lastSlot: () => Promise<number>) {
    this.#root = root
    this.#slotOf = slotOf
    this.#lastSlot = lastSlot
  }

  /** The slot of the checkpoint's block. */
  slot(): Promise<number> {
    this.#slot ??= this.#slotOf(this.#root).catch((error: unknown) => {
      this.#slot = undefined
      throw error
    })
    return this.#slot
  }

  /** Resolves when the node holds the block, found out once; throws AppError of a node fault. */
  async check(node: ChainNode): Promise<void> {
    const known = this.#checked.get(node)
    const checking = known ?? this.#ask(node)
    if (known === undefined) {
      this.#checked.set(node, checking)
      checking.catch(() => this.#checked.delete(node))
    }
    await checking
    this.#unconfirmed.add(node)
  }

  /** Asks the nodes that were asked something since once more; callers at the same time share the outcome. */
  async confirm(): Promise<void> {
    const nodes = [...this.#unconfirmed]
    this.#unconfirmed.clear()
    const confirming = Promise.all([this.#confirming, ...nodes.map((node) => this.#again(node))])
    this.#confirming = confirming.catch(() => undefined)
    await confirming
  }

  async #again(node: ChainNode): Promise<void> {
    try {
      // All that it has answered would be lost by one connection that breaks.
      await this.#ask(node).catch((error: unknown) => {
        if (error instanceof AppError && error.retryable) return this.#ask(node)
        throw error
      })
    } catch (error) {
      this.#checked.delete(node)
      throw error
    }
  }

  async #ask(node: ChainNode): Promise<void> {
    const slot = await this.slot()
    const root = await askRootAt(node, slot)
    if (root === undefined) return missing(node, `the finalized block ${this.#root}`)
    if (root !== this.#root) throw otherFork(node, `the final block of slot ${slot} is ${this.#root}, it has ${root}`)
    const last = Math.min(await this.#lastSlot(), slot + EMPTY_SLOTS_MAX)
    for (let empty = slot + 1; empty <= last; empty++) {
      const what = `the root of the block of slot ${empty}`
      const other = await askRoute(node, BEACON.getBlockRoot, { blockId: empty }, { what })
      if (other !== undefined) throw otherFork(node, `the final chain has no block in slot ${empty}, it has one`)
    }
  }
}

function otherFork(node: ChainNode, why: string): AppError {
  return new AppError('node_inconsistent', `${node.name} is on another fork: ${why}`)
}

/** The root of a final block by its slot; undefined where the node has none. Throws AppError of a node fault. */
export async function askRootAt(node: ChainNode, slot: number): Promise<string | undefined> {
  const what = `the root of the block of slot ${slot}`
  const answer = await askRoute(node, BEACON.getBlockRoot, { blockId: slot }, { what })
  if (answer === undefined) return undefined
  refuseUnsettled(node, what, answer.flags)
  return hexOf(answer.data.root)
}
