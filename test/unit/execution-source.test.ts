import { keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../infra/execution/binding.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { type CommittedReceipt, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { accountOf, addressOf, NO_BLOOM, type RpcTransaction, sealed, signedTransaction } from './given-rpc-block.ts'
import { silentLog } from './silent-log.ts'
import { openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const LIMITS = { retryDelayMs: 1 }
const ERC20_DATA = `0x${'0'.repeat(63)}1` as const
const hash = (digit: string) => `0x${digit.repeat(64)}` as const
const address = (digit: string) => `0x${digit.repeat(40)}` as const
const quantity = (value: number | bigint) => `0x${value.toString(16)}`
const [USER, BUILDER_ACCOUNT] = [accountOf('a'), accountOf('b')]
const [SENDER, BUILDER] = [addressOf(USER), addressOf(BUILDER_ACCOUNT)]
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef' as const
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62' as const

const payment = { type: 'legacy', to: address('d'), value: 10n ** 18n, gas: 21_000n, gasPrice: 7n, chainId: 7 } as const
const transactions = [
  await signedTransaction(USER, { type: 'legacy', to: address('c'), gas: 60_000n, gasPrice: 12n }),
  await signedTransaction(USER, {
    type: 'eip1559',
    nonce: 1,
    value: 5n,
    data: '0x00',
    gas: 21_000n,
    maxFeePerGas: 20n,
    maxPriorityFeePerGas: 2n,
    chainId: 7,
  }),
  await signedTransaction(BUILDER_ACCOUNT, payment),
] as const
const hashes = transactions.map((transaction) => transaction.hash)
const [FIRST, SECOND, LAST] = hashes as [string, string, string]

const log = (logIndex: number, topics: readonly `0x${string}`[], data: `0x${string}` = '0x') => ({
  address: address('e'),
  topics: [...topics],
  data,
  logIndex: quantity(logIndex),
})

const receipts = [
  {
    transactionHash: FIRST,
    type: '0x0',
    status: '0x1',
    cumulativeGasUsed: quantity(50_000),
    gasUsed: quantity(50_000),
    effectiveGasPrice: quantity(12),
    logsBloom: NO_BLOOM,
    logs: [
      log(0, [hash('f')]),
      log(1, [TRANSFER, hash('a'), hash('c')], ERC20_DATA),
      log(2, [TRANSFER, hash('a'), hash('c'), hash('7')]),
      log(3, [TRANSFER_SINGLE, hash('a'), hash('a'), hash('c')], `0x${'0'.repeat(127)}1`),
    ],
  },
  {
    transactionHash: SECOND,
    type: '0x2',
    status: '0x0',
    cumulativeGasUsed: quantity(71_000),
    gasUsed: quantity(21_000),
    effectiveGasPrice: quantity(9),
    logsBloom: NO_BLOOM,
    logs: [],
  },
  {
    transactionHash: LAST,
    type: '0x0',
    status: '0x1',
    cumulativeGasUsed: quantity(92_000),
    gasUsed: quantity(21_000),
    effectiveGasPrice: quantity(7),
    logsBloom: NO_BLOOM,
    logs: [],
  },
]

type Receipt = Omit<(typeof receipts)[number], 'type'> & Readonly<Record<string, unknown>> & { readonly type: string }

function rootOf(list: readonly Receipt[], deposit?: CommittedReceipt['deposit']): string {
  const committed = list.map((receipt) => ({
    type: Number(receipt.type),
    status: receipt.status === '0x1' ? ('success' as const) : ('reverted' as const),
    cumulativeGasUsed: BigInt(receipt.cumulativeGasUsed),
    logs: receipt.logs,
    logsBloom: NO_BLOOM,
    ...(deposit === undefined ? {} : { deposit }),
  }))
  return hexOf(receiptsRoot(committed))
}

const block = sealed({
  number: quantity(100),
  parentHash: hash('8'),
  timestamp: quantity(1_700_000_000),
  miner: BUILDER.toUpperCase().replace('0X', '0x'),
  extraData: '0x',
  baseFeePerGas: quantity(7),
  gasUsed: quantity(92_000),
  receiptsRoot: rootOf(receipts),
  transactions,
})

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

type Results = Readonly<Record<string, (params: readonly unknown[]) => unknown>>
const whole: Results = {
  eth_chainId: () => '0x7',
  eth_getBlockByHash: () => block,
  eth_getBlockByNumber: ([number]) => (number === '0x65' ? null : block),
  eth_getBlockReceipts: () => receipts,
}

/** What a node answers instead of a result. */
class Refusal {
  readonly code: number
  readonly message: string
  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

function openNode(results: Results): Promise<SyntheticNode> {
  return openSyntheticNode(({ body }) => {
    const parsed = JSON.parse(body) as Call | Call[]
    const answers = [parsed].flat().map(({ id, method, params }) => {
      const result = results[method]
      if (result === undefined) return { jsonrpc: '2.0', id, error: { code: -32_601, message: `no ${method}` } }
      const answer = result(params)
      return answer instanceof Refusal ? { jsonrpc: '2.0', id, error: answer } : { jsonrpc: '2.0', id, result: answer }
    })
    return { json: Array.isArray(parsed) ? answers.toReversed() : answers[0] }
  })
}

async function ask<Answer>(
  results: Results,
  question: (source: ExecutionSource) => Promise<Answer>,
  binding: Binding = 'ethereum',
): Promise<Answer> {
  await using node = await openNode(results)
  await using source = await openExecutionSource({ urls: [node.url], log: silentLog, binding, limits: LIMITS })
  return await question(source)
}

const askBlock = (results: Results, asked: string = block.hash) => ask(results, (source) => source.blockByHash(asked))

test('a block is reduced to its header, its transactions and the logs that are kept', async () => {
  const found = await askBlock(whole)
  const { header, columns, logs, ...checked } = found
  expect(checked).toEqual({
    ...{ matchesHash: true, logsCheck: 'receipts', hasOutcomes: true },
    ...{ provenSenders: [1, 2], withdrawals: undefined }, // the header has a root that no withdrawals make
  })
  expect(header).toEqual({
    number: 100,
    hash: block.hash,
    parentHash: hash('8'),
    timestampSec: 1_700_000_000,
    coinbase: BUILDER,
    extraData: '0x',
    baseFeePerGasWei: '7',
    gasUsed: 92_000,
  })
  expect(columns).toEqual({
    type: Uint8Array.of(0, 2, 0),
    succeeded: Uint8Array.of(1, 0, 1),
    gasUsed: BigUint64Array.of(50_000n, 21_000n, 21_000n),
    effectiveGasPriceWei: [12n, 9n, 7n],
    sender: bytesOf(`0x${[SENDER, SENDER, BUILDER].join('').replaceAll('0x', '')}`),
    recipient: bytesOf(`0x${'c'.repeat(40)}${'0'.repeat(40)}${'d'.repeat(40)}`),
    isCreation: Uint8Array.of(0, 1, 0),
    valueWei: [0n, 5n, 10n ** 18n],
    hash: bytesOf(`0x${hashes.join('').replaceAll('0x', '')}`),
  })
  expect(logs).toEqual({
    logIndex: Uint32Array.of(1, 2, 3),
    transactionIndex: Uint32Array.of(0, 0, 0),
    transactionHash: bytesOf(`0x${FIRST.slice(2).repeat(3)}`),
    address: bytesOf(`0x${'e'.repeat(120)}`),
    topics: [
      bytesOf(`${TRANSFER}${'a'.repeat(64)}${'c'.repeat(64)}`),
      bytesOf(`${TRANSFER}${'a'.repeat(64)}${'c'.repeat(64)}${'7'.repeat(64)}`),
      bytesOf(`${TRANSFER_SINGLE}${'a'.repeat(128)}${'c'.repeat(64)}`),
    ],
    data: [bytesOf(ERC20_DATA), new Uint8Array(0), bytesOf(`0x${'0'.repeat(127)}1`)],
  })
})

test('a block comes with its receipts in one request, by its number as by its hash', async () => {
  await using node = await openNode(whole)
  await using source = await openExecutionSource({
    urls: [node.url],
    log: silentLog,
    binding: 'ethereum',
    limits: LIMITS,
  })
  await source.chainId() // what a node is asked at its first use
  const before = node.seen.length
  const byHash = await source.blockByHash(block.hash)
  expect(node.seen).toHaveLength(before + 1)
  expect(await source.blockByNumber(100)).toEqual(byHash)
  expect(node.seen).toHaveLength(before + 2)
})

test('a block that is not produced yet is undefined, whatever the node says of its receipts', async () => {
  const refusing = { ...whole, eth_getBlockReceipts: () => new Refusal(-32_000, 'block not found') }
  expect(await ask(refusing, (source) => source.blockByNumber(101))).toBeUndefined()
})

test('the head and the final block are told by their tags', async () => {
  const tagged: Results = {
    ...whole,
    eth_getBlockByNumber: ([tag]) => ({
      number: tag === 'latest' ? '0x9' : '0x5',
      hash: hash('A'),
      parentHash: hash('b'),
      transactions: [],
    }),
  }
  const reference = { hash: hash('a'), parentHash: hash('b') }
  expect(await ask(tagged, (source) => source.head())).toEqual({ number: 9, ...reference })
  expect(await ask(tagged, (source) => source.finalized())).toEqual({ number: 5, ...reference })
})

test.each([
  ['finds no such block', null],
  ['does not know the tag', new Refusal(-32_602, 'invalid params: unknown block tag')],
  ['has not finalized a block yet', new Refusal(-32_000, 'finalized block not found')],
  ['has no such block', new Refusal(-39_001, 'Unknown block')],
])('there is no final block where the node %s', async (_, answer) => {
  const results = { ...whole, eth_getBlockByNumber: () => answer }
  expect(await ask(results, (source) => source.finalized())).toBeUndefined()
})

test('a node that is too busy to tell the final block is not one without finality', async () => {
  const results = { ...whole, eth_getBlockByNumber: () => new Refusal(-32_005, 'too many requests') }
  await expect(ask(results, (source) => source.finalized())).rejects.toThrow(
    expect.objectContaining({ code: 'node_unreachable' }),
  )
})

/** A block of one transaction, and how to ask for it. */
function blockWith(
  transaction: RpcTransaction | Readonly<Record<string, unknown> & { readonly hash: string; readonly value: string }>,
  receipt: Readonly<Record<string, unknown>>,
  options: { readonly block?: object; readonly deposit?: CommittedReceipt['deposit'] } = {},
) {
  const only: Receipt = { ...(receipts[2] as Receipt), transactionHash: transaction.hash, ...receipt }
  const transactions = [transaction]
  const one = sealed({ ...block, receiptsRoot: rootOf([only], options.deposit), transactions, ...options.block })
  const results: Results = { ...whole, eth_getBlockByHash: () => one, eth_getBlockReceipts: () => [only] }
  return { results, hash: one.hash }
}

const askOnly = ({ results, hash }: ReturnType<typeof blockWith>, binding?: Binding) =>
  ask(results, (source) => source.blockByHash(hash), binding)

test('a contract that was created is the recipient of its creation', async () => {
  const creation = await signedTransaction(BUILDER_ACCOUNT, { ...payment, to: null, data: '0x00' })
  const { columns } = await askOnly(blockWith(creation, { contractAddress: address('F') }))
  expect(columns).toMatchObject({ recipient: bytesOf(address('f')), isCreation: Uint8Array.of(1) })
  await expect(askOnly(blockWith(creation, {}))).rejects.toThrow(
    expect.objectContaining({ code: 'node_malformed', message: expect.stringContaining('created') }),
  )
})

test('amounts and prices above 2^64 are those that the node tells', async () => {
  const large = 2n ** 64n + 5n
  const costly = await signedTransaction(BUILDER_ACCOUNT, { ...payment, value: 2n ** 256n - 1n, gasPrice: large })
  const { columns } = await askOnly(blockWith(costly, { effectiveGasPrice: quantity(large) }))
  expect(columns).toMatchObject({ valueWei: [2n ** 256n - 1n], effectiveGasPriceWei: [large] })
})

const DEPOSIT = {
  hash: hash('5'),
  type: '0x7e',
  from: SENDER,
  to: SENDER,
  value: '0x1',
  gas: '0x5208',
  input: '0x',
  sourceHash: hash('6'),
  mint: '0x1',
}

test('a deposit of the OP stack passes with the price that its receipt says, on a chain that may have it', async () => {
  const told = { type: '0x7e', effectiveGasPrice: '0x0', depositNonce: '0x1f', depositReceiptVersion: '0x1' }
  const deposited = blockWith(DEPOSIT, told, { deposit: { nonce: 31n, version: 1n } })
  const { columns, matchesHash } = await askOnly(deposited, 'layer')
  expect(columns).toMatchObject({ type: Uint8Array.of(0x7e), effectiveGasPriceWei: [0n] })
  expect(matchesHash).toBe(false)
  await expect(askOnly(deposited)).rejects.toThrow(
    expect.objectContaining({ code: 'node_inconsistent', message: expect.stringContaining('type 0x7e') }),
  )
})

test('a chain without a base fee, whose receipts do not tell the price, has that of the transaction', async () => {
  const transaction = await signedTransaction(BUILDER_ACCOUNT, payment)
  const older = blockWith(transaction, { effectiveGasPrice: undefined }, { block: { baseFeePerGas: undefined } })
  const { header, columns } = await askOnly(older)
  expect(header.baseFeePerGasWei).toBe('0')
  expect(columns.effectiveGasPriceWei).toEqual([7n])
})

test('a price that nothing tells is asked for in vain', async () => {
  const priceless = blockWith(DEPOSIT, { type: '0x7e', effectiveGasPrice: undefined })
  await expect(askOnly(priceless, 'layer')).rejects.toThrow(
    expect.objectContaining({ code: 'node_malformed', message: expect.stringContaining('gas price') }),
  )
})

test('a block of before Byzantium is refused with what to do', async () => {
  const results = {
    ...whole,
    eth_getBlockReceipts: () => receipts.map(({ status, ...rest }) => ({ ...rest, root: hash('6') })),
  }
  await expect(askBlock(results)).rejects.toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('start at a later block') }),
  )
})

test('a node without eth_getBlockReceipts is asked for each receipt, and not again for all', async () => {
  const { eth_getBlockReceipts: _, ...rest } = whole
  const single = {
    ...rest,
    eth_getTransactionReceipt: ([asked]: readonly unknown[]) =>
      receipts.find(({ transactionHash }) => transactionHash === asked),
  }
  await using node = await openNode(single)
  await using source = await openExecutionSource({
    urls: [node.url],
    log: silentLog,
    binding: 'ethereum',
    limits: LIMITS,
  })
  const first = await source.blockByHash(block.hash)
  expect(await source.blockByHash(block.hash)).toEqual(first)
  expect(first).toEqual(await askBlock(whole))
  expect(node.seen.filter(({ body }) => body.includes('eth_getBlockReceipts'))).toHaveLength(1)
})

const changed = (change: Partial<(typeof receipts)[number]>) => [{ ...receipts[0], ...change }, ...receipts.slice(1)]

const changedHeader = (change: object): Results => ({ eth_getBlockByHash: () => ({ ...block, ...change }) })

function changedTransaction(index: number, change: object): Results {
  const others = transactions.map((transaction, i) => (i === index ? { ...transaction, ...change } : transaction))
  return { eth_getBlockByHash: () => ({ ...block, transactions: others }) }
}

/** A changed first transaction whose own hash, and its receipt's, fit it. */
function changedWithHash(change: object): Results {
  const other = { ...transactions[0], ...change }
  const transactionHash = keccak256(encodeTransaction(other))
  return {
    ...changedTransaction(0, { ...change, hash: transactionHash }),
    eth_getBlockReceipts: () => changed({ transactionHash }),
  }
}

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
  ['another value', changedTransaction(0, { value: '0x1' }), 'node_inconsistent', 'hash'],
  ['another value, and the hash of it', changedWithHash({ value: '0x1' }), 'node_inconsistent', 'transactions root'],
  ['another sender of the last transaction', changedTransaction(2, { from: SENDER }), 'node_inconsistent', 'signed'],
  ['another sender of the last but one', changedTransaction(1, { from: address('9') }), 'node_inconsistent', 'signed'],
  [
    'another price and the receipt that fits it',
    {
      ...changedTransaction(0, { gasPrice: '0x63' }),
      eth_getBlockReceipts: () => changed({ effectiveGasPrice: '0x63' }),
    },
    'node_inconsistent',
    'hash',
  ],
  [
    'a transaction less',
    { eth_getBlockByHash: () => ({ ...block, transactions: transactions.slice(1) }) },
    'node_inconsistent',
    'root',
  ],
  ['another coinbase', changedHeader({ miner: SENDER }), 'node_inconsistent', 'header'],
  ['other extra data', changedHeader({ extraData: '0x01' }), 'node_inconsistent', 'header'],
  ['another base fee', changedHeader({ baseFeePerGas: '0x5' }), 'node_inconsistent', 'header'],
  ['another time', changedHeader({ timestamp: '0x1' }), 'node_inconsistent', 'header'],
  ['another parent', changedHeader({ parentHash: hash('1') }), 'node_inconsistent', 'header'],
  ['another block', { eth_getBlockByHash: () => ({ ...block, hash: hash('7') }) }, 'node_inconsistent', 'answered'],
  ['a block that the node does not have', { eth_getBlockByHash: () => null }, 'node_lagging', 'does not have'],
  ['receipts that the node does not have', { eth_getBlockReceipts: () => null }, 'node_lagging', 'receipts'],
  ['a block of another shape', { eth_getBlockByHash: () => ({ ...block, miner: 7 }) }, 'node_malformed', 'shape'],
])('%s is told apart', async (_, results, code, message) => {
  await expect(askBlock({ ...whole, ...results })).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})

test('a fallback of another chain is not taken for an answer', async () => {
  await using main = await openNode({ ...whole, eth_getBlockReceipts: () => changed({ status: '0x0' }) })
  await using other = await openNode({ ...whole, eth_chainId: () => '0x8' })
  const urls = [main.url, other.url]
  await using source = await openExecutionSource({ urls, log: silentLog, binding: 'ethereum', limits: LIMITS })
  await source.chainId()
  await expect(source.blockByHash(block.hash)).rejects.toThrow('execution node 2 is on another chain')
})

test('a fallback with right receipts serves when those of the main node are wrong', async () => {
  await using main = await openNode({ ...whole, eth_getBlockReceipts: () => changed({ status: '0x0' }) })
  await using fallback = await openNode(whole)
  const urls = [main.url, fallback.url]
  await using source = await openExecutionSource({ urls, log: silentLog, binding: 'ethereum', limits: LIMITS })
  expect((await source.blockByHash(block.hash)).columns.succeeded[0]).toBe(1)
})

const without = (value: object, field: string) => Object.fromEntries(Object.entries(value).filter(([k]) => k !== field))
const withFirst = <Row>(rows: readonly Row[], change: (row: Row) => unknown) => [
  change(rows[0] as Row),
  ...rows.slice(1),
]
const firstLog = (change: object) =>
  withFirst(receipts, (receipt) => ({ ...receipt, logs: withFirst(receipt.logs, (l) => ({ ...l, ...change })) }))

test.each<[string, Results]>([
  ...[
    'number',
    'hash',
    'parentHash',
    'timestamp',
    'miner',
    'extraData',
    'gasUsed',
    'receiptsRoot',
    'mixHash',
    'transactions',
  ].map((field): [string, Results] => [
    `a block without ${field}`,
    { eth_getBlockByHash: () => without(block, field) },
  ]),
  ...['hash', 'from', 'value'].map((field): [string, Results] => [
    `a transaction without ${field}`,
    { eth_getBlockByHash: () => ({ ...block, transactions: withFirst(transactions, (tx) => without(tx, field)) }) },
  ]),
  ...['transactionHash', 'cumulativeGasUsed', 'logsBloom', 'logs'].map((field): [string, Results] => [
    `a receipt without ${field}`,
    { eth_getBlockReceipts: () => withFirst(receipts, (receipt) => without(receipt, field)) },
  ]),
  ['a number without 0x', { eth_getBlockByHash: () => ({ ...block, gasUsed: '92000' }) }],
  ['a number that is none', { eth_getBlockByHash: () => ({ ...block, timestamp: '0x' }) }],
  [
    'a type above one byte',
    {
      eth_getBlockByHash: () => ({
        ...block,
        transactions: withFirst(transactions, (tx) => ({ ...tx, type: '0x102' })),
      }),
    },
  ],
  [
    'a value above 256 bits',
    {
      eth_getBlockByHash: () => ({
        ...block,
        transactions: withFirst(transactions, (tx) => ({ ...tx, value: `0x1${'0'.repeat(64)}` })),
      }),
    },
  ],
  ['log data of half a byte', { eth_getBlockReceipts: () => firstLog({ data: '0x0' }) }],
  ['log data that is not hex', { eth_getBlockReceipts: () => firstLog({ data: '0xzz' }) }],
  ['five topics', { eth_getBlockReceipts: () => firstLog({ topics: Array(5).fill(hash('a')) }) }],
  ['input that is not hex', changedTransaction(0, { input: '0xzz' })],
])('%s is malformed, and never a figure', async (_, results) => {
  await expect(askBlock({ ...whole, ...results })).rejects.toThrow(expect.objectContaining({ code: 'node_malformed' }))
})

describe('balances around a block', () => {
  const parent = hash('8')
  const balances: Results = {
    ...whole,
    eth_getBalance: ([of, at]) =>
      of !== address('c')
        ? new Refusal(-32_000, 'missing trie node')
        : (at as { blockHash: string }).blockHash === parent
          ? '0x5'
          : quantity(2n ** 70n),
  }
  const around = { hash: block.hash, parentHash: parent }
  const askBalances = (results: Results) =>
    ask(results, (source) => source.balanceChanges([address('c'), address('d')], around))

  test('are asked by the hashes of the block and its parent, and not told where the node does not have them', async () => {
    expect(await askBalances(balances)).toEqual([{ beforeWei: 5n, afterWei: 2n ** 70n }, undefined])
  })

  test('are the node’s fault where it answers something else, or would answer later', async () => {
    const wrong = { ...whole, eth_getBalance: () => '5' }
    await expect(askBalances(wrong)).rejects.toThrow(expect.objectContaining({ code: 'node_malformed' }))
    const limited = { ...whole, eth_getBalance: () => new Refusal(-32_005, 'too many requests') }
    await expect(askBalances(limited)).rejects.toThrow(expect.objectContaining({ code: 'node_unreachable' }))
  })
})

test('a null beside a result is no error', async () => {
  await using node = await openSyntheticNode(() => ({ json: { jsonrpc: '2.0', id: 0, result: '0x7', error: null } }))
  await using source = await openExecutionSource({
    urls: [node.url],
    log: silentLog,
    binding: 'ethereum',
    limits: LIMITS,
  })
  expect(await source.chainId()).toBe(7)
})

test('an error about the whole batch is that of every question, and tells no address', async () => {
  await using node = await openSyntheticNode(({ body }) =>
    body.includes('eth_chainId')
      ? { json: { jsonrpc: '2.0', id: 0, result: '0x7' } }
      : {
          json: { jsonrpc: '2.0', id: null, error: { code: -32_005, message: 'see https://example.org/limits?key=k' } },
        },
  )
  await using source = await openExecutionSource({
    urls: [node.url],
    log: silentLog,
    binding: 'ethereum',
    limits: LIMITS,
  })
  const error = await source.blockByHash(block.hash).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    code: 'node_unreachable',
    message: 'execution node 1 answered with JSON-RPC error -32005: see (address)',
  })
  expect(error).not.toHaveProperty('cause')
})
