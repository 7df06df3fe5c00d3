import { headerHash } from '../../schemas/eth/header.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { logsBloomOf, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { accountOf, sealed, signedTransaction } from '../unit/given-rpc-block.ts'

// Blocks as large as mainnet's, as JSON-RPC tells them: their transactions and receipts repeat, so that they are made once; headers, and
// places of logs, are each block's own.

export const TRANSACTIONS_PER_BLOCK = 200
export const LOGS_PER_BLOCK = 500
/** Sets of transactions and receipts that blocks take in turns. */
const BODIES = 8
const GAS_PER_TRANSACTION = 75_000
const GWEI = 1_000_000_000n
const BASE_FEE_WEI = 7n * GWEI
const FIRST_TIME_SEC = 1_700_000_000
const SECONDS_PER_BLOCK = 12
const ZERO_HASH = `0x${'00'.repeat(32)}`

/** keccak256 of Transfer(address,address,uint256), Approval(…), Swap(…) and Sync(…) */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const OTHERS = [
  '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925',
  '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822',
  '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1',
]

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`
const word = (value: number): `0x${string}` => `0x${value.toString(16).padStart(64, '0')}`
const address = (value: number): `0x${string}` => `0x${value.toString(16).padStart(40, '0')}`

/** Receives a token in every block: by its first log. */
export const RECEIVER = address(0xc000)

interface Body {
  /** JSON, and what the header has of it. */
  readonly transactions: string
  readonly receipts: string
  readonly header: Readonly<Record<'transactionsRoot' | 'receiptsRoot' | 'logsBloom' | 'gasUsed', string>>
}

export interface SyntheticBlock {
  readonly hash: string
  /** JSON of the block, and of its receipts. */
  readonly block: string
  readonly receipts: string
}

/** Blocks from 0 on, each on the one before. */
export async function makeBlocks(count: number): Promise<readonly SyntheticBlock[]> {
  const bodies = await Promise.all(Array.from({ length: BODIES }, (_, i) => makeBody(i)))
  const blocks: SyntheticBlock[] = []
  const template = sealed({
    number: '0x0',
    parentHash: ZERO_HASH,
    timestamp: '0x0',
    miner: address(0xfee),
    extraData: '0x6265617665726275696c642e6f7267',
    baseFeePerGas: quantity(BASE_FEE_WEI),
    gasUsed: '0x0',
    receiptsRoot: ZERO_HASH,
    transactions: [],
  })
  for (let number = 0; number < count; number++) {
    const { transactions, receipts, header } = bodies[number % BODIES] as Body
    const place = { number: quantity(number), timestamp: quantity(FIRST_TIME_SEC + SECONDS_PER_BLOCK * number) }
    const parentHash = blocks.at(-1)?.hash ?? ZERO_HASH
    const { transactions: _, hash: __, ...whole } = { ...template, ...header, ...place, parentHash }
    const hash = headerHash(whole)
    const text = JSON.stringify({ ...whole, hash, size: '0x1d4c0', uncles: [] })
    blocks.push({ hash, block: `${text.slice(0, -1)},"transactions":${transactions}}`, receipts })
  }
  return blocks
}

async function makeBody(body: number): Promise<Body> {
  const transactions = await Promise.all(Array.from({ length: TRANSACTIONS_PER_BLOCK }, (_, i) => callOf(body, i)))
  const receipts = transactions.map(({ hash }, i) => receiptOf(hash, body, i))
  const places = { blockHash: word(7_000_000 + body), blockNumber: quantity(20_000_000) }
  return {
    transactions: JSON.stringify(transactions.map((one, i) => ({ ...one, ...places, transactionIndex: quantity(i) }))),
    receipts: JSON.stringify(receipts.map(({ committed: _, ...told }) => ({ ...told, ...places }))),
    header: {
      transactionsRoot: hexOf(orderedTrieRoot(transactions.map(encodeTransaction))),
      receiptsRoot: hexOf(receiptsRoot(receipts.map(({ committed }) => committed))),
      logsBloom: hexOf(logsBloomOf(receipts.flatMap(({ logs }) => logs))),
      gasUsed: quantity(GAS_PER_TRANSACTION * TRANSACTIONS_PER_BLOCK),
    },
  }
}

/** Input of a swap or a transfer: some hundred bytes. */
function callOf(body: number, i: number) {
  const words = i % 3 === 0 ? 16 : 4
  const input = Array.from({ length: words }, (_, at) => word(body * 1_000 + i * 20 + at).slice(2)).join('')
  return signedTransaction(accountOf(String(1 + (i % 9))), {
    type: 'eip1559',
    chainId: 1,
    nonce: body * 1_000 + i,
    to: address(0xa000 + (i % 60)),
    value: BigInt(i) * GWEI,
    gas: BigInt(GAS_PER_TRANSACTION),
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: (BigInt(i + 1) * GWEI) / 50n,
    data: `0xa9059cbb${input}`,
  })
}

function receiptOf(transactionHash: string, body: number, i: number) {
  const logs = Array.from({ length: logsOf(i) }, (_, at) => logOf(body, i, at))
  const places = { transactionHash, transactionIndex: quantity(i), blockNumber: quantity(20_000_000), removed: false }
  const cumulativeGasUsed = BigInt(GAS_PER_TRANSACTION * (i + 1))
  const logsBloom = hexOf(logsBloomOf(logs))
  return {
    transactionHash,
    transactionIndex: quantity(i),
    from: address(0xb000 + i),
    to: address(0xa000 + (i % 60)),
    type: '0x2',
    status: '0x1',
    cumulativeGasUsed: quantity(cumulativeGasUsed),
    gasUsed: quantity(GAS_PER_TRANSACTION),
    effectiveGasPrice: quantity(BASE_FEE_WEI + (BigInt(i + 1) * GWEI) / 50n),
    contractAddress: null,
    logsBloom,
    logs: logs.map((log, at) => ({ ...log, ...places, blockHash: word(7_000_000 + body), logIndex: quantity(at) })),
    committed: { type: 2, status: 'success', cumulativeGasUsed, logs, logsBloom } as const,
  }
}

/** Two or three in turns. */
function logsOf(i: number): number {
  return (
    Math.floor(((i + 1) * LOGS_PER_BLOCK) / TRANSACTIONS_PER_BLOCK) -
    Math.floor((i * LOGS_PER_BLOCK) / TRANSACTIONS_PER_BLOCK)
  )
}

/** Half of the logs move tokens, every tenth of them one of a kind. */
function logOf(body: number, i: number, at: number) {
  const [from, to] = [word(0xb000 + i), word(0xc000 + ((i * 7 + at) % 500))]
  const contract = address(0xd000 + ((i * 3 + at) % 90))
  if (at > 0) {
    const topic = OTHERS[(i + at) % OTHERS.length] as string
    return {
      address: contract,
      topics: [topic, from, to],
      data: `${word(i)}${word(at).slice(2)}${word(body).slice(2)}`,
    }
  }
  const isOne = i % 10 === 0
  const topics = isOne ? [TRANSFER, from, to, word(body * 1_000 + i)] : [TRANSFER, from, to]
  return { address: contract, topics, data: isOne ? '0x' : word(1_000 + i) }
}
