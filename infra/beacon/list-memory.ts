/** Room for so much more at a time: lists grow with every epoch. */
const ROOM_STEP_BYTES = 2 ** 22
/** Units that are compared at once, where a piece is not the same as a whole. */
const COMPARED_UNITS = 16

/**
 * A list of one state after the other in one memory: each is written over the one before, and what differs is marked. A registry of 2,200,000
 * validators has 266 MB, of which some thousand records differ from one epoch to the next.
 */
export class ListMemory {
  readonly #unitBytes: number
  #memory = Buffer.alloc(0)
  #bytes = 0
  #marks = new Uint8Array(0)

  /** `unitBytes`: what is marked together. */
  constructor(unitBytes: number) {
    this.#unitBytes = unitBytes
  }

  /** As it was written last. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#bytes)
  }

  /** A byte for each unit, which is 1 where it has changed since whoever reads them has set it to 0. */
  get marks(): Uint8Array {
    return this.#marks
  }

  /** The next list has so many bytes; memory for all of them, and not for twice as many, where `isCertain`, and else as they come. */
  begin(bytes: number, isCertain: boolean): void {
    this.#bytes = bytes
    if (!isCertain) return
    if (this.#memory.length > 2 * (bytes + ROOM_STEP_BYTES)) this.#resize(bytes)
    else this.#grow(bytes)
  }

  /** Writes the bytes from a place on. */
  write(at: number, piece: Uint8Array): void {
    const end = at + piece.length
    if (end > this.#memory.length) this.#grow(Math.max(end, Math.min(this.#bytes, 2 * this.#memory.length)))
    if (this.#memory.compare(piece, 0, piece.length, at, end) === 0) return
    const compared = COMPARED_UNITS * this.#unitBytes
    for (let from = 0; from < piece.length; from += compared) {
      const to = Math.min(piece.length, from + compared)
      if (this.#memory.compare(piece, from, to, at + from, at + to) !== 0) this.#mark(at, piece, from, to)
    }
    this.#memory.set(piece, at)
  }

  #mark(at: number, piece: Uint8Array, from: number, to: number): void {
    const bytes = this.#unitBytes
    const last = Math.floor((at + to - 1) / bytes)
    for (let unit = Math.floor((at + from) / bytes); unit <= last; unit++) {
      if (this.#marks[unit] === 1) continue
      const begin = Math.max(from, unit * bytes - at)
      const end = Math.min(to, (unit + 1) * bytes - at)
      if (this.#memory.compare(piece, begin, end, at + begin, at + end) !== 0) this.#marks[unit] = 1
    }
  }

  #grow(bytes: number): void {
    if (bytes > this.#memory.length) this.#resize(bytes)
  }

  #resize(bytes: number): void {
    const other = Buffer.alloc(Math.ceil(bytes / ROOM_STEP_BYTES) * ROOM_STEP_BYTES)
    other.set(this.#memory.subarray(0, other.length))
    this.#memory = other
    const marks = new Uint8Array(Math.ceil(other.length / this.#unitBytes))
    marks.set(this.#marks.subarray(0, marks.length))
    this.#marks = marks
  }
}
