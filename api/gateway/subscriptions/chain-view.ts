/** What ties a block to its chain. */
export interface BlockRef {
  readonly hash: string
  readonly number: number
  readonly parentHash: string
}

/** A block that was told. */
export interface KnownBlock extends BlockRef {
  /** In what order they became known. */
  readonly turn: number
  /** When it did, as `performance.now()`. */
  readonly knownMs: number
}

/** Blocks that may be missing between what was told and what is told next. */
export const REPLAYED_BLOCKS_MAX = 128
/** As many again may have been told of a branch that is left. */
const KEPT_BLOCKS = 2 * REPLAYED_BLOCKS_MAX

/** The chain as its subscribers have been told it: linked blocks, the newest ones. */
export class ChainView {
  #blocks: KnownBlock[] = []
  #hashes = new Set<string>()
  #turn = 0

  get tip(): KnownBlock | undefined {
    return this.#blocks.at(-1)
  }

  get oldest(): KnownBlock | undefined {
    return this.#blocks[0]
  }

  /** Oldest first. */
  get blocks(): readonly KnownBlock[] {
    return this.#blocks
  }

  get turn(): number {
    return this.#turn
  }

  has(hash: string): boolean {
    return this.#hashes.has(hash)
  }

  /** With a block behind its parent: what was there instead is left. Where its parent is not known, nothing else is any more. */
  extend({ hash, number, parentHash }: BlockRef): void {
    while (this.tip !== undefined && this.tip.hash !== parentHash) this.#hashes.delete(this.#blocks.pop()?.hash ?? '')
    this.#blocks.push({ hash, number, parentHash, turn: ++this.#turn, knownMs: performance.now() })
    this.#hashes.add(hash)
    if (this.#blocks.length > KEPT_BLOCKS) this.#hashes.delete(this.#blocks.shift()?.hash ?? '')
  }

  clear(): void {
    this.#blocks = []
    this.#hashes.clear()
  }
}

/** The members of a block or a head; undefined: it is none. */
export function readBlock(json: unknown): BlockRef | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { hash, number, parentHash } = json as Readonly<Record<string, unknown>>
  if (typeof hash !== 'string' || typeof parentHash !== 'string' || typeof number !== 'string') return undefined
  return { hash, number: Number(number), parentHash }
}
