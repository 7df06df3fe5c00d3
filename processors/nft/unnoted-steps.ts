import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { constantColumn, textColumn } from '../loop/rows.ts'
import type { BlockCounts } from './block-fold.ts'
import type { Place, Through } from './fold-place.ts'
import { type Block, NO_TRANSFERS } from './fold-step.ts'
import type { FoldedRows } from './folded-rows.ts'

/**
 * Steps of one fold that follow on each other, whose rows may not be in the tables yet. They are noted together, behind all of their rows, so
 * that what was interrupted is made again.
 */
export class UnnotedSteps {
  readonly #warehouse: Warehouse
  readonly #chain: string
  #start = 0
  #blocks: Block[] = []
  /** Through each of the blocks. */
  #throughs: Through[] = []
  /** Of the steps. */
  transfers = 0

  constructor(warehouse: Warehouse, chain: string) {
    this.#warehouse = warehouse
    this.#chain = chain
  }

  get blocks(): number {
    return this.#blocks.length
  }

  /** A step that begins at the fold's place. Returns through which block it is folded then. */
  add({ start, through }: Place, step: readonly Block[], counts: readonly BlockCounts[]): Through {
    this.#start = start
    let last = through
    for (const [i, block] of step.entries()) {
      const { transfers, singles } = counts[i] ?? NO_TRANSFERS
      const { number, hash } = block
      last = { number, hash, transfers: last.transfers + transfers, singles: last.singles + singles }
      this.#blocks.push(block)
      this.#throughs.push(last)
      this.transfers += transfers
    }
    return last
  }

  /** Writes what is left of their rows, then that their blocks are folded. Returns up to where; undefined where there is none. */
  async note(folded: FoldedRows | undefined): Promise<Place | undefined> {
    const [start, blocks, throughs] = [this.#start, this.#blocks, this.#throughs]
    const through = throughs.at(-1)
    if (through === undefined) return undefined
    this.#blocks = []
    this.#throughs = []
    this.transfers = 0
    await folded?.end({ chain: this.#chain, start })
    await this.#warehouse.insert('nft_blocks', {
      chain: textColumn(blocks.length, this.#chain),
      start: constantColumn(blocks.length, BigInt(start)),
      block_number: BigUint64Array.from(blocks, ({ number }) => BigInt(number)),
      block_hash: bytesColumnOf(blocks.map(({ hash }) => hash)),
      parent_hash: bytesColumnOf(blocks.map(({ parentHash }) => parentHash)),
      time: Uint32Array.from(blocks, ({ timeSec }) => timeSec),
      transfers: BigUint64Array.from(throughs, ({ transfers }) => BigInt(transfers)),
      singles: BigUint64Array.from(throughs, ({ singles }) => BigInt(singles)),
    })
    return { start, through }
  }
}

function bytesColumnOf(hashes: readonly string[]): Uint8Array {
  return new Uint8Array(Buffer.concat(hashes.map(bytesOf)))
}
