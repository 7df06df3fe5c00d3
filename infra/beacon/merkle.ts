import { setHasher, zeroHash } from '@chainsafe/persistent-merkle-tree'
import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/hashtree'

// Several times as fast as the default one.
setHasher(hasher)

// Trees as rows of nodes in bytes, a level at a time (consensus-specs, simple-serialize: merkleization).

export const CHUNK_BYTES = 32
export const PAIR_BYTES = 2 * CHUNK_BYTES
const CHUNK_WORDS = CHUNK_BYTES / 4

// Blocks have hundreds of transactions, and each a tree of many levels: their nodes let go, it would be ten megabytes an epoch.

/** Of the pairs of a level, until the next one is paired up. */
let room = new Uint8Array(0)
/** Of the level that they are hashed to, likewise. */
let hashed = new Uint8Array(0)

/** Levels between the root and the leaves of a tree that has room for so many. */
export function depthOf(leaves: number): number {
  return Math.ceil(Math.log2(leaves))
}

/**
 * Nodes at level `to` of trees that lie one after the other, given those at level `from`: 0 is that of the chunks. `counts` has how many
 * nodes of each tree stand at the level, at least one, and becomes what it is at the higher one. To their right the trees are empty.
 */
export function climb(nodes: Uint8Array, counts: number[], from: number, to: number): Uint8Array {
  let row = nodes
  for (let level = from; level < to; level++) {
    const pairs = pairUp(row, counts, zeroHash(level))
    const bytes = pairs.length / 2
    if (bytes > hashed.length) hashed = new Uint8Array(2 * bytes)
    row = hashed.subarray(0, bytes)
    hasher.hashInto(pairs, row)
    for (let i = 0; i < counts.length; i++) counts[i] = Math.ceil((counts[i] as number) / 2)
  }
  return row.slice()
}

/** Nodes so many levels higher, hashed in place. */
export function hashUp(nodes: Uint8Array, levels: number): Uint8Array {
  return levels === 0 ? nodes : hasher.digestNLevel(nodes, levels)
}

/** Root of a list, of the root of its entries and their number. */
export function withLength(root: Uint8Array, length: number): Uint8Array {
  return hasher.digest64(root, lengthChunk(length))
}

export function lengthChunk(length: number): Uint8Array {
  const chunk = new Uint8Array(CHUNK_BYTES)
  new DataView(chunk.buffer).setUint32(0, length, true)
  return chunk
}

/** The nodes with an empty one after those of each tree that has an odd number of them: there until the next call. */
function pairUp(nodes: Uint8Array, counts: readonly number[], empty: Uint8Array): Uint8Array {
  const bytes = counts.reduce((sum, count) => sum + count + (count & 1), 0) * CHUNK_BYTES
  if (bytes > room.length) room = new Uint8Array(2 * bytes)
  const pairs = room.subarray(0, bytes)
  // Word by word: a call of `set` costs more than it copies here.
  const [from, to, pad] = [wordsOf(nodes), wordsOf(pairs), wordsOf(empty.slice())]
  let read = 0
  let written = 0
  for (const count of counts) {
    for (const end = read + count * CHUNK_WORDS; read < end; ) to[written++] = from[read++] as number
    if ((count & 1) === 1) for (let i = 0; i < CHUNK_WORDS; i++) to[written++] = pad[i] as number
  }
  return pairs
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}
