import type { deneb } from '@lodestar/types'
import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import type { ReceiptLog } from '../../../schemas/eth/receipts.ts'
import type { NewBlock } from './block-store.ts'
import type { ExecutedBlock, MinedTransaction, SealedBlock } from './sealed-block.ts'

/** A block as anvil tells it, with the fields of its transactions that no other node would show. */
export interface MinedBlock extends ExecutedBlock {
  readonly transactions: readonly (MinedTransaction & Readonly<Record<string, unknown>>)[]
}

export interface RpcReceipt {
  readonly logs: readonly ReceiptLog[]
  readonly blobGasUsed?: Hex
  readonly blobGasPrice?: Hex
  readonly blockTimestamp?: unknown
}

interface SealedHashes {
  readonly blockHash: Hex
  readonly transactionHash: Hex
}

/** anvil's transaction in the sealed block: without the blobs and anvil's own notes, with our block hash. */
function toSealedTransaction(transaction: MinedBlock['transactions'][number], blockHash: Hex) {
  const { blobs, commitments, proofs, cellProofs, output, revertReason, blockTimestamp, ...standard } = transaction
  return { ...standard, blockHash }
}

/** anvil's receipt, with the hashes of what it belongs to. */
function toSealedReceipt(receipt: RpcReceipt, { blockHash, transactionHash }: SealedHashes): object {
  const { blobGasPrice, blockTimestamp, ...standard } = receipt
  const blobPrice = receipt.blobGasUsed === undefined ? {} : { blobGasPrice }
  const logs = receipt.logs.map((log) => ({ ...log, blockHash, transactionHash }))
  return { ...standard, ...blobPrice, blockHash, transactionHash, logs }
}

/** The sealed block with anvil's transactions and receipts, as the store wants it. */
export function toNewBlock(
  sealed: SealedBlock,
  executed: MinedBlock,
  receipts: Promise<readonly RpcReceipt[]>,
): NewBlock {
  const transactions = executed.transactions.map((transaction) => toSealedTransaction(transaction, sealed.hash))
  const hashesAt = (index: number): SealedHashes => {
    const transaction = transactions[index]
    if (transaction === undefined) throw new Error('a receipt belongs to a transaction')
    return { blockHash: sealed.hash, transactionHash: transaction.hash }
  }
  return {
    number: Number(executed.number),
    hash: sealed.hash,
    header: sealed.header,
    logsBloom: executed.logsBloom,
    transactions,
    receipts: receipts.then((all) => all.map((receipt, index) => toSealedReceipt(receipt, hashesAt(index)))),
  }
}

/** Of the blobs that the block's transactions carry, in order. */
export function commitmentsOf(executed: MinedBlock): deneb.BlobKzgCommitments {
  return executed.transactions.flatMap((transaction) => ((transaction.commitments ?? []) as Hex[]).map(bytesOf))
}
