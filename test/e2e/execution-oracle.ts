// What tables must say of a chain of execution blocks, asked of its JSON-RPC directly. Nothing of the product's code is used here.

import { inParallel, rpc } from './oracle.ts'

export interface OracleExecutionBlock {
  readonly number: number
  readonly hash: string
  readonly unixSec: number
  readonly coinbase: string
  readonly transactions: number
  readonly baseFeeWei: bigint
  readonly tipsWei: bigint
  /** Movements of tokens: what all the block's log parts together have to hold. */
  readonly tokenLogs: number
}

interface BlockJson {
  readonly number: string
  readonly hash: string
  readonly timestamp: string
  readonly miner: string
  readonly baseFeePerGas: string
  readonly transactions: readonly unknown[]
}

interface ReceiptJson {
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  readonly logs: readonly { readonly topics: readonly string[] }[]
}

/** First topics of the token movements that the devnet's contracts log: ERC-20 and ERC-721, ERC-1155 single and batch. */
const TOKEN_TOPICS: ReadonlySet<string> = new Set([
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
])

/** Canonical blocks of the node, first and last included. */
export function executionBlocksOf(url: string, first: number, last: number): Promise<OracleExecutionBlock[]> {
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => `0x${(first + i).toString(16)}`)
  return inParallel(numbers, async (number) => {
    const block = await rpc<BlockJson>(url, 'eth_getBlockByNumber', [number, false])
    const receipts = await rpc<readonly ReceiptJson[]>(url, 'eth_getBlockReceipts', [number])
    const baseFeeWei = BigInt(block.baseFeePerGas)
    const tip = (receipt: ReceiptJson): bigint =>
      BigInt(receipt.gasUsed) * (BigInt(receipt.effectiveGasPrice) - baseFeeWei)
    const logs = receipts.flatMap((receipt) => receipt.logs)
    return {
      number: Number(block.number),
      hash: block.hash,
      unixSec: Number(block.timestamp),
      coinbase: block.miner,
      transactions: block.transactions.length,
      baseFeeWei,
      tipsWei: receipts.reduce((sum, receipt) => sum + tip(receipt), 0n),
      tokenLogs: logs.filter(({ topics }) => TOKEN_TOPICS.has(topics[0] ?? '')).length,
    }
  })
}

/** Number of the newest block that the node calls final. */
export async function finalBlockOf(url: string): Promise<number> {
  return Number((await rpc<BlockJson>(url, 'eth_getBlockByNumber', ['finalized', false])).number)
}
