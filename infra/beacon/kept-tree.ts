import { zeroHash } from '@chainsafe/persistent-merkle-tree'
import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/hashtree'
import { CHUNK_BYTES, hashUp, PAIR_BYTES } from './merkle.ts'
import type { RecordHasher } from './record-hasher.ts'

/** So many levels above the leaves lie the lowest nodes that are kept: those between them are hashed again. */
const GROUP_DEPTH_MAX = 4
/** Of chunks, what is marked together. */
export const MARKED_CHUNKS_BYTES = CHUNK_BYTES * 2 ** GROUP_DEPTH_MAX
/** The same above records, whose roots take more hashes each than the nodes above them. */
const RECORDS_GROUP_DEPTH_MAX = 2
/** What is hashed at once stays in the processor's caches. */
const BATCH_CHUNKS = 2048
/** Room for so many more leaves at a time: lists grow by some in every epoch. */
const LEAVES_STEP = 2 ** 16
/** Entries that may leave the front of a queue between two states, and those behind them are known again. */
const MOVED_MAX = 1024
/** Where more of a level's nodes have to be hashed again than one of so many, all of them are: to pick them out would take longer. */
const SPARSE = 8

/**
 * Root of a list or vector by what is left of the one before: where none of a group's entries differs, its node stays. Entries are compared, or
 * somebody has marked them. The leaves are chunks of the bytes, or the roots of records: 32 bytes of each are kept besides where records are
 * compared, but not where they are marked, because these are many and few of them change.
 */
export class KeptTree {
  readonly #depth: number
  readonly #groupDepth: number
  readonly #records: RecordHasher | undefined
  /** Bytes that become one leaf. */
  readonly #width: number
  #recordRoots = new Uint8Array(0)
  /** Nodes of each level from that of the groups up to the root's, as many as there are and one of nothing behind them. */
  readonly #rows: Uint8Array<ArrayBuffer>[]
  #groups = 0
  /** Bytes that the last root was of, where they were marked. */
  #marked = 0
  #root: Uint8Array | undefined

  /** `depth` is that of the tree, by what its type has room for. */
  constructor(depth: number, records?: RecordHasher) {
    this.#depth = depth
    this.#groupDepth = Math.min(depth, records === undefined ? GROUP_DEPTH_MAX : RECORDS_GROUP_DEPTH_MAX)
    this.#records = records
    this.#width = records?.recordBytes ?? CHUNK_BYTES
    this.#rows = Array.from({ length: depth - this.#groupDepth + 1 }, () => new Uint8Array(0))
  }

  get keptBytes(): number {
    return this.#rows.reduce((sum, row) => sum + row.length, this.#recordRoots.length)
  }

  /** Root of the tree over `now`. `before` is what the last call was given, and empty at the first one. */
  rootOf(before: Buffer, now: Buffer): Uint8Array {
    const moved = this.#moved(before, now)
    const changed = this.#changedGroups(moved === 0 ? before : Buffer.alloc(0), now)
    if (changed.length === 0 && before.length === now.length && this.#root !== undefined) return this.#root
    const leaves = Math.ceil(now.length / this.#width)
    if (this.#records === undefined) return this.#hash(leaves, changed, (batch, some) => this.#copy(now, batch, some))
    this.#recordRoots = withRoom(this.#recordRoots, leaves * CHUNK_BYTES)
    this.#recordRoots.copyWithin(0, moved * CHUNK_BYTES)
    const shifted = before.subarray(moved * this.#width)
    const others = this.#indices(changed, leaves).filter((index) =>
      differ(shifted, now, index * this.#width, this.#width),
    )
    this.#records.hashInto(now, others, this.#recordRoots, others)
    const roots = this.#recordRoots.subarray(0, leaves * CHUNK_BYTES)
    return this.#hash(leaves, changed, (batch, some) => this.#copy(roots, batch, some))
  }

  /**
   * Root of the tree over entries that have been written over those of the last call: `marks` has a byte for each record, or for as many chunks as
   * MARKED_CHUNKS_BYTES are, which is 1 where one is another since, and is 0 afterwards. The others must be those of then. A tree has its roots
   * by this or by `rootOf`, never by both.
   */
  rootOfMarked(now: Buffer, marks: Uint8Array): Uint8Array {
    const [records, known] = [this.#records, this.#marked]
    const changed = this.#markedGroups(marks, now.length)
    marks.fill(0, 0, Math.ceil(now.length / this.#markedBytes))
    if (changed.length === 0 && known === now.length && this.#root !== undefined) return this.#root
    const leaves = Math.ceil(now.length / this.#width)
    this.#marked = now.length
    // Only the last group may have room left, so the records of some groups lie in their order.
    return this.#hash(leaves, changed, (batch, some) =>
      records === undefined ? this.#copy(now, batch, some) : records.hashInto(now, this.#indices(some, leaves), batch),
    )
  }

  get #groupLeaves(): number {
    return 2 ** this.#groupDepth
  }

  /** What has one mark. */
  get #markedBytes(): number {
    return this.#records === undefined ? MARKED_CHUNKS_BYTES : this.#width
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

  /** Those with marked entries; where there were more or fewer bytes before, all from there on where one of the two ends. */
  #markedGroups(marks: Uint8Array, bytes: number): readonly number[] {
    const groups: number[] = []
    const groupBytes = this.#width * this.#groupLeaves
    const [perGroup, common] = [groupBytes / this.#markedBytes, Math.min(this.#marked, bytes)]
    for (let at = marks.indexOf(1); at !== -1 && at * this.#markedBytes < common; ) {
      const group = Math.floor(at / perGroup)
      groups.push(group)
      at = marks.indexOf(1, (group + 1) * perGroup)
    }
    if (this.#marked === bytes) return groups
    const last = groups.at(-1) ?? -1
    for (let group = Math.floor(common / groupBytes); group * groupBytes < bytes; group++)
      if (group > last) groups.push(group)
    return groups
  }

  /** Numbers of the entries of groups, of so many in all. */
  #indices(groups: readonly number[], count: number): Uint32Array {
    const size = this.#groupLeaves
    const indices = new Uint32Array(groups.length * size)
    let filled = 0
    for (const group of groups)
      for (let index = group * size; index < Math.min(count, (group + 1) * size); index++) indices[filled++] = index
    return indices.subarray(0, filled)
  }

  #copy(leaves: Uint8Array, batch: Uint8Array, groups: readonly number[]): void {
    const bytes = CHUNK_BYTES * this.#groupLeaves
    groups.forEach((group, place) => {
      batch.set(leaves.subarray(group * bytes, (group + 1) * bytes), place * bytes)
    })
  }

  /**
   * The root above so many leaves, of which those of some groups are others than before: `fill` puts these one after the other into zeros, some
   * groups at a time.
   */
  #hash(
    leaves: number,
    changed: readonly number[],
    fill: (batch: Uint8Array, groups: readonly number[]) => void,
  ): Uint8Array {
    const groups = Math.ceil(leaves / this.#groupLeaves)
    const bytes = CHUNK_BYTES * this.#groupLeaves
    const row = this.#roomAt(0, groups)
    const atOnce = BATCH_CHUNKS / this.#groupLeaves
    const batch = new Uint8Array(Math.min(atOnce, changed.length) * bytes)
    for (let from = 0; from < changed.length; from += atOnce) {
      const some = changed.slice(from, from + atOnce)
      batch.fill(0)
      fill(batch, some)
      const nodes = hashUp(batch.subarray(0, some.length * bytes), this.#groupDepth)
      some.forEach((group, place) => {
        row.set(nodes.subarray(place * CHUNK_BYTES, (place + 1) * CHUNK_BYTES), group * CHUNK_BYTES)
      })
    }
    this.#root = this.#climb(groups, changed)
    this.#groups = groups
    return this.#root
  }

  /** The root above so many groups, of which these are others than before. */
  #climb(groups: number, changed: readonly number[]): Uint8Array {
    // What was right of the last node is nothing now.
    const isShorter = groups < this.#groups
    let [count, others] = [groups, changed]
    if (count === 0) return zeroHash(this.#depth)
    for (let level = 0; level < this.#rows.length - 1; level++) {
      const row = this.#roomAt(level, count)
      row.set(zeroHash(this.#groupDepth + level), count * CHUNK_BYTES)
      count = Math.ceil(count / 2)
      others = parentsOf(others)
      const above = this.#roomAt(level + 1, count)
      if (isShorter || others.length * SPARSE > count)
        hasher.hashInto(row.subarray(0, count * PAIR_BYTES), above.subarray(0, count * CHUNK_BYTES))
      else hashPairs(row, above, others)
    }
    return (this.#rows.at(-1) as Uint8Array).slice(0, CHUNK_BYTES)
  }

  #roomAt(level: number, count: number): Uint8Array {
    const row = withRoom(this.#rows[level] as Uint8Array<ArrayBuffer>, (count + 1) * CHUNK_BYTES)
    this.#rows[level] = row
    return row
  }
}

/** Ascending, each once, as the nodes are. */
function parentsOf(nodes: readonly number[]): readonly number[] {
  const parents: number[] = []
  for (const node of nodes) if (parents.at(-1) !== node >> 1) parents.push(node >> 1)
  return parents
}

function hashPairs(row: Uint8Array, above: Uint8Array, parents: readonly number[]): void {
  const pairs = new Uint8Array(parents.length * PAIR_BYTES)
  parents.forEach((parent, i) => {
    pairs.set(row.subarray(parent * PAIR_BYTES, (parent + 1) * PAIR_BYTES), i * PAIR_BYTES)
  })
  const nodes = new Uint8Array(parents.length * CHUNK_BYTES)
  hasher.hashInto(pairs, nodes)
  parents.forEach((parent, i) => {
    above.set(nodes.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES), parent * CHUNK_BYTES)
  })
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
