import { zeroHash } from '@chainsafe/persistent-merkle-tree'
import { CHUNK_BYTES, climb, hashUp } from './merkle.ts'
import type { RecordHasher } from './record-hasher.ts'

/** So many levels above the leaves lie the nodes that are kept: those between them are hashed again, those above in any case. */
const GROUP_DEPTH_MAX = 4
/** What is hashed at once stays in the processor's caches. */
const BATCH_CHUNKS = 2048
/** Room for so many more leaves at a time: lists grow by some in every epoch. */
const LEAVES_STEP = 2 ** 16
/** Entries that may leave the front of a queue between two states, and those behind them are known again. */
const MOVED_MAX = 1024

/**
 * Root of a list or vector by what is left of the one before: entries are compared, and where none of a group differs, its node stays. The
 * leaves are chunks of the bytes, or the roots of records, of which 32 bytes each are kept.
 */
export class KeptTree {
  readonly #depth: number
  readonly #groupDepth: number
  readonly #records: RecordHasher | undefined
  /** Bytes that become one leaf. */
  readonly #width: number
  #recordRoots = new Uint8Array(0)
  #groups = new Uint8Array(0)
  #root: Uint8Array | undefined

  /** `depth` is that of the tree, by what its type has room for. */
  constructor(depth: number, records?: RecordHasher) {
    this.#depth = depth
    this.#groupDepth = Math.min(depth, GROUP_DEPTH_MAX)
    this.#records = records
    this.#width = records?.recordBytes ?? CHUNK_BYTES
  }

  get keptBytes(): number {
    return this.#recordRoots.length + this.#groups.length
  }

  /** Root of the tree over `now`. `before` is what the last call was given, and empty at the first one. */
  rootOf(before: Buffer, now: Buffer): Uint8Array {
    const moved = this.#moved(before, now)
    const changed = this.#changedGroups(moved === 0 ? before : Buffer.alloc(0), now)
    if (changed.length === 0 && before.length === now.length && this.#root !== undefined) return this.#root
    const leaves = Math.ceil(now.length / this.#width)
    if (this.#records !== undefined) {
      this.#recordRoots = withRoom(this.#recordRoots, leaves * CHUNK_BYTES)
      this.#recordRoots.copyWithin(0, moved * CHUNK_BYTES)
      this.#hashRecords(this.#records, before.subarray(moved * this.#width), now, changed)
    }
    this.#hashGroups(this.#records === undefined ? now : this.#recordRoots.subarray(0, leaves * CHUNK_BYTES), changed)
    const groups = Math.ceil(leaves / this.#groupLeaves)
    const nodes = groups === 0 ? zeroHash(this.#groupDepth) : this.#groups.subarray(0, groups * CHUNK_BYTES)
    this.#root = climb(nodes, [Math.max(1, groups)], this.#groupDepth, this.#depth)
    return this.#root
  }

  get #groupLeaves(): number {
    return 2 ** this.#groupDepth
  }

  /** How many entries have left the front, by the place that the first one had before. */
  #moved(before: Buffer, now: Buffer): number {
    if (this.#records === undefined || now.length === 0) return 0
    const at = before.subarray(0, MOVED_MAX * this.#width).indexOf(now.subarray(0, this.#width))
    return at > 0 && at % this.#width === 0 ? at / this.#width : 0
  }

  #changedGroups(before: Buffer, now: Buffer): readonly number[] {
    const bytes = this.#width * this.#groupLeaves
    const changed: number[] = []
    for (let group = 0; group * bytes < now.length; group++) {
      if (differ(before, now, group * bytes, bytes)) changed.push(group)
    }
    return changed
  }

  #hashRecords(records: RecordHasher, before: Buffer, now: Buffer, groups: readonly number[]): void {
    const batch = new Uint32Array(BATCH_CHUNKS)
    let filled = 0
    const count = now.length / this.#width
    for (const group of groups) {
      const end = Math.min(count, (group + 1) * this.#groupLeaves)
      for (let index = group * this.#groupLeaves; index < end; index++) {
        if (!differ(before, now, index * this.#width, this.#width)) continue
        batch[filled++] = index
        if (filled < batch.length) continue
        records.hashInto(now, batch, this.#recordRoots)
        filled = 0
      }
    }
    records.hashInto(now, batch.subarray(0, filled), this.#recordRoots)
  }

  #hashGroups(leaves: Uint8Array, groups: readonly number[]): void {
    const bytes = CHUNK_BYTES * this.#groupLeaves
    const last = groups.at(-1)
    if (last !== undefined) this.#groups = withRoom(this.#groups, (last + 1) * CHUNK_BYTES)
    const atOnce = BATCH_CHUNKS / this.#groupLeaves
    const batch = new Uint8Array(atOnce * bytes)
    for (let from = 0; from < groups.length; from += atOnce) {
      const some = groups.slice(from, from + atOnce)
      batch.fill(0)
      some.forEach((group, i) => {
        batch.set(leaves.subarray(group * bytes, (group + 1) * bytes), i * bytes)
      })
      const nodes = hashUp(batch.subarray(0, some.length * bytes), this.#groupDepth)
      some.forEach((group, i) => {
        this.#groups.set(nodes.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES), group * CHUNK_BYTES)
      })
    }
  }
}

/** Whether so many bytes from there on, or those up to the end, are others than before. */
function differ(before: Buffer, now: Buffer, from: number, bytes: number): boolean {
  if (from >= before.length) return true
  const to = from + bytes
  return before.compare(now, from, Math.min(to, now.length), from, Math.min(to, before.length)) !== 0
}

function withRoom(kept: Uint8Array<ArrayBuffer>, bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes <= kept.length) return kept
  const step = LEAVES_STEP * CHUNK_BYTES
  const grown = new Uint8Array(bytes < step ? 2 * bytes : Math.ceil(bytes / step) * step)
  grown.set(kept)
  return grown
}
