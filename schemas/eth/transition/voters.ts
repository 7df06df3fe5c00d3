import { HEAD_FLAG, HEAD_WEIGHT, SOURCE_FLAG, SOURCE_WEIGHT, TARGET_FLAG, TARGET_WEIGHT } from './state-columns.ts'

/** Sum of the weights of flags, by their bits. */
const WEIGHT_OF_FLAGS: readonly number[] = Array.from(
  { length: 8 },
  (_, flags) =>
    ((flags & SOURCE_FLAG) !== 0 ? SOURCE_WEIGHT : 0) +
    ((flags & TARGET_FLAG) !== 0 ? TARGET_WEIGHT : 0) +
    ((flags & HEAD_FLAG) !== 0 ? HEAD_WEIGHT : 0),
)

/** Seats of an attestation, eight in a byte: a committee begins with the bit behind those of the one before. */
export interface Seats {
  readonly aggregationBits: Uint8Array
  /** Those that need not be looked at. */
  readonly named: Uint8Array
}

/**
 * Those of one committee whose flags an attestation may set. Their columns are gathered before any of them is written to: members are anywhere in
 * the registry, so each costs the way to memory, and a processor goes many of these at once as long as nothing that it reads may just have been written.
 */
export class Voters {
  #validators = new Uint32Array(0)
  #had = new Uint8Array(0)
  #increments = new Uint16Array(0)
  #count = 0

  /** Takes those of a committee, whose first seat is `first`. */
  take(committee: Uint32Array, first: number, { aggregationBits, named }: Seats): this {
    if (this.#validators.length < committee.length) this.#grow(committee.length)
    const validators = this.#validators
    let count = 0
    for (let seat = 0; seat < committee.length; seat++) {
      const bit = first + seat
      const others = (aggregationBits[bit >> 3] as number) & ~(named[bit >> 3] as number)
      if (others === 0) {
        seat += 7 - (bit & 7)
        continue
      }
      // What is written of one that is not meant, the next one is written over.
      validators[count] = committee[seat] as number
      count += (others >> (bit & 7)) & 1
    }
    this.#count = count
    return this
  }

  #grow(members: number): void {
    this.#validators = new Uint32Array(members)
    this.#had = new Uint8Array(members)
    this.#increments = new Uint16Array(members)
  }

  /** Sets flags of all of them; the effective balances, in increments, of those who had them not, each times the weights of what is new. */
  setFlags(flags: number, participation: Uint8Array, effectiveIncrements: Uint16Array): number {
    const [validators, had, increments, count] = [this.#validators, this.#had, this.#increments, this.#count]
    for (let i = 0; i < count; i++) had[i] = participation[validators[i] as number] as number
    for (let i = 0; i < count; i++) increments[i] = effectiveIncrements[validators[i] as number] as number
    let weighted = 0
    for (let i = 0; i < count; i++) {
      const fresh = flags & ~(had[i] as number)
      if (fresh === 0) continue
      participation[validators[i] as number] = (had[i] as number) | fresh
      weighted += (increments[i] as number) * (WEIGHT_OF_FLAGS[fresh] as number)
    }
    return weighted
  }
}
