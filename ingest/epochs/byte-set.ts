import { scatteredBytes } from '../../schemas/eth/scattered-bytes.ts'

const ROOM_MIN = 1_024
/** Slots of the table for each value that there is room for. */
const SLOT_FACTOR = 2

/** Values of as many bytes each, every one once: it has the place at which it came. */
export class ByteSet {
  readonly #width: number
  /** Of as many values as there is room for. */
  #bytes: Buffer
  /** Place of a value plus one, by what its bytes are scattered to; open addressing. */
  #table: Uint32Array
  #size = 0

  constructor(width: number) {
    this.#width = width
    this.#bytes = Buffer.alloc(ROOM_MIN * width)
    this.#table = new Uint32Array(ROOM_MIN * SLOT_FACTOR)
  }

  get size(): number {
    return this.#size
  }

  /** How many it takes before it grows. */
  get room(): number {
    return this.#bytes.length / this.#width
  }

  placeOf(value: Uint8Array): number | undefined {
    const found = this.#table[this.#slotOf(value)] as number
    return found === 0 ? undefined : found - 1
  }

  /** Takes up a value, which may be here already, as a copy; its place. */
  place(value: Uint8Array): number {
    const known = this.placeOf(value)
    if (known !== undefined) return known
    if (this.#size === this.room) this.#grow()
    const place = this.#size++
    this.#table[this.#slotOf(value)] = place + 1
    this.#bytes.set(value, place * this.#width)
    return place
  }

  /** The value at a place, in the set's own memory. */
  at(place: number): Buffer {
    return this.#bytes.subarray(place * this.#width, (place + 1) * this.#width)
  }

  /** Copies the value at a place to others, from `at` on. */
  copyTo(others: Uint8Array, at: number, place: number): void {
    this.#bytes.copy(others, at, place * this.#width, (place + 1) * this.#width)
  }

  /** Whether the value at a place has the bytes that lie in others from `from` on. */
  isAt(place: number, others: Uint8Array, from = 0): boolean {
    const at = place * this.#width
    return this.#bytes.compare(others, from, from + this.#width, at, at + this.#width) === 0
  }

  /** The slot of the value, or the one that it would be put into. */
  #slotOf(value: Uint8Array): number {
    const mask = this.#table.length - 1
    let slot = scatteredBytes(value, 0, this.#width) & mask
    while (this.#table[slot] !== 0 && !this.isAt((this.#table[slot] as number) - 1, value)) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const bytes = Buffer.alloc(2 * this.#bytes.length)
    bytes.set(this.#bytes)
    this.#bytes = bytes
    this.#table = new Uint32Array(this.room * SLOT_FACTOR)
    const mask = this.#table.length - 1
    for (let place = 0; place < this.#size; place++) {
      let slot = scatteredBytes(bytes, place * this.#width, this.#width) & mask
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask
      this.#table[slot] = place + 1
    }
  }
}
