import type { ListMemory } from './list-memory.ts'
import { fieldAt, STATE_LAYOUTS, type StateLayout } from './state-layout.ts'
import type { StateMemory } from './state-memory.ts'

/** Gives as many bytes as it is asked for, with what was written before at their beginning. */
export type Room = (bytes: number) => Uint8Array

/** A list that lies apart, by its place in the state. */
interface PlacedList {
  readonly begin: number
  /** OPEN of one that nothing lies behind, in an answer that does not tell its length. */
  readonly end: number
  readonly memory: ListMemory
}

const OPEN = Number.POSITIVE_INFINITY

/**
 * Takes a serialized state as it arrives: the beginning says where its lists lie, whose bytes go into their own memories. What is said wrongly is
 * found where the state is read: here it only must not take more memory than an answer may have.
 */
export class StateReception {
  readonly #memory: StateMemory
  readonly #room: Room
  readonly #bytesMax: number
  readonly #toldBytes: number
  /** Undefined for a fork that is not known. */
  readonly #layout: StateLayout | undefined
  #others: Uint8Array
  /** Bytes that have come. */
  #came = 0
  #written = 0
  /** In the order of their places; none until the beginning is there, and where it is wrong. */
  #lists: readonly PlacedList[] = []
  /** The first of them that has not come as a whole. */
  #next = 0

  constructor(
    { fork, toldBytes, bytesMax }: { readonly fork: string; readonly toldBytes: number; readonly bytesMax: number },
    memory: StateMemory,
    room: Room,
  ) {
    this.#memory = memory
    this.#room = room
    this.#bytesMax = bytesMax
    this.#toldBytes = toldBytes
    this.#layout = STATE_LAYOUTS.get(fork)
    this.#others = room(this.#layout?.bytes ?? 0)
  }

  take(piece: Uint8Array): void {
    for (let rest = piece; rest.length > 0; ) rest = this.#takeFirst(rest)
  }

  /** All bytes but those of the lists. A list that was not all told is none: its memory has what is left of the last one. */
  received(): Uint8Array {
    const whole = new Set(this.#lists.slice(0, this.#next).map(({ memory }) => memory))
    const last = this.#lists[this.#next]
    if (last?.end === OPEN && this.#came >= last.begin) {
      last.memory.begin(this.#came - last.begin, false)
      whole.add(last.memory)
    }
    for (const memory of this.#memory.lists.values()) if (!whole.has(memory)) memory.begin(0, false)
    return this.#others.subarray(0, this.#written)
  }

  /** Takes what belongs to one place; the rest. */
  #takeFirst(piece: Uint8Array): Uint8Array {
    if (this.#layout !== undefined && this.#came < this.#layout.bytes) {
      const rest = this.#takeOthers(piece, this.#layout.bytes)
      if (this.#came === this.#layout.bytes) this.#placeLists(this.#layout)
      return rest
    }
    const list = this.#lists[this.#next]
    if (list === undefined || this.#came < list.begin)
      return this.#takeOthers(piece, list?.begin ?? Number.POSITIVE_INFINITY)
    const own = piece.subarray(0, list.end - this.#came)
    list.memory.write(this.#came - list.begin, own)
    this.#came += own.length
    this.#passWhole()
    return piece.subarray(own.length)
  }

  /** Takes what lies before a place of the state; the rest. */
  #takeOthers(piece: Uint8Array, before: number): Uint8Array {
    const own = piece.subarray(0, before - this.#came)
    const end = this.#written + own.length
    if (end > this.#others.length) this.#others = this.#room(Math.max(end, 2 * this.#others.length))
    this.#others.set(own, this.#written)
    this.#written = end
    this.#came += own.length
    this.#passWhole()
    return piece.subarray(own.length)
  }

  /** An empty list is there where it begins. */
  #passWhole(): void {
    while (this.#came >= (this.#lists[this.#next]?.end ?? Number.POSITIVE_INFINITY)) this.#next++
  }

  #placeLists(layout: StateLayout): void {
    const view = new DataView(this.#others.buffer, this.#others.byteOffset, layout.bytes)
    const offsetOf = (name: string) => view.getUint32(fieldAt(layout, name), true)
    const endOfAll = this.#toldBytes > 0 ? this.#toldBytes : OPEN
    const lists = layout.variable.flatMap((name, place) => {
      const memory = this.#memory.lists.get(name)
      const next = layout.variable[place + 1]
      const end = next === undefined ? endOfAll : offsetOf(next)
      return memory === undefined ? [] : [{ begin: offsetOf(name), end, memory }]
    })
    let last = layout.bytes
    for (const { begin, end } of lists) {
      if (begin < last || end < begin || begin > this.#bytesMax || (end > this.#bytesMax && end !== OPEN)) return
      last = end
    }
    this.#lists = lists
    const isCertain = last <= this.#toldBytes
    const bytes = lists.reduce((sum, { begin, end }) => sum + end - begin, 0)
    for (const { begin, end, memory } of lists) memory.begin(end - begin, isCertain)
    if (isCertain) this.#others = this.#room(this.#toldBytes - bytes)
    this.#passWhole()
  }
}
