import type { ValidatorSet } from '../ports/beacon-source.ts'

/** Ids in one request body: about 90 kB, below what nodes accept. */
export const IDS_PER_REQUEST_MAX = 10_000
/** When more than this part of the registry is asked for, one answer about all is cheaper than answers about each. */
const PART_TO_ASK_ALL = 0.25

/**
 * What a row takes in an answer with the longest values that occur, bytes. The registry of 2.2 million validators is more
 * than the 1 GiB that a body may have.
 */
export const ROW_BYTES = {
  validators: 512, // two long hex texts, four epochs of up to 20 digits
  balances: 64,
  attestationRewards: 160,
} as const

/** Ids in a request whose answer must stay below a number of bytes. */
export function idsPerRequest(rowBytes: number, bodyBytesMax: number): number {
  return Math.max(1, Math.min(IDS_PER_REQUEST_MAX, Math.floor(bodyBytesMax / rowBytes)))
}

/** Whether one answer about the whole registry is cheaper than answers about each, and fits. */
export function isAllCheaper(
  set: ValidatorSet,
  { registrySize, rowBytes, bodyBytesMax }: { registrySize: number; rowBytes: number; bodyBytesMax: number },
): boolean {
  const rows = Math.max(registrySize, (set.at(-1) ?? -1) + 1)
  return set.length > PART_TO_ASK_ALL * rows && rows * rowBytes <= bodyBytesMax
}

interface PreparedSet {
  /** JSON arrays of ids as text, by how many ids are in each. */
  readonly chunks: Map<number, readonly string[]>
  /** A 1 at each index of the set. */
  readonly wanted: Uint8Array
}

/** Makes what questions about a set consist of once; ingest passes the same array for every epoch. */
export class ValidatorSets {
  readonly #prepared = new WeakMap<ValidatorSet, PreparedSet>()

  #prepare(set: ValidatorSet): PreparedSet {
    const known = this.#prepared.get(set)
    if (known !== undefined) return known
    const wanted = new Uint8Array((set.at(-1) ?? -1) + 1)
    for (const index of set) wanted[index] = 1
    const prepared = { chunks: new Map<number, readonly string[]>(), wanted }
    this.#prepared.set(set, prepared)
    return prepared
  }

  wanted(set: ValidatorSet): Uint8Array {
    return this.#prepare(set).wanted
  }

  /** JSON arrays of the set's ids, each of at most so many. */
  chunks(set: ValidatorSet, idsMax: number): readonly string[] {
    const { chunks } = this.#prepare(set)
    const known = chunks.get(idsMax)
    if (known !== undefined) return known
    const made: string[] = []
    for (let from = 0; from < set.length; from += idsMax)
      made.push(`["${set.subarray(from, from + idsMax).join('","')}"]`)
    chunks.set(idsMax, made)
    return made
  }
}
