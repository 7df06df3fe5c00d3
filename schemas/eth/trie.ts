import { keccak256 } from './keccak.ts'
import { encodeRlp, rlpInteger } from './rlp.ts'
import { RlpWriter } from './rlp-writer.ts'

const EMPTY_STRING = new Uint8Array(0)
const HASH_BYTES = 32
const BRANCH_CHILDREN = 16

interface Entry {
  /** The key as half-bytes, most significant first. */
  readonly path: Uint8Array
  readonly value: Uint8Array
}

/** Of one node at a time. */
const writer = new RlpWriter()

/**
 * Root of the Merkle Patricia trie that maps rlp(index) to the value at that index: transactionsRoot, receiptsRoot and
 * withdrawalsRoot of an execution header (yellow paper, appendix D and section 4.3). Values are the encoded items as
 * they stand in the trie, 32 bytes come back; no values give the well-known empty root.
 */
export function orderedTrieRoot(values: readonly Uint8Array[]): Uint8Array {
  if (values.length === 0) return keccak256(encodeRlp(EMPTY_STRING))
  const entries = values.map((value, index) => ({ path: toPath(encodeRlp(rlpInteger(index))), value }))
  entries.sort((a, b) => Buffer.compare(a.path, b.path))
  return keccak256(encodeNode(entries, { from: 0, to: entries.length, depth: 0 }))
}

function toPath(key: Uint8Array): Uint8Array {
  const path = new Uint8Array(2 * key.length)
  key.forEach((byte, index) => {
    path[2 * index] = byte >> 4
    path[2 * index + 1] = byte & 0x0f
  })
  return path
}

/** Hex-prefix encoding (yellow paper, appendix C) of the rest of a path. */
function compactPath(path: Uint8Array, isLeaf: boolean): Uint8Array {
  const isOdd = path.length % 2 === 1
  const flags = (isLeaf ? 2 : 0) + (isOdd ? 1 : 0)
  const compact = new Uint8Array(1 + Math.floor(path.length / 2))
  compact[0] = isOdd ? (flags << 4) | (path[0] ?? 0) : flags << 4
  for (let at = isOdd ? 1 : 0, to = 1; at < path.length; at += 2, to++) {
    compact[to] = ((path[at] ?? 0) << 4) | (path[at + 1] ?? 0)
  }
  return compact
}

/** Entries of a sorted list from … to before `to`, which agree in their first `depth` half-bytes. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly depth: number
}

/** The encoded node over a stretch of entries: good until the next one. */
function encodeNode(entries: readonly Entry[], { from, to, depth }: Stretch): Uint8Array {
  const first = entries[from]
  const last = entries[to - 1]
  if (first === undefined || last === undefined) throw new Error('a node is of at least one entry')
  if (from === to - 1) return encodePair(compactPath(first.path.subarray(depth), true), () => writer.bytes(first.value))
  let shared = depth
  while (first.path[shared] === last.path[shared]) shared++
  if (shared === depth) return encodeBranch(entries, { from, to, depth })
  const below = referenceTo(entries, { from, to, depth: shared })
  return encodePair(compactPath(first.path.subarray(depth, shared), false), () => writer.raw(below))
}

function encodePair(path: Uint8Array, writeSecond: () => void): Uint8Array {
  writer.reset()
  writeSecond()
  writer.bytes(path)
  writer.closeList(0)
  return writer.take(0)
}

const NO_CHILD = Uint8Array.of(0x80)

function encodeBranch(entries: readonly Entry[], { from, to, depth }: Stretch): Uint8Array {
  const children: Uint8Array[] = []
  let begin = from
  for (let nibble = 0; nibble < BRANCH_CHILDREN; nibble++) {
    let end = begin
    while (end < to && entries[end]?.path[depth] === nibble) end++
    children.push(end === begin ? NO_CHILD : referenceTo(entries, { from: begin, to: end, depth: depth + 1 }))
    begin = end
  }
  writer.reset()
  // No RLP of an integer is the beginning of another, so no key ends in a branch and its value is always empty.
  writer.raw(NO_CHILD)
  for (const child of children.toReversed()) writer.raw(child)
  writer.closeList(0)
  return writer.take(0)
}

/** A node stands in its parent by its hash, or as it is when its encoding is shorter than one. */
function referenceTo(entries: readonly Entry[], stretch: Stretch): Uint8Array {
  const encoded = encodeNode(entries, stretch)
  if (encoded.length < HASH_BYTES) return new Uint8Array(encoded)
  const reference = new Uint8Array(1 + HASH_BYTES)
  reference[0] = 0x80 + HASH_BYTES
  reference.set(keccak256(encoded), 1)
  return reference
}
