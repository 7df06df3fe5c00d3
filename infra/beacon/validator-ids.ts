import type { ValidatorSet } from '../ports/beacon-source.ts'

/** Ids in one request body: about 90 kB, below what nodes accept. */
export const IDS_PER_REQUEST_MAX = 10_000
/** When more than this part of the registry is asked for, one answer about all is cheaper than answers about each. */
export const PART_TO_ASK_ALL = 0.25

/** What questions about one set of validators are made of. */
export interface PreparedSet {
  /** JSON arrays of ids as text, each of at most IDS_PER_REQUEST_MAX. */
  readonly chunks: readonly string[]
  /** A 1 at each index of the set. */
  readonly wanted: Uint8Array
}

/** Prepares a set once; ingest passes the same array for every epoch. */
export class ValidatorSets {
  readonly #prepared = new WeakMap<ValidatorSet, PreparedSet>()

  prepare(set: ValidatorSet): PreparedSet {
    const known = this.#prepared.get(set)
    if (known !== undefined) return known
    const wanted = new Uint8Array((set.at(-1) ?? -1) + 1)
    for (const index of set) wanted[index] = 1
    const chunks: string[] = []
    for (let from = 0; from < set.length; from += IDS_PER_REQUEST_MAX) {
      const ids = set.subarray(from, from + IDS_PER_REQUEST_MAX)
      chunks.push(`["${ids.join('","')}"]`)
    }
    const prepared = { chunks, wanted }
    this.#prepared.set(set, prepared)
    return prepared
  }
}
