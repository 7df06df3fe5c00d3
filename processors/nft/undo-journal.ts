import type { Balance } from './balance.ts'

/** How much is kept of the newest blocks: where either is reached the oldest ones can be taken back no more. */
export interface JournalLimits {
  readonly blocks: number
  readonly bytes: number
}

/** Twice as deep as Ethereum's finality; 16 MiB hold so many blocks of some 400 transfers. */
export const JOURNAL_LIMITS: JournalLimits = { blocks: 128, bytes: 16 * 2 ** 20 }

/** Of a change: whose figure, by its place in the journal and its key, and what it was. */
const NUMBERS_PER_CHANGE = 2
const NUMBERS_AT_FIRST = 512
/** A place is above the 32 bits of a key. */
const PLACE = 2 ** 32
/** An integer of 257 bits with its place in a list; a wider one has a few more. */
const LARGE_BYTES = 64

/** Figures by the numbers of keys. */
interface Changing {
  set(key: number, before: Balance): void
}

interface BlockChanges {
  readonly number: number
  /** In their order, as above; NaN where what was is among the large ones. */
  readonly changes: Float64Array
  readonly large: readonly bigint[]
  readonly bytes: number
}

/** What figures were before the newest blocks: what these have changed is taken back exactly when they are reverted. */
export class UndoJournal {
  /** As they are before its first block. */
  limits = JOURNAL_LIMITS
  readonly #figures: Changing[] = []
  /** Blocks that have changed something, the oldest first. */
  #blocks: BlockChanges[] = []
  #bytes = 0
  /** Whatever blocks behind this one have changed is noted. */
  #since = 0

  /** Whether changes are those of a block. */
  isOpen = false
  /** Of the block at hand. */
  #number = 0
  #changes = new Float64Array(NUMBERS_AT_FIRST)
  #end = 0
  #large: bigint[] = []

  /** The place of figures that note their changes here. */
  enlist(figures: Changing): number {
    return this.#figures.push(figures) - 1
  }

  /** A block begins, of a step that ends with another one: nobody gets back from there to one that is too far before. */
  begin(number: number, last: number): void {
    this.#number = number
    this.isOpen = number > last - this.limits.blocks
    if (!this.isOpen) this.#forget()
  }

  /** A figure is about to change, which was `before`. */
  note(place: number, key: number, before: Balance): void {
    if (this.#end === this.#changes.length) {
      const changes = new Float64Array(this.#end * 2)
      changes.set(this.#changes)
      this.#changes = changes
    }
    this.#changes[this.#end++] = place * PLACE + key
    this.#changes[this.#end++] = typeof before === 'bigint' ? Number.NaN : before
    if (typeof before === 'bigint') this.#large.push(before)
    if (this.#bytesOfBlock() <= this.limits.bytes) return
    this.#close()
    this.#forget()
  }

  /** The block has ended. */
  end(): void {
    if (!this.isOpen) return
    const bytes = this.#bytesOfBlock()
    const changes = this.#changes.slice(0, this.#end)
    this.#blocks.push({ number: this.#number, changes, large: this.#large, bytes })
    this.#bytes += bytes
    this.#close()
    while (this.#blocks.length > this.limits.blocks || this.#bytes > this.limits.bytes) {
      const oldest = this.#blocks.shift() as BlockChanges
      this.#bytes -= oldest.bytes
      this.#since = oldest.number
    }
  }

  /** Takes back what the blocks behind one have changed. False where that is not known any more: nothing is taken back then. */
  undoTo(number: number): boolean {
    if (number < this.#since) return false
    while ((this.#blocks.at(-1)?.number ?? number) > number) {
      const newest = this.#blocks.pop() as BlockChanges
      this.#undo(newest)
      this.#bytes -= newest.bytes
    }
    return true
  }

  #undo({ changes, large }: BlockChanges): void {
    let rest = large.length
    for (let at = changes.length - NUMBERS_PER_CHANGE; at >= 0; at -= NUMBERS_PER_CHANGE) {
      const [of, before] = [changes[at] as number, changes[at + 1] as number]
      const figures = this.#figures[Math.floor(of / PLACE)] as Changing
      figures.set(of % PLACE, Number.isNaN(before) ? (large[--rest] as bigint) : before)
    }
  }

  /** What the block at hand and those before it have changed is never taken back. */
  #forget(): void {
    this.#blocks = []
    this.#bytes = 0
    this.#since = this.#number
  }

  #close(): void {
    this.isOpen = false
    this.#changes = new Float64Array(NUMBERS_AT_FIRST)
    this.#end = 0
    this.#large = []
  }

  #bytesOfBlock(): number {
    return this.#end * Float64Array.BYTES_PER_ELEMENT + this.#large.length * LARGE_BYTES
  }
}
