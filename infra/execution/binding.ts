import { AppError } from '../../schemas/errors.ts'
import { headerHash } from '../../schemas/eth/header.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { keccak256 } from '../../schemas/eth/keccak.ts'
import { encodeTransactions, isKnownType, signerOf, transactionType } from '../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import type { NodeBlock, NodeTransaction } from './result-shapes.ts'

/**
 * How a chain's blocks are bound to their hashes. `ethereum`: as the execution specification says, so everything is checked, and
 * what cannot be is refused. `layer`: there may be types of transactions and header fields of its own: what they leave unchecked is
 * told, and only contradictions are refused.
 */
export type Binding = 'ethereum' | 'layer'

export function inconsistent(what: string): AppError {
  return new AppError('node_inconsistent', what, { retryable: true })
}

/**
 * Whether header and transactions are those that the block's hash commits to: the hash is that of the header's bytes, the
 * transactions root that of the transactions' bytes, and each transaction has its own bytes' hash.
 * Throws AppError `node_inconsistent` where that contradicts what the node says, and where a chain of kind `ethereum` leaves
 * something unchecked.
 */
export function isBound(block: NodeBlock, binding: Binding): boolean {
  const unchecked = uncheckedPart(block)
  if (unchecked !== undefined && binding === 'ethereum') throw inconsistent(unchecked)
  return unchecked === undefined
}

/** What the hash of the block does not commit to, as far as the formats are known; undefined when there is nothing. */
function uncheckedPart(block: NodeBlock): string | undefined {
  const { hash, transactions } = block
  const known = transactions.filter((transaction) => isKnownType(transactionType(transaction)))
  const encoded = encodeTransactions(known)
  for (const [i, transaction] of known.entries()) checkHash(transaction, encoded[i] as Uint8Array)
  const unknown = transactions.find((transaction) => !isKnownType(transactionType(transaction)))
  if (unknown !== undefined) return `transaction ${unknown.hash} is of type ${unknown.type}, which is not known`
  if (hexOf(orderedTrieRoot(encoded)) !== block.transactionsRoot.toLowerCase()) {
    throw inconsistent(`the transactions of block ${hash} do not agree with its transactions root`)
  }
  return headerHash(block) === hash.toLowerCase() ? undefined : `the header of block ${hash} does not have that hash`
}

function checkHash(transaction: NodeTransaction, bytes: Uint8Array): void {
  if (hexOf(keccak256(bytes)) === transaction.hash.toLowerCase()) return
  throw inconsistent(`transaction ${transaction.hash} does not have that hash`)
}

/** Whoever makes a block pays in its last transactions: their senders are proven, whoever they are. */
const LAST_TRANSACTIONS = 2
/** A coinbase that sends value more often than this is no builder that pays a proposer: a block has room for a thousand transfers. */
const COINBASE_TRANSFERS_MAX = 16

/**
 * Positions, ascending, of the transactions whose senders have signed them: the block's last ones, and the newest of those by which its
 * coinbase is said to have sent value, which may pay the proposer. Who sent the others is not checked: it costs a third of a
 * millisecond for each, and no figure depends on it. Types of other layers are not read. Throws AppError `node_inconsistent` where
 * somebody else has signed.
 */
export function provenSenders({ transactions, miner }: NodeBlock): readonly number[] {
  const coinbase = miner.toLowerCase()
  const positions = transactions.map((_, position) => position)
  const transfers = positions.filter((position) => {
    const { from, value } = transactions[position] as NodeTransaction
    return from.toLowerCase() === coinbase && BigInt(value) > 0n
  })
  const wanted = new Set([...transfers.slice(-COINBASE_TRANSFERS_MAX), ...positions.slice(-LAST_TRANSACTIONS)])
  return positions.filter((position) => {
    const transaction = transactions[position] as NodeTransaction
    if (!wanted.has(position) || !isKnownType(transactionType(transaction))) return false
    checkSigner(transaction)
    return true
  })
}

function checkSigner(transaction: NodeTransaction): void {
  if (signerOf(transaction) === transaction.from.toLowerCase()) return
  throw inconsistent(`transaction ${transaction.hash} was signed by somebody else than it says`)
}
