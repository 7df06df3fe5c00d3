import type { TimeSlices } from '../loop/time-slices.ts'

/** So many slots for each key that there is room for: what is looked for is near to where it falls. */
const SLOTS_PER_KEY = 2
/** Many tables have few keys, those of one event. */
const KEYS_AT_FIRST = 16
/** Emptied in less than a microsecond. */
const SLOTS_KEPT_MAX = 2 ** 10
/** 2^32 divided by the golden ratio. */
const SPREAD = 0x9e3779b1
/** Keys are written by strangers, who could have them all fall on one slot if they knew where they fall. */
const SEED = Math.floor(Math.random() * 2 ** 32)

/**
 * Numbers 0, 1, 2 … for keys of so many 32-bit words, in the order in which they come. An open hash table: millions of keys without an
 * object for each.
 */
export class KeyTable {
  readonly #width: number
  #keys: Uint32Array
  /** Number of the key plus 1; 0: nobody has the slot. */
  #slots: Int32Array
  #size = 0

  constructor(width: number) {
    this.#width = width
    this.#keys = new Uint32Array(KEYS_AT_FIRST * width)
    this.#slots = new Int32Array(KEYS_AT_FIRST * SLOTS_PER_KEY)
  }

  /** Forgets all keys. What they had of memory is kept where it is little. */
  clear(): void {
    this.#size = 0
    if (this.#slots.length <= SLOTS_KEPT_MAX) {
      this.#slots.fill(0)
      return
    }
    this.#keys = new Uint32Array(KEYS_AT_FIRST * this.#width)
    this.#slots = new Int32Array(KEYS_AT_FIRST * SLOTS_PER_KEY)
  }

  /** Makes room for so many more keys; others have their turns meanwhile, but nobody may use the table. */
  async reserve(more: number, slices: TimeSlices): Promise<void> {
    const keys = 2 ** Math.ceil(Math.log2(this.#size + more))
    if (keys * SLOTS_PER_KEY <= this.#slots.length) return
    this.#resize(keys)
    for (let number = 0; number < this.#size; number++) {
      this.#place(number)
      if (slices.isOver()) await slices.next()
    }
  }

  get size(): number {
    return this.#size
  }

  /** The words of all keys, one key after the other: good until the next one comes. */
  get keys(): Uint32Array {
    return this.#keys
  }

  /** The number of the key whose words begin there; it gets the next one where it is new. */
  numberOf(words: Uint32Array, at = 0): number {
    const slot = this.#slotOf(words, at)
    const taken = this.#slots[slot] as number
    if (taken !== 0) return taken - 1
    const number = this.#size++
    if (number * SLOTS_PER_KEY >= this.#slots.length) {
      this.#grow()
      this.#slots[this.#slotOf(words, at)] = this.#size
    } else this.#slots[slot] = this.#size
    const width = this.#width
    for (let i = 0, to = number * width; i < width; i++, to++) this.#keys[to] = words[at + i] as number
    return number
  }

  /** -1 where there is no such key. */
  find(words: Uint32Array, at = 0): number {
    return (this.#slots[this.#slotOf(words, at)] as number) - 1
  }

  /** Where the key is, or the free slot where it would be. */
  #slotOf(words: Uint32Array, at: number): number {
    const width = this.#width
    const mask = this.#slots.length - 1
    let hash = SEED
    for (let i = 0; i < width; i++) {
      hash = Math.imul(hash ^ (words[at + i] as number), SPREAD)
      hash ^= hash >>> 15
    }
    let slot = hash & mask
    for (;;) {
      const taken = this.#slots[slot] as number
      if (taken === 0 || this.#isKey((taken - 1) * width, words, at)) return slot
      slot = (slot + 1) & mask
    }
  }

  #isKey(key: number, words: Uint32Array, at: number): boolean {
    for (let i = 0; i < this.#width; i++) if (this.#keys[key + i] !== words[at + i]) return false
    return true
  }

  #grow(): void {
    this.#resize((this.#slots.length / SLOTS_PER_KEY) * 2)
    for (let number = 0; number < this.#size - 1; number++) this.#place(number)
  }

  /** Has room for so many keys, of which none has its slot yet. */
  #resize(keys: number): void {
    const words = new Uint32Array(keys * this.#width)
    words.set(this.#keys)
    this.#keys = words
    this.#slots = new Int32Array(keys * SLOTS_PER_KEY)
  }

  #place(number: number): void {
    this.#slots[this.#slotOf(this.#keys, number * this.#width)] = number + 1
  }
}
