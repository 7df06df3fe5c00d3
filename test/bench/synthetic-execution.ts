import { hexOf } from '../../schemas/eth/hex.ts'
import { logsBloomOf, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { accountOf, sealed, signedTransaction } from '../unit/given-rpc-block.ts'

// What the synthetic node knows of the execution layer. Each block has the same transactions and receipts, about as many as a block
// of mainnet, so that they are signed once; its header is its own, and its hash holds.

const TRANSACTIONS_PER_BLOCK = 150
const LOGS_PER_TRANSACTION = 2
const GAS_PER_TRANSACTION = 60_000
const GWEI = 1_000_000_000n
const BASE_FEE_WEI = 7n * GWEI
/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`
const padded = (value: number): `0x${string}` => `0x${value.toString(16).padStart(64, '0')}`
const addressOf = (value: number): `0x${string}` => `0x${value.toString(16).padStart(40, '0')}`
const tipWei = (i: number): bigint => (BigInt(i + 1) * GWEI) / 50n

export interface SyntheticExecutionBlock {
  readonly hash: string
  /** JSON of the block as eth_getBlockByHash tells it. */
  readonly text: string
}

export interface SyntheticExecution {
  /** Encoded (EIP-2718), as they stand in a payload. */
  readonly transactions: readonly Uint8Array[]
  /** JSON of each block's receipts. */
  readonly receipts: string
  block(number: number, timestampSec: number): SyntheticExecutionBlock
}

export async function makeExecution(): Promise<SyntheticExecution> {
  const transactions = await Promise.all(Array.from({ length: TRANSACTIONS_PER_BLOCK }, (_, i) => transfer(i)))
  const receipts = transactions.map(({ hash }, i) => receiptOf(hash, i))
  const header = {
    logsBloom: hexOf(logsBloomOf(receipts.flatMap(({ logs }) => logs))),
    receiptsRoot: hexOf(receiptsRoot(receipts.map(({ committed }) => committed))),
    gasUsed: quantity(GAS_PER_TRANSACTION * TRANSACTIONS_PER_BLOCK),
    baseFeePerGas: quantity(BASE_FEE_WEI),
  }
  const transactionsText = JSON.stringify(transactions)
  return {
    transactions: transactions.map(encodeTransaction),
    receipts: JSON.stringify(receipts.map(({ committed: _, ...told }) => told)),
    block(number, timestampSec) {
      const place = { number: quantity(number), timestamp: quantity(timestampSec), parentHash: padded(number) }
      const facts = { ...header, ...place, miner: addressOf(number % 64), extraData: '0x' }
      const { transactions: _, ...block } = sealed({ ...facts, transactions })
      return { hash: block.hash, text: `${JSON.stringify(block).slice(0, -1)},"transactions":${transactionsText}}` }
    },
  }
}

/** A call of a token, of one of nine senders. */
function transfer(i: number) {
  return signedTransaction(accountOf(String(1 + (i % 9))), {
    type: 'eip1559',
    chainId: 1,
    nonce: i,
    to: addressOf(0xa000 + i),
    value: 0n,
    gas: BigInt(GAS_PER_TRANSACTION),
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: tipWei(i),
    data: `0xa9059cbb${padded(i).slice(2)}${padded(1_000 + i).slice(2)}`,
  })
}

function receiptOf(transactionHash: string, i: number) {
  const logs = Array.from({ length: LOGS_PER_TRANSACTION }, (_, log) => ({
    address: addressOf(0xa000 + i),
    topics: [TRANSFER_TOPIC, padded(i), padded(i + log)],
    data: padded(1_000 + i),
  }))
  const cumulativeGasUsed = BigInt(GAS_PER_TRANSACTION * (i + 1))
  const logsBloom = hexOf(logsBloomOf(logs))
  return {
    transactionHash,
    type: '0x2',
    status: '0x1',
    cumulativeGasUsed: quantity(cumulativeGasUsed),
    gasUsed: quantity(GAS_PER_TRANSACTION),
    effectiveGasPrice: quantity(BASE_FEE_WEI + tipWei(i)),
    contractAddress: null,
    logsBloom,
    logs,
    committed: { type: 2, status: 'success', cumulativeGasUsed, logs, logsBloom } as const,
  }
}
