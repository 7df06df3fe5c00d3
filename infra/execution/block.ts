import type { Block, Transaction, TransactionReceipt } from 'viem'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { isKeptLog } from '../../schemas/eth/kept-logs.ts'
import { type CommittedReceipt, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { ADDRESS_BYTES, HASH_BYTES, type TransactionColumns } from '../../schemas/events/execution-block.ts'
import type { LogColumns } from '../../schemas/events/execution-logs.ts'
import type { ExecutionBlock } from '../ports/execution-source.ts'
import { malformed } from './json-rpc.ts'

/** A block with its transactions, and a receipt, as viem formats what passed the checks of shape. */
export type NodeBlock = Block<bigint, true, 'latest'>
export type NodeReceipt = Omit<TransactionReceipt, 'status' | 'effectiveGasPrice'> & {
  readonly status: TransactionReceipt['status'] | null
  readonly effectiveGasPrice: bigint | null
  readonly depositNonce?: Hex | null
  readonly depositReceiptVersion?: Hex | null
}
type StatedReceipt = NodeReceipt & { readonly status: TransactionReceipt['status'] }
interface Executed {
  readonly transaction: Transaction<bigint, number, false>
  readonly receipt: StatedReceipt
}

/** Type of the first transaction whose price is a maximum and a tip (EIP-1559); those above it have the same fields. */
const DYNAMIC_FEE_TYPE = 2
/** Types whose fields we know: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702. */
const TYPE_MAX = 4

const inconsistent = (what: string): AppError => new AppError('node_inconsistent', what, { retryable: true })

/**
 * Reduces a block and its receipts to what rewards and NFTs need. Throws AppError: `node_inconsistent` when the receipts do
 * not belong to the block (other transactions, another receipts root, a gas use or price that contradicts what commits to
 * it), `node_malformed` when they lack what a figure needs, `usage` for a block of before Byzantium.
 */
export function toExecutionBlock(block: NodeBlock, receipts: readonly NodeReceipt[]): ExecutionBlock {
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
      baseFeePerGasWei: (block.baseFeePerGas ?? 0n).toString(),
      gasUsed: Number(block.gasUsed),
    },
    columns: transactionColumns(block, executed),
    logs: keptLogs(executed),
  }
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
    const { status } = receipt
    if (status !== null) return { transaction, receipt: { ...receipt, status } }
    throw new AppError(
      'usage',
      `block ${block.number} is of before Byzantium: its receipts do not tell which transactions failed; start at a later block.`,
    )
  })
}

function typeOf({ typeHex }: Executed['transaction']): number {
  return Number(typeHex ?? 0)
}

function toCommitted({ transaction, receipt }: Executed): CommittedReceipt {
  const { status, cumulativeGasUsed, logs, logsBloom, depositNonce, depositReceiptVersion } = receipt
  const committed = { type: typeOf(transaction), status, cumulativeGasUsed, logs, logsBloom }
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
    const { cumulativeGasUsed, status } = receipt
    columns.type[i] = typeOf(transaction)
    columns.succeeded[i] = status === 'success' ? 1 : 0
    // The receipts root commits to the sum only, so that is what the parts are taken from.
    columns.gasUsed[i] = cumulativeGasUsed - gasBefore
    gasBefore = cumulativeGasUsed
    columns.effectiveGasPriceWei.push(checkedPrice(block, transaction, receipt))
    columns.sender.set(bytesOf(transaction.from), i * ADDRESS_BYTES)
    columns.recipient.set(recipientOf(transaction, receipt), i * ADDRESS_BYTES)
    columns.isCreation[i] = transaction.to === null ? 1 : 0
    columns.valueWei.push(transaction.value)
    columns.hash.set(bytesOf(transaction.hash), i * HASH_BYTES)
  })
  return columns
}

const NOBODY = new Uint8Array(ADDRESS_BYTES)

function recipientOf(transaction: Executed['transaction'], receipt: StatedReceipt): Uint8Array {
  if (transaction.to !== null) return bytesOf(transaction.to)
  // Nodes differ in whether they tell the address of a contract that was not created.
  if (receipt.status === 'reverted') return NOBODY
  if (typeof receipt.contractAddress === 'string') return bytesOf(receipt.contractAddress)
  throw malformed(`the receipt of ${transaction.hash} lacks the contract that it created`)
}

/**
 * The price that the receipt tells, which no root commits to: it must be what the transaction and the base fee make
 * (EIP-1559: min(maxFeePerGas, baseFeePerGas + maxPriorityFeePerGas)). Types of other layers are believed.
 */
function checkedPrice(block: NodeBlock, transaction: Executed['transaction'], receipt: StatedReceipt): bigint {
  const told = receipt.effectiveGasPrice
  const type = typeOf(transaction)
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction
  let expected: bigint | undefined
  if (type < DYNAMIC_FEE_TYPE) expected = gasPrice
  else if (maxFeePerGas !== undefined && maxPriorityFeePerGas !== undefined) {
    const offered = (block.baseFeePerGas ?? 0n) + maxPriorityFeePerGas
    expected = offered < maxFeePerGas ? offered : maxFeePerGas
  }
  const price = told ?? expected
  if (price === undefined) throw malformed(`the receipt of ${transaction.hash} lacks its gas price`)
  if (type <= TYPE_MAX && price !== expected) {
    throw inconsistent(`the gas price of ${transaction.hash} contradicts its transaction`)
  }
  return price
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
