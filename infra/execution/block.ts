import { AppError } from '../../schemas/errors.ts'
import { receiptsRoot } from '../../schemas/eth/receipts.ts'
import type { CoinbaseTransfer, ExecutionBlockData, TransferLog } from '../../schemas/events/execution-block.ts'
import type { RpcBlock, RpcReceipt, RpcTransaction } from './answers.ts'

type Hex = `0x${string}`

// Topics of the token transfers that processors read: the first topic is keccak256 of the event's signature.
const ERC721_TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef' // Transfer(address,address,uint256)
const ERC721_TRANSFER_TOPICS = 4 // ERC-20's event of the same name has 3: its amount is not indexed
const TRANSFER_TOPICS: ReadonlySet<string> = new Set([
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62', // TransferSingle(address,address,address,uint256,uint256)
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb', // TransferBatch(address,address,address,uint256[],uint256[])
  '0xdeaa91b6123d068f5821d0fb0678463d1a8a6079fe8af5de3ce5e896dcf9133d', // ConsecutiveTransfer(uint256,uint256,address,address)
])

/** Type of the first transaction whose price is a maximum and a tip (EIP-1559); those above it have the same fields. */
const DYNAMIC_FEE_TYPE = 2
/** Types whose fields we know: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702. */
const TYPE_MAX = 4

const inconsistent = (what: string): AppError => new AppError('node_inconsistent', what, { retryable: true })

/**
 * Reduces a block and its receipts to what rewards and NFTs need. Throws AppError `node_inconsistent` when the receipts do
 * not belong to the block: other transactions, another receipts root, a gas use or price that contradicts what commits to it.
 */
export function toExecutionBlock(block: RpcBlock, receipts: readonly RpcReceipt[]): ExecutionBlockData {
  const { transactions } = block
  checkReceipts(block, receipts)
  const rows = transactions.length
  const columns = {
    type: new Uint8Array(rows),
    succeeded: new Uint8Array(rows),
    gasUsed: new BigUint64Array(rows),
    effectiveGasPriceWei: new BigUint64Array(rows),
  }
  const coinbase = block.miner.toLowerCase()
  const coinbaseTransfers: CoinbaseTransfer[] = []
  const transferLogs: TransferLog[] = []
  let gasBefore = 0n
  receipts.forEach((receipt, i) => {
    const transaction = transactions[i] as RpcTransaction
    const gasUsed = BigInt(receipt.cumulativeGasUsed) - gasBefore
    gasBefore = BigInt(receipt.cumulativeGasUsed)
    columns.type[i] = Number(transaction.type ?? '0x0')
    columns.succeeded[i] = receipt.status === '0x1' ? 1 : 0
    columns.gasUsed[i] = gasUsed
    columns.effectiveGasPriceWei[i] = checkedPrice(block, transaction, receipt)
    const valueWei = BigInt(transaction.value)
    if (valueWei > 0n && transaction.from.toLowerCase() === coinbase) {
      coinbaseTransfers.push({
        transactionIndex: i,
        transactionHash: transaction.hash.toLowerCase(),
        to: transaction.to?.toLowerCase() ?? null,
        valueWei: valueWei.toString(),
        succeeded: receipt.status === '0x1',
      })
    }
    transferLogs.push(...transfersOf(receipt, i))
  })
  return {
    header: {
      number: Number(block.number),
      hash: block.hash.toLowerCase(),
      parentHash: block.parentHash.toLowerCase(),
      timestampSec: Number(block.timestamp),
      coinbase,
      extraData: block.extraData.toLowerCase(),
      baseFeePerGasWei: BigInt(block.baseFeePerGas ?? 0).toString(),
      gasUsed: Number(block.gasUsed),
      coinbaseTransfers,
      transferLogs,
    },
    columns,
  }
}

function transfersOf({ logs, transactionHash }: RpcReceipt, transactionIndex: number): readonly TransferLog[] {
  return logs.filter(isTransfer).map((log) => ({
    transactionIndex,
    transactionHash: transactionHash.toLowerCase(),
    logIndex: Number(log.logIndex),
    address: log.address.toLowerCase(),
    topics: log.topics.map((topic) => topic.toLowerCase()),
    data: log.data.toLowerCase(),
  }))
}

function isTransfer({ topics }: { readonly topics: readonly string[] }): boolean {
  const topic = topics[0]?.toLowerCase() ?? ''
  return TRANSFER_TOPICS.has(topic) || (topic === ERC721_TRANSFER && topics.length === ERC721_TRANSFER_TOPICS)
}

function checkReceipts(block: RpcBlock, receipts: readonly RpcReceipt[]): void {
  const { transactions } = block
  if (receipts.length !== transactions.length) {
    throw inconsistent(`block ${block.hash} has ${transactions.length} transactions, but ${receipts.length} receipts`)
  }
  const committed = receipts.map((receipt, i) => {
    const transaction = transactions[i] as RpcTransaction
    if (receipt.transactionHash.toLowerCase() !== transaction.hash.toLowerCase()) {
      throw inconsistent(`receipt ${i} of block ${block.hash} belongs to another transaction`)
    }
    return {
      type: Number(transaction.type ?? '0x0'),
      status: receipt.status === '0x1' ? ('success' as const) : ('reverted' as const),
      cumulativeGasUsed: BigInt(receipt.cumulativeGasUsed),
      logs: receipt.logs as readonly { address: Hex; topics: readonly Hex[]; data: Hex }[],
      logsBloom: receipt.logsBloom as Hex,
    }
  })
  const root = `0x${Buffer.from(receiptsRoot(committed)).toString('hex')}`
  if (root !== block.receiptsRoot.toLowerCase()) {
    throw inconsistent(`the receipts of block ${block.hash} do not agree with its receipts root`)
  }
}

/**
 * The price that the receipt tells, which no root commits to: it must be what the transaction and the base fee make
 * (EIP-1559: min(maxFeePerGas, baseFeePerGas + maxPriorityFeePerGas)).
 */
function checkedPrice(block: RpcBlock, transaction: RpcTransaction, receipt: RpcReceipt): bigint {
  const told = BigInt(receipt.effectiveGasPrice)
  const type = Number(transaction.type ?? '0x0')
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (type > TYPE_MAX) return told
  let expected: bigint | undefined
  if (type < DYNAMIC_FEE_TYPE && typeof gasPrice === 'string') expected = BigInt(gasPrice)
  if (type >= DYNAMIC_FEE_TYPE && typeof maxFeePerGas === 'string' && typeof maxPriorityFeePerGas === 'string') {
    const offered = BigInt(block.baseFeePerGas ?? 0) + BigInt(maxPriorityFeePerGas)
    const limit = BigInt(maxFeePerGas)
    expected = offered < limit ? offered : limit
  }
  if (expected !== told) throw inconsistent(`the gas price of ${transaction.hash} contradicts its transaction`)
  return told
}
