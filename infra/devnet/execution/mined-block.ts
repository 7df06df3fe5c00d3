import type { ReceiptLog } from '../../../schemas/eth/receipts.ts'
import type { Hex } from '../engine.ts'
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

/** anvil's transaction in the sealed block: without the blobs and anvil's own notes, with our block hash. */
function toSealedTransaction(transaction: MinedBlock['transactions'][number], blockHash: Hex) {
  const { blobs, commitments, proofs, cellProofs, output, revertReason, blockTimestamp, ...standard } = transaction
  return { ...standard, blockHash }
}

function toSealedReceipt(receipt: RpcReceipt, blockHash: Hex): object {
  const { blobGasPrice, blockTimestamp, ...standard } = receipt
  const blobPrice = receipt.blobGasUsed === undefined ? {} : { blobGasPrice }
  return { ...standard, ...blobPrice, blockHash, logs: receipt.logs.map((log) => ({ ...log, blockHash })) }
}

/** The sealed block with anvil's transactions and receipts, as the store wants it. */
export function toNewBlock(
  sealed: SealedBlock,
  executed: MinedBlock,
  receipts: Promise<readonly RpcReceipt[]>,
): NewBlock {
  return {
    number: Number(executed.number),
    hash: sealed.hash,
    header: sealed.header,
    logsBloom: executed.logsBloom,
    transactions: executed.transactions.map((transaction) => toSealedTransaction(transaction, sealed.hash)),
    receipts: receipts.then((all) => all.map((receipt) => toSealedReceipt(receipt, sealed.hash))),
  }
}
