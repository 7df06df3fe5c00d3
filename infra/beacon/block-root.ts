import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/hashtree'
import { type ForkName, MAX_BYTES_PER_TRANSACTION, MAX_TRANSACTIONS_PER_PAYLOAD } from '@lodestar/params'
import { type BeaconBlock, ssz } from '@lodestar/types'
import { giveBack, lendZeros } from '../../schemas/memory.ts'
import { CHUNK_BYTES, climb, depthOf, lengthChunk, PAIR_BYTES, withLength } from './merkle.ts'

const TRANSACTION_DEPTH = depthOf(MAX_BYTES_PER_TRANSACTION / CHUNK_BYTES)

/** Forks whose blocks carry their payload; later ones need rules of their own. */
export const FORKS = ['phase0', 'altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu'] as const
export type Fork = (typeof FORKS)[number]

/**
 * Root of a beacon block. A block whose payload stands for itself by the roots of its lists has the same root as the whole
 * (consensus-specs, builder: BlindedBeaconBlock), and our way to the transactions' root is the quicker one.
 */
export function blockRoot(fork: Fork, message: BeaconBlock): Uint8Array {
  if (fork === 'phase0' || fork === 'altair') return ssz[fork].BeaconBlock.hashTreeRoot(message as never)
  const { executionPayload, ...body } = (message as BeaconBlock<ForkName.fulu>).body
  const { transactions, withdrawals, ...payload } = executionPayload
  const transactionsRoot = rootOfTransactions(transactions)
  const withdrawalsRoot =
    fork === 'bellatrix' ? {} : { withdrawalsRoot: ssz.capella.Withdrawals.hashTreeRoot(withdrawals) }
  const executionPayloadHeader = { ...payload, transactionsRoot, ...withdrawalsRoot }
  return ssz[fork].BlindedBeaconBlock.hashTreeRoot({ ...message, body: { ...body, executionPayloadHeader } } as never)
}

/**
 * Root of `List[ByteList[MAX_BYTES_PER_TRANSACTION], MAX_TRANSACTIONS_PER_PAYLOAD]` (consensus-specs, simple-serialize). The
 * trees of all transactions are hashed level by level at once: one by one, most of the time goes into a thousand tiny hashes of
 * their empty right-hand sides.
 */
export function rootOfTransactions(transactions: readonly Uint8Array[]): Uint8Array {
  const { length } = transactions
  const roots = new Uint8Array(Math.max(1, Math.ceil(length / 2)) * PAIR_BYTES)
  if (length > 0)
    hasher.hashInto(withLengths(treeRoots(transactions), transactions), roots.subarray(0, length * CHUNK_BYTES))
  const root = new Uint8Array(CHUNK_BYTES)
  hasher.merkleizeBlocksBytes(length === 0 ? new Uint8Array(0) : roots, MAX_TRANSACTIONS_PER_PAYLOAD, root, 0)
  return withLength(root, length)
}

/** Roots of the trees of chunks of all transactions, one after the other. */
function treeRoots(transactions: readonly Uint8Array[]): Uint8Array {
  // Nodes of each tree at the level; a tree without chunks is one empty chunk.
  const counts = transactions.map(({ length }) => Math.max(1, Math.ceil(length / CHUNK_BYTES)))
  const nodes = lendZeros(Uint8Array, counts.reduce((sum, count) => sum + count, 0) * CHUNK_BYTES)
  let at = 0
  transactions.forEach((bytes, i) => {
    nodes.set(bytes, at)
    at += (counts[i] as number) * CHUNK_BYTES
  })
  const roots = climb(nodes, counts, 0, TRANSACTION_DEPTH)
  giveBack([nodes])
  return roots
}

/** Each root beside its transaction's length, ready to be hashed together. */
function withLengths(roots: Uint8Array, transactions: readonly Uint8Array[]): Uint8Array {
  const pairs = new Uint8Array(transactions.length * PAIR_BYTES)
  transactions.forEach((bytes, i) => {
    pairs.set(roots.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES), i * PAIR_BYTES)
    pairs.set(lengthChunk(bytes.length), i * PAIR_BYTES + CHUNK_BYTES)
  })
  return pairs
}
