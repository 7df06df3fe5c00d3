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
 * transactions root that of the transactions' bytes, each transaction has its own bytes' hash, and who sent the last one, which may
 * pay the proposer, has signed it. Who sent the others is not checked: it costs a third of a millisecond for each, and no figure
 * depends on it.
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
  const last = transactions.at(-1)
  if (last !== undefined && isKnownType(transactionType(last))) checkSigner(last)
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

function checkSigner(transaction: NodeTransaction): void {
  if (signerOf(transaction) === transaction.from.toLowerCase()) return
  throw inconsistent(`transaction ${transaction.hash} was signed by somebody else than it says`)
}
