import { bytesOf } from '../../schemas/eth/hex.ts'
import { isKnownType, transactionType } from '../../schemas/eth/signed-transaction.ts'
import {
  ADDRESS_BYTES,
  HASH_BYTES,
  type LogsCheck,
  type TransactionColumns,
} from '../../schemas/events/execution-block.ts'
import { malformed } from '../nodes/json.ts'
import { inconsistent } from './binding.ts'
import { type Executed, SUCCEEDED } from './check-logs.ts'
import type { NodeBlock, NodeReceipt, NodeTransaction } from './result-shapes.ts'

/** Type of the first transaction whose price is a maximum and a tip (EIP-1559); those above it have the same fields. */
const DYNAMIC_FEE_TYPE = 2
const NOBODY = new Uint8Array(ADDRESS_BYTES)

export function baseFeeWei({ baseFeePerGas }: NodeBlock): bigint {
  return BigInt(baseFeePerGas ?? '0x0')
}

/** What became of a transaction. */
export interface Outcome {
  readonly succeeded: boolean
  readonly gasUsed: bigint
  readonly priceWei: bigint
  /** The contract that it created, if it did. */
  readonly created: Uint8Array | undefined
}

/** What receipts tell of their transactions; undefined where they do not tell which ones failed. Throws AppError of a node fault. */
export function toldOutcomes(
  block: NodeBlock,
  executed: readonly Executed[],
  check: LogsCheck,
): readonly Outcome[] | undefined {
  if (executed.some(({ receipt }) => typeof receipt.status !== 'string')) return undefined
  let gasBefore = 0n
  return executed.map(({ transaction, receipt }) => {
    const cumulativeGasUsed = BigInt(receipt.cumulativeGasUsed)
    // The receipts root commits to the sum only, so that is what the parts are taken from. Without it, some chains tell no sum.
    const gasUsed = check === 'receipts' ? cumulativeGasUsed - gasBefore : BigInt(receipt.gasUsed)
    gasBefore = cumulativeGasUsed
    const succeeded = receipt.status === SUCCEEDED
    const priceWei = checkedPrice(block, transaction, receipt)
    return { succeeded, gasUsed, priceWei, created: createdBy(transaction, receipt) }
  })
}

/** One row per transaction; of those whose outcomes are not known, what they are themselves. */
export function transactionColumns(
  { transactions }: NodeBlock,
  outcomes: readonly Outcome[] | undefined,
): TransactionColumns {
  const rows = transactions.length
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
  transactions.forEach((transaction, i) => {
    const { succeeded = false, gasUsed = 0n, priceWei = 0n, created = NOBODY } = outcomes?.[i] ?? {}
    columns.type[i] = transactionType(transaction)
    columns.succeeded[i] = succeeded ? 1 : 0
    columns.gasUsed[i] = gasUsed
    columns.effectiveGasPriceWei.push(priceWei)
    columns.sender.set(bytesOf(transaction.from), i * ADDRESS_BYTES)
    columns.recipient.set(isCreation(transaction) ? created : bytesOf(transaction.to ?? '0x'), i * ADDRESS_BYTES)
    columns.isCreation[i] = isCreation(transaction) ? 1 : 0
    columns.valueWei.push(BigInt(transaction.value))
    columns.hash.set(bytesOf(transaction.hash), i * HASH_BYTES)
  })
  return columns
}

function isCreation({ to }: NodeTransaction): boolean {
  return typeof to !== 'string'
}

function createdBy(transaction: NodeTransaction, receipt: NodeReceipt): Uint8Array | undefined {
  // Nodes differ in whether they tell the address of a contract that was not created.
  if (!isCreation(transaction) || receipt.status !== SUCCEEDED) return undefined
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
