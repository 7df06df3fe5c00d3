import { AppError } from '../../schemas/errors.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { isKeptLog } from '../../schemas/eth/kept-logs.ts'
import { type CommittedReceipt, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { isKnownType, transactionType } from '../../schemas/eth/signed-transaction.ts'
import { ADDRESS_BYTES, HASH_BYTES, type TransactionColumns } from '../../schemas/events/execution-block.ts'
import type { LogColumns } from '../../schemas/events/execution-logs.ts'
import type { ExecutionBlock } from '../ports/execution-source.ts'
import { type Binding, inconsistent, isBound } from './binding.ts'
import { malformed } from './json-rpc.ts'
import type { NodeBlock, NodeReceipt, NodeTransaction } from './result-shapes.ts'

interface Executed {
  readonly transaction: NodeTransaction
  readonly receipt: NodeReceipt
}

/** Type of the first transaction whose price is a maximum and a tip (EIP-1559); those above it have the same fields. */
const DYNAMIC_FEE_TYPE = 2
const SUCCEEDED = '0x1'

/**
 * Reduces a block and its receipts to what rewards and NFTs need. Throws AppError: `node_inconsistent` when block, transactions and
 * receipts do not belong together (see `isBound`; other transactions, another receipts root, a price that contradicts its
 * transaction), `node_malformed` when they lack what a figure needs, `usage` for a block of before Byzantium.
 */
export function toExecutionBlock(block: NodeBlock, receipts: readonly NodeReceipt[], binding: Binding): ExecutionBlock {
  const matchesHash = isBound(block, binding)
  const executed = pair(block, receipts)
  const root = hexOf(receiptsRoot(executed.map(toCommitted)))
  if (root !== block.receiptsRoot.toLowerCase()) {
    throw inconsistent(`the receipts of block ${block.hash} do not agree with its receipts root`)
  }
  return {
    header: {
      number: Number(block.number),
      hash: block.hash.toLowerCase(),
      parentHash: block.parentHash.toLowerCase(),
      timestampSec: Number(block.timestamp),
      coinbase: block.miner.toLowerCase(),
      extraData: block.extraData.toLowerCase(),
      baseFeePerGasWei: baseFeeWei(block).toString(),
      gasUsed: Number(block.gasUsed),
    },
    matchesHash,
    columns: transactionColumns(block, executed),
    logs: keptLogs(executed),
  }
}

function baseFeeWei({ baseFeePerGas }: NodeBlock): bigint {
  return BigInt(baseFeePerGas ?? '0x0')
}

/** Each transaction with its receipt. */
function pair(block: NodeBlock, receipts: readonly NodeReceipt[]): readonly Executed[] {
  const { transactions } = block
  if (receipts.length !== transactions.length) {
    throw inconsistent(`block ${block.hash} has ${transactions.length} transactions, but ${receipts.length} receipts`)
  }
  return transactions.map((transaction, i) => {
    const receipt = receipts[i]
    if (receipt?.transactionHash.toLowerCase() !== transaction.hash.toLowerCase()) {
      throw inconsistent(`receipt ${i} of block ${block.hash} belongs to another transaction`)
    }
    if (typeof receipt.status === 'string') return { transaction, receipt }
    throw new AppError(
      'usage',
      `block ${Number(block.number)} is of before Byzantium: its receipts do not tell which transactions failed; start at a later block.`,
    )
  })
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

function transactionColumns(block: NodeBlock, executed: readonly Executed[]): TransactionColumns {
  const rows = executed.length
  const columns = {
    type: new Uint8Array(rows),
    succeeded: new Uint8Array(rows),
    gasUsed: new BigUint64Array(rows),
    effectiveGasPriceWei: [] as bigint[],
    sender: new Uint8Array(rows * ADDRESS_BYTES),
    recipient: new Uint8Array(rows * ADDRESS_BYTES),
    isCreation: new Uint8Array(rows),
    valueWei: [] as bigint[],
    hash: new Uint8Array(rows * HASH_BYTES),
  }
  let gasBefore = 0n
  executed.forEach(({ transaction, receipt }, i) => {
    const cumulativeGasUsed = BigInt(receipt.cumulativeGasUsed)
    columns.type[i] = transactionType(transaction)
    columns.succeeded[i] = receipt.status === SUCCEEDED ? 1 : 0
    // The receipts root commits to the sum only, so that is what the parts are taken from.
    columns.gasUsed[i] = cumulativeGasUsed - gasBefore
    gasBefore = cumulativeGasUsed
    columns.effectiveGasPriceWei.push(checkedPrice(block, transaction, receipt))
    columns.sender.set(bytesOf(transaction.from), i * ADDRESS_BYTES)
    columns.recipient.set(recipientOf(transaction, receipt), i * ADDRESS_BYTES)
    columns.isCreation[i] = isCreation(transaction) ? 1 : 0
    columns.valueWei.push(BigInt(transaction.value))
    columns.hash.set(bytesOf(transaction.hash), i * HASH_BYTES)
  })
  return columns
}

const NOBODY = new Uint8Array(ADDRESS_BYTES)

function isCreation({ to }: NodeTransaction): boolean {
  return typeof to !== 'string'
}

function recipientOf(transaction: NodeTransaction, receipt: NodeReceipt): Uint8Array {
  if (typeof transaction.to === 'string') return bytesOf(transaction.to)
  // Nodes differ in whether they tell the address of a contract that was not created.
  if (receipt.status !== SUCCEEDED) return NOBODY
  if (typeof receipt.contractAddress === 'string') return bytesOf(receipt.contractAddress)
  throw malformed(`the receipt of ${transaction.hash} lacks the contract that it created`)
}

/**
 * The price that the receipt tells, which no root commits to: it must be what the transaction and the base fee make
 * (EIP-1559: min(maxFeePerGas, baseFeePerGas + maxPriorityFeePerGas)). Types of other layers are believed.
 */
function checkedPrice(block: NodeBlock, transaction: NodeTransaction, receipt: NodeReceipt): bigint {
  const type = transactionType(transaction)
  const told = receipt.effectiveGasPrice
  const expected = expectedPrice(block, transaction, type)
  const price = typeof told === 'string' ? BigInt(told) : expected
  if (price === undefined) throw malformed(`the receipt of ${transaction.hash} lacks its gas price`)
  if (isKnownType(type) && price !== expected) {
    throw inconsistent(`the gas price of ${transaction.hash} contradicts its transaction`)
  }
  return price
}

function expectedPrice(block: NodeBlock, transaction: NodeTransaction, type: number): bigint | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (type < DYNAMIC_FEE_TYPE) return typeof gasPrice === 'string' ? BigInt(gasPrice) : undefined
  if (typeof maxFeePerGas !== 'string' || typeof maxPriorityFeePerGas !== 'string') return undefined
  const offered = baseFeeWei(block) + BigInt(maxPriorityFeePerGas)
  const limit = BigInt(maxFeePerGas)
  return offered < limit ? offered : limit
}

/** Logs are counted, because no root commits to the index that a node tells. */
function keptLogs(executed: readonly Executed[]): LogColumns {
  const logIndex: number[] = []
  const transactionIndex: number[] = []
  const transactionHash: Uint8Array[] = []
  const address: Uint8Array[] = []
  const topics: Uint8Array[] = []
  const data: Uint8Array[] = []
  let index = 0
  executed.forEach(({ transaction, receipt }, i) => {
    for (const log of receipt.logs) {
      if (isKeptLog(log)) {
        logIndex.push(index)
        transactionIndex.push(i)
        transactionHash.push(bytesOf(transaction.hash))
        address.push(bytesOf(log.address))
        topics.push(joined(log.topics.map(bytesOf)))
        data.push(bytesOf(log.data))
      }
      index++
    }
  })
  return {
    logIndex: Uint32Array.from(logIndex),
    transactionIndex: Uint32Array.from(transactionIndex),
    transactionHash: joined(transactionHash),
    address: joined(address),
    topics,
    data,
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.concat(pieces)
  return new Uint8Array(buffer, byteOffset, length)
}
