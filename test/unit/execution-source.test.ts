import { expect, test } from 'vitest'
import { openExecutionSource } from '../../infra/execution/source.ts'
import { receiptsRoot } from '../../schemas/eth/receipts.ts'
import { silentLog } from './silent-log.ts'
import { openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const LIMITS = { retryDelayMs: 1 }
const hash = (digit: string) => `0x${digit.repeat(64)}` as const
const address = (digit: string) => `0x${digit.repeat(40)}` as const
const quantity = (value: number | bigint) => `0x${value.toString(16)}`
const BUILDER = address('b')
const BLOOM = `0x${'00'.repeat(256)}` as const
const ERC721_TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef' as const
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62' as const

const transactions = [
  { hash: hash('1'), from: address('a'), to: address('c'), value: '0x0', type: '0x0', gasPrice: quantity(12) },
  {
    hash: hash('2'),
    from: address('a'),
    to: null,
    value: '0x5',
    type: '0x2',
    gasPrice: quantity(9),
    maxFeePerGas: quantity(20),
    maxPriorityFeePerGas: quantity(2),
  },
  { hash: hash('3'), from: BUILDER, to: address('d'), value: quantity(10n ** 18n), type: '0x0', gasPrice: quantity(7) },
]

const log = (logIndex: number, topics: readonly `0x${string}`[], data: `0x${string}` = '0x') => ({
  address: address('e'),
  topics: [...topics],
  data,
  logIndex: quantity(logIndex),
})

const receipts = [
  {
    transactionHash: hash('1'),
    type: '0x0',
    status: '0x1',
    cumulativeGasUsed: quantity(50_000),
    gasUsed: quantity(50_000),
    effectiveGasPrice: quantity(12),
    logsBloom: BLOOM,
    logs: [
      log(0, [ERC721_TRANSFER, hash('a'), hash('c')], `0x${'0'.repeat(63)}1`), // ERC-20
      log(1, [ERC721_TRANSFER, hash('a'), hash('c'), hash('7')]),
      log(2, [TRANSFER_SINGLE, hash('a'), hash('a'), hash('c')], `0x${'0'.repeat(127)}1`),
      log(3, [hash('f')]),
    ],
  },
  {
    transactionHash: hash('2'),
    type: '0x2',
    status: '0x0',
    cumulativeGasUsed: quantity(71_000),
    gasUsed: quantity(21_000),
    effectiveGasPrice: quantity(9),
    logsBloom: BLOOM,
    logs: [],
  },
  {
    transactionHash: hash('3'),
    type: '0x0',
    status: '0x1',
    cumulativeGasUsed: quantity(92_000),
    gasUsed: quantity(21_000),
    effectiveGasPrice: quantity(7),
    logsBloom: BLOOM,
    logs: [],
  },
]

function rootOf(list: typeof receipts): string {
  const committed = list.map((receipt) => ({
    type: Number(receipt.type),
    status: receipt.status === '0x1' ? ('success' as const) : ('reverted' as const),
    cumulativeGasUsed: BigInt(receipt.cumulativeGasUsed),
    logs: receipt.logs,
    logsBloom: BLOOM,
  }))
  return `0x${Buffer.from(receiptsRoot(committed)).toString('hex')}`
}

const block = {
  number: quantity(100),
  hash: hash('9'),
  parentHash: hash('8'),
  timestamp: quantity(1_700_000_000),
  miner: BUILDER.toUpperCase().replace('0X', '0x'),
  extraData: '0x',
  baseFeePerGas: quantity(7),
  gasUsed: quantity(92_000),
  receiptsRoot: rootOf(receipts),
  transactions,
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

type Results = Readonly<Record<string, (params: readonly unknown[]) => unknown>>
const whole: Results = {
  eth_chainId: () => '0x7',
  eth_getBlockByHash: () => block,
  eth_getBlockReceipts: () => receipts,
}

function openNode(results: Results): Promise<SyntheticNode> {
  return openSyntheticNode(({ body }) => {
    const parsed = JSON.parse(body) as Call | Call[]
    const answers = [parsed].flat().map(({ id, method, params }) => {
      const result = results[method]
      if (result === undefined) return { jsonrpc: '2.0', id, error: { code: -32_601, message: `no ${method}` } }
      return { jsonrpc: '2.0', id, result: result(params) }
    })
    return { json: Array.isArray(parsed) ? answers.toReversed() : answers[0] }
  })
}

async function askBlock(results: Results) {
  await using node = await openNode(results)
  await using source = await openExecutionSource({ urls: [node.url], log: silentLog, limits: LIMITS })
  return await source.blockByHash(hash('9'))
}

test('a block is reduced to its tips, coinbase transfers and token transfers', async () => {
  const { header, columns } = await askBlock(whole)
  expect(columns).toEqual({
    type: Uint8Array.of(0, 2, 0),
    succeeded: Uint8Array.of(1, 0, 1),
    gasUsed: BigUint64Array.of(50_000n, 21_000n, 21_000n),
    effectiveGasPriceWei: BigUint64Array.of(12n, 9n, 7n),
  })
  expect(header.coinbaseTransfers).toEqual([
    {
      transactionIndex: 2,
      transactionHash: hash('3'),
      to: address('d'),
      valueWei: String(10n ** 18n),
      succeeded: true,
    },
  ])
  expect(header.transferLogs.map(({ logIndex, topics }) => [logIndex, topics[0]])).toEqual([
    [1, ERC721_TRANSFER],
    [2, TRANSFER_SINGLE],
  ])
  expect(header).toMatchObject({ number: 100, coinbase: BUILDER, baseFeePerGasWei: '7', gasUsed: 92_000 })
})

test('a node without eth_getBlockReceipts is asked for each receipt, and not again for all', async () => {
  const { eth_getBlockReceipts: _, ...rest } = whole
  const single = {
    ...rest,
    eth_getTransactionReceipt: ([asked]: readonly unknown[]) =>
      receipts.find(({ transactionHash }) => transactionHash === asked),
  }
  await using node = await openNode(single)
  await using source = await openExecutionSource({ urls: [node.url], log: silentLog, limits: LIMITS })
  const first = await source.blockByHash(hash('9'))
  expect(await source.blockByHash(hash('9'))).toEqual(first)
  expect(first).toEqual(await askBlock(whole))
  expect(node.seen.filter(({ body }) => body.includes('eth_getBlockReceipts'))).toHaveLength(1)
})

const changed = (change: Partial<(typeof receipts)[number]>) => [{ ...receipts[0], ...change }, ...receipts.slice(1)]

test.each<[string, Results, string, string]>([
  ['receipts of another root', { eth_getBlockReceipts: () => changed({ status: '0x0' }) }, 'node_inconsistent', 'root'],
  ['a missing receipt', { eth_getBlockReceipts: () => receipts.slice(1) }, 'node_inconsistent', '2 receipts'],
  [
    'a receipt of another transaction',
    { eth_getBlockReceipts: () => changed({ transactionHash: hash('4') }) },
    'node_inconsistent',
    'another',
  ],
  [
    'a price that its transaction contradicts',
    { eth_getBlockReceipts: () => changed({ effectiveGasPrice: '0x1' }) },
    'node_inconsistent',
    'price',
  ],
  ['another block', { eth_getBlockByHash: () => ({ ...block, hash: hash('7') }) }, 'node_inconsistent', 'answered'],
  ['a block that the node does not have', { eth_getBlockByHash: () => null }, 'node_lagging', 'does not have'],
  ['receipts that the node does not have', { eth_getBlockReceipts: () => null }, 'node_lagging', 'receipts'],
  ['a block of another shape', { eth_getBlockByHash: () => ({ ...block, miner: 7 }) }, 'node_malformed', 'shape'],
])('%s is told apart', async (_, results, code, message) => {
  await expect(askBlock({ ...whole, ...results })).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})

test('nodes of two chains are refused', async () => {
  await using main = await openNode(whole)
  await using other = await openNode({ ...whole, eth_chainId: () => '0x8' })
  const urls = [main.url, other.url]
  await expect(openExecutionSource({ urls, log: silentLog, limits: LIMITS })).rejects.toThrow(
    expect.objectContaining({ code: 'node_inconsistent' }),
  )
})

test('a fallback with right receipts serves when those of the main node are wrong', async () => {
  await using main = await openNode({ ...whole, eth_getBlockReceipts: () => changed({ status: '0x0' }) })
  await using fallback = await openNode(whole)
  const urls = [main.url, fallback.url]
  await using source = await openExecutionSource({ urls, log: silentLog, limits: LIMITS })
  expect((await source.blockByHash(hash('9'))).columns.succeeded[0]).toBe(1)
})
