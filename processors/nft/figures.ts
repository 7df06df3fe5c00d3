import type { Balance } from './balance.ts'
import type { UndoJournal } from './undo-journal.ts'

/** Numbers below 2^53 by the numbers of keys, 0 where none was set. */
export class Figures {
  #values = new Float64Array(256)
  readonly #journal: UndoJournal | undefined
  readonly #place: number

  /** Changes are noted in the journal while it is open. */
  constructor(journal?: UndoJournal) {
    this.#journal = journal
    this.#place = journal?.enlist(this) ?? 0
  }

  get(key: number): number {
    return this.#values[key] ?? 0
  }

  set(key: number, value: number): void {
    if (key >= this.#values.length) {
      const values = new Float64Array(2 ** Math.ceil(Math.log2(key + 1)))
      values.set(this.#values)
      this.#values = values
    }
    const before = this.#values[key] as number
    if (this.#journal?.isOpen && before !== value) this.#journal.note(this.#place, key, before)
    this.#values[key] = value
  }

  add(key: number, value: number): number {
    const after = this.get(key) + value
    this.set(key, after)
    return after
  }
}

/** Balances by the numbers of keys, 0 where none was set. */
export class Balances {
  /** NaN where it is among the large ones. */
  readonly #small = new Figures()
  readonly #large = new Map<number, bigint>()
  readonly #journal: UndoJournal
  readonly #place: number

  constructor(journal: UndoJournal) {
    this.#journal = journal
    this.#place = journal.enlist(this)
  }

  get(key: number): Balance {
    const small = this.#small.get(key)
    return Number.isNaN(small) ? (this.#large.get(key) as bigint) : small
  }

  set(key: number, balance: Balance): void {
    if (this.#journal.isOpen) this.#journal.note(this.#place, key, this.get(key))
    if (typeof balance === 'number') {
      this.#small.set(key, balance)
      this.#large.delete(key)
    } else {
      this.#small.set(key, Number.NaN)
      this.#large.set(key, balance)
    }
  }
}

/** Keys that a block has touched, each once, in the order in which it did. */
export class Touched {
  /** Of each key, counted through all blocks, from 1 on. */
  readonly #places = new Figures()
  /** How many there were in the blocks before. */
  #before = 0
  readonly keys: number[] = []

  /** Whether it is the first time in this block. */
  add(key: number): boolean {
    if (this.placeOf(key) !== -1) return false
    this.#places.set(key, this.#before + this.keys.length + 1)
    this.keys.push(key)
    return true
  }

  /** Among the keys; -1 where the block has not touched it. */
  placeOf(key: number): number {
    return Math.max(this.#places.get(key) - this.#before, 0) - 1
  }

  /** Another block begins. */
  clear(): void {
    this.#before += this.keys.length
    this.keys.length = 0
  }
}
