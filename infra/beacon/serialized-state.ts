import { AppError } from '../../schemas/errors.ts'
import type { TransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import { fieldAt, type StateLayout, stateLayout } from './state-layout.ts'

/** The field that has most of a state's bytes. */
export const REGISTRY = 'validators'

/** Fields of a state by their names, where they lie in its bytes. Throws AppError `node_malformed` where there is no such field. */
export class SerializedState {
  readonly #layout: StateLayout
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #apart: ReadonlyMap<string, Uint8Array>
  readonly #apartBytes: number

  /** `apart`: lists by their names, where `bytes` are all but them. */
  constructor(fork: TransitionFork, bytes: Uint8Array, apart: ReadonlyMap<string, Uint8Array> = new Map()) {
    const layout = stateLayout(fork)
    if (bytes.length < layout.bytes) throw malformed(`it has ${bytes.length} bytes`)
    this.#layout = layout
    this.#bytes = bytes
    this.#apart = apart
    this.#apartBytes = [...apart.values()].reduce((sum, list) => sum + list.length, 0)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#checkOffsets()
  }

  get length(): number {
    return this.#bytes.length + this.#apartBytes
  }

  /** Whether the fork's states have this field. */
  has(name: string): boolean {
    return this.#layout.at.has(name)
  }

  /** Whether the field is of variable length. */
  isVariable(name: string): boolean {
    return this.#layout.variable.includes(name)
  }

  number(name: string): number {
    const value = this.bigint(name)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed(`its ${name} is ${value}`)
    return Number(value)
  }

  bigint(name: string): bigint {
    return this.#view.getBigUint64(fieldAt(this.#layout, name), true)
  }

  /** Bytes of a field of fixed length. */
  vector(name: string): Uint8Array {
    const names = [...this.#layout.at.keys()]
    const next = names[names.indexOf(name) + 1]
    const end = next === undefined ? this.#layout.bytes : fieldAt(this.#layout, next)
    return this.#bytes.subarray(fieldAt(this.#layout, name), end)
  }

  /** Bytes of a list whose entries have one width. */
  list(name: string, width: number): Uint8Array {
    const list = this.variable(name)
    if (list.length % width === 0) return list
    throw malformed(`its ${name} has ${list.length} bytes, which are no entries of ${width}`)
  }

  /** Bytes of a field of variable length. */
  variable(name: string): Uint8Array {
    const apart = this.#apart.get(name)
    if (apart !== undefined) return apart
    return this.#bytes.subarray(this.#placeOf(this.#offset(name)), this.#placeOf(this.#endOf(name)))
  }

  #offset(name: string): number {
    return this.#view.getUint32(fieldAt(this.#layout, name), true)
  }

  #endOf(name: string): number {
    const next = this.#layout.variable[this.#layout.variable.indexOf(name) + 1]
    return next === undefined ? this.length : this.#offset(next)
  }

  /** Among the bytes that are here. */
  #placeOf(offset: number): number {
    let place = offset
    for (const [name, list] of this.#apart) if (this.#offset(name) < offset) place -= list.length
    return place
  }

  #checkOffsets(): void {
    let last = this.#layout.bytes
    for (const [place, name] of this.#layout.variable.entries()) {
      const offset = this.#offset(name)
      if ((place === 0 && offset !== last) || offset < last || offset > this.length)
        throw malformed(`its ${name} cannot begin at byte ${offset} of ${this.length}`)
      last = offset
    }
    for (const [name, list] of this.#apart)
      if (this.#endOf(name) - this.#offset(name) !== list.length)
        throw malformed(`its ${name} has ${list.length} bytes`)
  }
}

/** A state whose bytes are none of its fork: another answer may be better. */
export function malformed(why: string, cause?: unknown): AppError {
  return new AppError('node_malformed', `the state is malformed: ${why}`, { retryable: true, cause })
}
