import type { TimeSlices } from '../loop/time-slices.ts'
import type { Balance } from './balance.ts'
import type { UndoJournal } from './undo-journal.ts'

/** Keys that there is room for at first. */
const KEYS_AT_FIRST = 256
/** Figures, of which a megabyte is copied in less than a millisecond. */
const COPIED_AT_ONCE = 2 ** 17

/** What the figures of one kind of keys lie in, those of a key side by side: whoever wants one of them wants the others, and memory is read by the line. */
export class FigureRows {
  /** How many figures a key has. */
  readonly width: number
  /** Those of a key begin at its number times their width. */
  values: Float64Array
  #enlisted = 0

  constructor(width: number) {
    this.width = width
    this.values = new Float64Array(KEYS_AT_FIRST * width)
  }

  /** The place of one more figure among those of a key. Throws RangeError where none is left. */
  enlist(): number {
    if (this.#enlisted === this.width) throw new RangeError(`rows of ${this.width} figures have no more`)
    return this.#enlisted++
  }

  /** Makes room for a key. */
  reach(key: number): void {
    const values = this.#roomFor(key + 1)
    values.set(this.values)
    this.values = values
  }

  /** Makes room for so many keys; others have their turns meanwhile, but nobody may use the figures. */
  async reserve(keys: number, slices: TimeSlices): Promise<void> {
    if (keys * this.width <= this.values.length) return
    const values = this.#roomFor(keys)
    for (let from = 0; from < this.values.length; from += COPIED_AT_ONCE) {
      values.set(this.values.subarray(from, from + COPIED_AT_ONCE), from)
      if (slices.isOver()) await slices.next()
    }
    this.values = values
  }

  #roomFor(keys: number): Float64Array {
    return new Float64Array(2 ** Math.ceil(Math.log2(keys)) * this.width)
  }
}

/** Numbers below 2^53 by the numbers of keys, 0 where none was set. */
export class Figures {
  readonly #rows: FigureRows
  readonly #column: number
  readonly #journal: UndoJournal | undefined
  readonly #place: number

  /** Changes are noted in the journal while it is open. */
  constructor(rows: FigureRows, journal?: UndoJournal) {
    this.#rows = rows
    this.#column = rows.enlist()
    this.#journal = journal
    this.#place = journal?.enlist(this) ?? 0
  }

  get(key: number): number {
    const { values, width } = this.#rows
    return values[key * width + this.#column] ?? 0
  }

  set(key: number, value: number): void {
    const rows = this.#rows
    const at = key * rows.width + this.#column
    if (at >= rows.values.length) rows.reach(key)
    const before = rows.values[at] as number
    if (this.#journal?.isOpen && before !== value) this.#journal.note(this.#place, key, before)
    rows.values[at] = value
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
  readonly #small: Figures
  readonly #large = new Map<number, bigint>()
  readonly #journal: UndoJournal
  readonly #place: number

  constructor(rows: FigureRows, journal: UndoJournal) {
    this.#small = new Figures(rows)
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
  readonly #places: Figures
  /** How many there were in the blocks before. */
  #before = 0
  readonly keys: number[] = []

  constructor(rows: FigureRows) {
    this.#places = new Figures(rows)
  }

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
