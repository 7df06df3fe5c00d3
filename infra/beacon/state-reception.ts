import type { RegistryMemory } from './registry-memory.ts'
import { REGISTRY } from './serialized-state.ts'
import { fieldAt, STATE_LAYOUTS, type StateLayout } from './state-layout.ts'

/** Gives as many bytes as it is asked for, with what was written before at their beginning. */
export type Room = (bytes: number) => Uint8Array

/** Where the fixed part of a fork's states says where the registry lies. */
interface RegistryOffsets {
  readonly fixedBytes: number
  readonly beginAt: number
  readonly endAt: number
}

function registryOffsets(layout: StateLayout): RegistryOffsets | undefined {
  const next = layout.variable[layout.variable.indexOf(REGISTRY) + 1]
  if (next === undefined) return undefined
  return { fixedBytes: layout.bytes, beginAt: fieldAt(layout, REGISTRY), endAt: fieldAt(layout, next) }
}

/**
 * Takes a serialized state as it arrives: the beginning says where its registry lies, whose bytes go into their own memory. What is said wrongly is
 * found where the state is read: here it only must not take more memory than an answer may have.
 */
export class StateReception {
  readonly #registry: RegistryMemory
  readonly #room: Room
  readonly #bytesMax: number
  readonly #toldBytes: number
  /** Undefined for a fork that is not known. */
  readonly #offsets: RegistryOffsets | undefined
  #others: Uint8Array
  /** Bytes that have come. */
  #came = 0
  #written = 0
  #begin = Number.POSITIVE_INFINITY
  #end = Number.POSITIVE_INFINITY

  constructor(
    { fork, toldBytes, bytesMax }: { readonly fork: string; readonly toldBytes: number; readonly bytesMax: number },
    registry: RegistryMemory,
    room: Room,
  ) {
    this.#registry = registry
    this.#room = room
    this.#bytesMax = bytesMax
    this.#toldBytes = toldBytes
    const layout = STATE_LAYOUTS.get(fork)
    this.#offsets = layout && registryOffsets(layout)
    this.#others = room(layout?.bytes ?? 0)
  }

  take(piece: Uint8Array): void {
    let rest = piece
    if (this.#offsets !== undefined && this.#came < this.#offsets.fixedBytes) {
      rest = this.#takeOthers(rest, this.#offsets.fixedBytes)
      if (this.#came === this.#offsets.fixedBytes) this.#findRegistry(this.#offsets)
    }
    rest = this.#takeOthers(rest, this.#begin)
    const own = rest.subarray(0, Math.max(0, this.#end - this.#came))
    if (own.length > 0) this.#registry.write(this.#came - this.#begin, own)
    this.#came += own.length
    this.#takeOthers(rest.subarray(own.length), Number.POSITIVE_INFINITY)
  }

  /** All bytes but the registry's. One that was not all told is none: its memory has what is left of the last one. */
  received(): Uint8Array {
    if (this.#came < this.#end) this.#registry.begin(0, false)
    return this.#others.subarray(0, this.#written)
  }

  /** Takes what lies before a place of the state; the rest. */
  #takeOthers(piece: Uint8Array, before: number): Uint8Array {
    const own = piece.subarray(0, Math.max(0, before - this.#came))
    const end = this.#written + own.length
    if (end > this.#others.length) this.#others = this.#room(Math.max(end, 2 * this.#others.length))
    this.#others.set(own, this.#written)
    this.#written = end
    this.#came += own.length
    return piece.subarray(own.length)
  }

  #findRegistry({ fixedBytes, beginAt, endAt }: RegistryOffsets): void {
    const view = new DataView(this.#others.buffer, this.#others.byteOffset, fixedBytes)
    const [begin, end] = [view.getUint32(beginAt, true), view.getUint32(endAt, true)]
    if (begin < fixedBytes || end < begin || end > this.#bytesMax) return
    this.#begin = begin
    this.#end = end
    const isCertain = end <= this.#toldBytes
    this.#registry.begin(end - begin, isCertain)
    if (isCertain) this.#others = this.#room(this.#toldBytes - (end - begin))
  }
}
