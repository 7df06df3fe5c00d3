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
  /** What is logged of tokens: what all the block's log parts together have to hold. */
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

/** First topics of what the devnet's contracts log of tokens. */
const TOKEN_TOPICS: ReadonlySet<string> = new Set([
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', // ERC-20 and ERC-721
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62', // ERC-1155, single and batch
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
  '0xdeaa91b6123d068f5821d0fb0678463d1a8a6079fe8af5de3ce5e896dcf9133d', // ERC-2309
  '0xe59fdd36d0d223c0c7d996db7ad796880f45e1936cb0bb7ac102e7082e031487', // ERC-404, shares and tokens
  '0xe5f815dc84b8cecdfd4beedfc3f91ab5be7af100eca4e8fb11552b867995394f',
  '0x6bb7ff708619ba0610cba295a58592e0451dee2622938c8755667688daf3529b', // documents: URI, and ERC-4906's two
  '0xf8e1a15aba9398e019f0b49df1a4fde98ee17ae345cb5f6b5e2c27f5033e8ce7',
  '0x6bd5c950a8d8df17f772f5af37cb3655737899cbf903264b9795592da439661c',
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
