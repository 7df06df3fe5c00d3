import { AppError } from '../../schemas/errors.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { type CommittedReceipt, logsBloomOf, type ReceiptLog, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { transactionType } from '../../schemas/eth/signed-transaction.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import { inconsistent } from './binding.ts'
import type { NodeBlock, NodeReceipt, NodeTransaction } from './result-shapes.ts'

export interface Executed {
  readonly transaction: NodeTransaction
  readonly receipt: NodeReceipt
}

export const SUCCEEDED = '0x1'

/** Each transaction with its receipt. Throws AppError `node_inconsistent` where they are not the same ones, in the same order. */
export function pairReceipts(block: NodeBlock, receipts: readonly NodeReceipt[]): readonly Executed[] {
  const { transactions } = block
  if (receipts.length !== transactions.length) {
    throw inconsistent(`block ${block.hash} has ${transactions.length} transactions, but ${receipts.length} receipts`)
  }
  return transactions.map((transaction, i) => {
    const receipt = receipts[i]
    if (receipt?.transactionHash.toLowerCase() === transaction.hash.toLowerCase()) return { transaction, receipt }
    throw inconsistent(`receipt ${i} of block ${block.hash} belongs to another transaction`)
  })
}

/** Throws AppError where receipts are not those that the header's receipts root commits to: `node_inconsistent`, or `usage`. */
export function checkReceiptsRoot(block: NodeBlock, executed: readonly Executed[]): void {
  if (executed.some(({ receipt }) => typeof receipt.status !== 'string')) {
    throw new AppError(
      'usage',
      `block ${Number(block.number)} is of before Byzantium: its receipts do not tell which transactions failed; start at a later block, or have blocks checked by their bloom (blocks: { check: bloom }).`,
    )
  }
  if (hexOf(receiptsRoot(executed.map(toCommitted))) === block.receiptsRoot.toLowerCase()) return
  throw inconsistent(`the receipts of block ${block.hash} do not agree with its receipts root`)
}

function toCommitted({ transaction, receipt }: Executed): CommittedReceipt {
  const { cumulativeGasUsed, logs, logsBloom, depositNonce, depositReceiptVersion } = receipt
  const committed = {
    type: transactionType(transaction),
    status: receipt.status === SUCCEEDED ? 'success' : 'reverted',
    cumulativeGasUsed: BigInt(cumulativeGasUsed),
    logs,
    logsBloom,
  } as const
  if (typeof depositNonce !== 'string' || typeof depositReceiptVersion !== 'string') return committed
  return { ...committed, deposit: { nonce: BigInt(depositNonce), version: BigInt(depositReceiptVersion) } }
}

/**
 * Throws AppError where all logs of a block are not what its header leaves room for. A node that has the block and not its logs yet is
 * `node_lagging`, whatever is checked: only a header whose bloom is full says nothing about that.
 */
export function checkLogs(block: NodeBlock, logs: readonly ReceiptLog[], check: Exclude<LogsCheck, 'receipts'>): void {
  const told = Buffer.from(bytesOf(block.logsBloom))
  const isFull = told.every((byte) => byte === 0xff)
  if (logs.length === 0 && !isFull && told.some((byte) => byte !== 0)) {
    throw new AppError('node_lagging', `the node has no logs of block ${block.hash}, whose bloom has some`, {
      retryable: true,
    })
  }
  if (check === 'none' || told.equals(logsBloomOf(logs))) return
  throw inconsistent(`the logs of block ${block.hash} do not agree with its bloom`)
}
