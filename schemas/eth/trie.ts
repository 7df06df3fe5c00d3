import { keccak256 } from './keccak.ts'
import { encodeRlp, type RlpItem, rlpInteger } from './rlp.ts'

const EMPTY_STRING = new Uint8Array(0)
const HASH_BYTES = 32
const BRANCH_CHILDREN = 16

interface Entry {
  /** The key as half-bytes, most significant first. */
  readonly path: Uint8Array
  readonly value: Uint8Array
}

/**
 * Root of the Merkle Patricia trie that maps rlp(index) to the value at that index: transactionsRoot, receiptsRoot and
 * withdrawalsRoot of an execution header (yellow paper, appendix D and section 4.3). Values are the encoded items as
 * they stand in the trie, 32 bytes come back; no values give the well-known empty root.
 */
export function orderedTrieRoot(values: readonly Uint8Array[]): Uint8Array {
  if (values.length === 0) return keccak256(encodeRlp(EMPTY_STRING))
  const entries = values.map((value, index) => ({ path: toPath(encodeRlp(rlpInteger(index))), value }))
  entries.sort((a, b) => Buffer.compare(a.path, b.path))
  return keccak256(encodeRlp(nodeOf(entries, 0)))
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

/** The node over entries, sorted by path, which agree in their first `depth` half-bytes. */
function nodeOf(entries: readonly Entry[], depth: number): RlpItem {
  const first = entries[0]
  const last = entries[entries.length - 1]
  if (first === undefined || last === undefined) return EMPTY_STRING
  if (entries.length === 1) return [compactPath(first.path.subarray(depth), true), first.value]
  let shared = depth
  while (first.path[shared] === last.path[shared]) shared++
  if (shared > depth)
    return [compactPath(first.path.subarray(depth, shared), false), reference(nodeOf(entries, shared))]
  return branchOf(entries, depth)
}

function branchOf(entries: readonly Entry[], depth: number): RlpItem {
  const children: RlpItem[] = []
  let from = 0
  for (let nibble = 0; nibble < BRANCH_CHILDREN; nibble++) {
    let to = from
    while (entries[to]?.path[depth] === nibble) to++
    children.push(to === from ? EMPTY_STRING : reference(nodeOf(entries.slice(from, to), depth + 1)))
    from = to
  }
  // No RLP of an integer is the beginning of another, so no key ends in a branch and its value is always empty.
  children.push(EMPTY_STRING)
  return children
}

/** A node stands in its parent by its hash, or as it is when its encoding is shorter than one. */
function reference(node: RlpItem): RlpItem {
  const encoded = encodeRlp(node)
  return encoded.length < HASH_BYTES ? node : keccak256(encoded)
}
