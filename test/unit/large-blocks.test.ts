import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256 } from 'viem'
import { expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { chainKey } from '../../schemas/chains.ts'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { KEPT_EVENTS } from '../../schemas/eth/kept-logs.ts'
import { type ReceiptLog, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { DEFAULT_TOPIC_EVENT_BYTES_MAX, decodeEvent } from '../../schemas/events/codec.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { joinLogs } from '../../schemas/events/execution-log-parts.ts'
import { executionLogs, logBucket } from '../../schemas/events/execution-logs.ts'
import { NO_LOGS } from './execution-columns.ts'
import { accountOf, type RpcTransaction, sealed, signedTransaction } from './given-rpc-block.ts'
import { projecting } from './projecting.ts'
import { randomBytes } from './random-bytes.ts'
import { silentLog } from './silent-log.ts'
import { openSyntheticNode } from './synthetic-node.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const CHAIN = 'hoodi'
const TIME = '2026-01-01T00:00:00.000Z'
const TRANSFER = KEPT_EVENTS[0].topic
const GAS_LIMIT = 60_000_000
/** LOG4: 375 gas and 375 for each topic (yellow paper, appendix G). */
const LOG4_GAS = 375 + 4 * 375
const BASE_FEE_WEI = 7n
/** Kafka's default `max.message.bytes`. */
const MESSAGE_BYTES_MAX = 1_048_588

const quantity = (value: number | bigint): Hex => `0x${value.toString(16)}`
const BLOCK_HASH = hexOf(randomBytes(32, 1))

interface GivenTransaction {
  readonly logs?: readonly ReceiptLog[]
  readonly priceWei?: bigint
}

/** A log of a transfer between random accounts. */
function transfer(seed: number, contract = randomBytes(20, seed)): ReceiptLog {
  const random = randomBytes(96, seed)
  const topics = [0, 1, 2].map((i) => hexOf(bytesOfRow(random, i, 32)))
  return { address: hexOf(contract), topics: [TRANSFER, ...topics], data: '0x' }
}

const PAYER = accountOf('b')

/** What a node tells of a block with these transactions, of 21,000 gas each and random in all the rest; the last two are signed. */
async function answersOf(given: readonly GivenTransaction[]) {
  const transactions: RpcTransaction[] = given.map(({ priceWei = 9n }, i) => {
    const random = randomBytes(104, 1_000_000 + i)
    const [r, s] = [hexOf(random.subarray(40, 72)), hexOf(random.subarray(72))]
    const value = 2n ** 64n + BigInt(i)
    const fields = {
      type: '0x0',
      nonce: quantity(i),
      gasPrice: quantity(priceWei),
      gas: quantity(21_000),
      input: '0x',
    } as const
    const accounts = { from: hexOf(random.subarray(0, 20)), to: hexOf(random.subarray(20, 40)) }
    const unhashed = { ...fields, ...accounts, value: quantity(value), v: '0x1b', r, s, accessList: [] } as const
    return { ...unhashed, hash: keccak256(encodeTransaction(unhashed)) }
  })
  for (const [i, { priceWei = 9n }] of [...given.entries()].slice(-2)) {
    const value = 2n ** 64n + BigInt(i)
    const fields = { type: 'legacy', nonce: i, to: PAYER.address, gas: 21_000n, gasPrice: priceWei, value } as const
    transactions.splice(i, 1, await signedTransaction(PAYER, fields))
  }
  let logIndex = 0
  const receipts = given.map(({ logs = [], priceWei = 9n }, i) => ({
    transactionHash: transactions[i]?.hash,
    type: '0x0',
    status: '0x1',
    cumulativeGasUsed: quantity(21_000 * (i + 1)),
    gasUsed: quantity(21_000),
    effectiveGasPrice: quantity(priceWei),
    logsBloom: `0x${'00'.repeat(256)}` as const,
    logs: logs.map((log) => ({ ...log, logIndex: quantity(logIndex++), blockHash: BLOCK_HASH, removed: false })),
  }))
  const committed = receipts.map(({ cumulativeGasUsed, logs, logsBloom }) => {
    return { type: 0, status: 'success' as const, cumulativeGasUsed: BigInt(cumulativeGasUsed), logs, logsBloom }
  })
  const block = sealed({
    number: '0x64',
    parentHash: hexOf(randomBytes(32, 2)),
    timestamp: quantity(1_700_000_000),
    miner: hexOf(randomBytes(20, 3)),
    extraData: '0x',
    baseFeePerGas: quantity(BASE_FEE_WEI),
    gasUsed: quantity(21_000 * given.length),
    receiptsRoot: hexOf(receiptsRoot(committed)),
    transactions,
  })
  return { eth_chainId: '0x7', eth_getBlockByNumber: block, eth_getBlockReceipts: receipts }
}

/** The block as it comes from a node over HTTP. */
async function read(given: readonly GivenTransaction[]): Promise<ExecutionBlock> {
  const answers: Readonly<Record<string, unknown>> = await answersOf(given)
  await using node = await openSyntheticNode(({ body }) => {
    const asked = [JSON.parse(body)].flat() as { readonly id: number; readonly method: string }[]
    const json = asked.map(({ id, method }) => ({ jsonrpc: '2.0', id, result: answers[method] }))
    return { json: json.length === 1 ? json[0] : json }
  })
  await using source = await openExecutionSource({ urls: [node.url], log: silentLog, binding: 'ethereum' })
  const block = await source.blockByNumber(100)
  if (block === undefined) throw new Error('the node has the block')
  return block
}

type Row = Readonly<Record<string, unknown>>

/** Makes events of a block, and of the events what the tables and the readers of logs get. */
async function passThroughLog(block: ExecutionBlock) {
  const { blocks, logs } = executionBlockEvents(CHAIN, block, TIME)
  for (const { id, data } of [...blocks, ...logs]) expect(data.length, id).toBeLessThan(MESSAGE_BYTES_MAX - 4_000)
  const parts = logs.map((event) => decodeEvent(executionLogs, event))
  expect(joinLogs(parts.toReversed())).toEqual(parts.length === 0 ? undefined : block.logs)
  const directory = mkdtempSync(join(tmpdir(), 'epochline-large-'))
  await using ending = new AsyncDisposableStack()
  ending.defer(() => rmSync(directory, { recursive: true }))
  const eventLog = ending.use(await openSqliteEventLog({ file: join(directory, 'log.sqlite') }))
  const warehouse = ending.use(await openWarehouse({ directory: join(directory, 'warehouse') }))
  await migrate(warehouse, await readMigrations())
  const ports = await projecting(eventLog, warehouse)
  for (const [topic, events] of [
    ['execution.blocks', blocks],
    ['execution.logs', logs],
  ] as const) {
    await eventLog.append(topic, events)
    const projector = PROJECTORS.find((one) => one.topic === topic)
    if (projector === undefined) throw new Error(`no projector of ${topic}`)
    await project(ports, projector, await Array.fromAsync(eventLog.read({ topic, signal: never })))
  }
  const [row] = await warehouse.query<Row>('SELECT * FROM execution_blocks FINAL')
  const partRows = await warehouse.query<Row>('SELECT * FROM execution_log_parts FINAL ORDER BY part')
  expect(partRows.reduce((total, { logs: count }) => total + Number(count), 0)).toBe(block.logs.logIndex.length)
  expect(partRows.map(({ part }) => part)).toEqual(logs.map((_, i) => i))
  expect(row).toMatchObject({ chain: CHAIN, block_hash: block.header.hash, log_parts: logs.length })
  return { blocks, logs, parts, row, partRows }
}

test(
  'a block with as many transfer logs as mainnet block 15537394 passes from the node to the tables',
  async () => {
    const given = Array.from({ length: 179 }, (_, i) => ({
      logs: Array.from({ length: 56 }, (_, j) => transfer(i * 56 + j, randomBytes(20, j % 40))),
    }))
    const block = await read(given)
    expect(block.logs.logIndex).toHaveLength(10_024)
    const { row, partRows, logs } = await passThroughLog(block)
    expect(row).toMatchObject({ transactions: 179, priority_fees_wei: String(179n * 21_000n * 2n) })
    expect(partRows[0]).toMatchObject({
      chain: CHAIN,
      block_number: '100',
      block_hash: block.header.hash,
      parts: logs.length,
      version: '1',
    })
  },
  TEST_MS,
)

test(
  'a block with as many logs as 60 million gas allow passes from the node to the tables',
  async () => {
    const logs = Array.from({ length: GAS_LIMIT / LOG4_GAS }, (_, i) => transfer(i, randomBytes(20, i % 3)))
    const block = await read([{ logs }])
    expect(block.logs.logIndex).toHaveLength(32_000)
    const { logs: events, parts } = await passThroughLog(block)
    expect(parts.flatMap(({ columns }) => [...columns.logIndex])).toEqual(logs.map((_, i) => i))
    expect(new Set(events.map(({ key }) => key))).toEqual(new Set([chainKey(CHAIN, logBucket(100))]))
    expect(events.length).toBeGreaterThan(1)
  },
  TEST_MS,
)

test(
  'one log as large as 60 million gas allow, between small ones of its contract, passes from the node to the tables',
  async () => {
    const contract = randomBytes(20, 5)
    const large = { ...transfer(2, contract), data: hexOf(randomBytes(3_700_000, 6)) }
    const block = await read([{ logs: [transfer(1, contract), large, transfer(3, contract)] }])
    const { parts } = await passThroughLog(block)
    expect(parts.map(({ columns }) => [...columns.logIndex])).toEqual([[0], [1], [1], [1], [1, 2]])
    expect(parts.map(({ columns }) => columns.dataTotal[0])).toEqual([0, ...Array(4).fill(3_700_000)])
    expect(joinLogs(parts.slice(0, -1))).toBeUndefined()
  },
  TEST_MS,
)

test(
  'a block of 5,000 transactions at prices above 2^64 wei passes from the node to the tables',
  async () => {
    const priceWei = 2n ** 64n + BASE_FEE_WEI + 1n
    const block = await read(Array.from({ length: 5_000 }, () => ({ priceWei })))
    const { row, logs } = await passThroughLog(block)
    expect(logs).toEqual([])
    expect(row).toMatchObject({ priority_fees_wei: String(5_000n * 21_000n * (2n ** 64n + 1n)) })
  },
  TEST_MS,
)

test('7,000 transactions fit into one event whatever is in them', () => {
  const rows = 7_000
  const words = (seed: number) => new BigUint64Array(randomBytes(rows * 32, seed).slice().buffer)
  const integers = (seed: number) => {
    const parts = words(seed)
    return Array.from({ length: rows }, (_, i) =>
      [0, 1, 2, 3].reduce((value, word) => (value << 64n) | (parts[4 * i + word] ?? 0n), 0n),
    )
  }
  const columns = {
    type: randomBytes(rows, 1),
    succeeded: randomBytes(rows, 2),
    gasUsed: words(3).slice(0, rows),
    effectiveGasPriceWei: integers(4),
    sender: randomBytes(rows * 20, 5),
    recipient: randomBytes(rows * 20, 6),
    isCreation: randomBytes(rows, 7),
    valueWei: integers(8),
    hash: randomBytes(rows * 32, 9),
  }
  const header = {
    number: 1,
    hash: BLOCK_HASH,
    parentHash: BLOCK_HASH,
    timestampSec: 1,
    coinbase: hexOf(randomBytes(20)),
    extraData: hexOf(randomBytes(32)),
    baseFeePerGasWei: String(2n ** 256n - 1n),
    gasUsed: Number.MAX_SAFE_INTEGER,
  }
  const { blocks } = executionBlockEvents(
    CHAIN,
    {
      header,
      columns,
      matchesHash: true,
      logsCheck: 'receipts',
      hasOutcomes: true,
      provenSenders: [],
      withdrawals: [],
      logs: NO_LOGS,
    },
    TIME,
  )
  expect(blocks[0]?.data.length).toBeGreaterThan(1_000_000)
  expect(blocks[0]?.data.length).toBeLessThanOrEqual(DEFAULT_TOPIC_EVENT_BYTES_MAX)
})

test('parts that came twice are joined once, and those of two blocks are not', () => {
  const log = transfer(1)
  const logs = {
    logIndex: Uint32Array.of(7),
    transactionIndex: Uint32Array.of(0),
    transactionHash: randomBytes(32, 1),
    address: bytesOf(log.address),
    topics: [bytesOf(log.topics.join('').replaceAll('0x', ''))],
    data: [new Uint8Array(0)],
  }
  const header = { chain: CHAIN, number: 1, hash: BLOCK_HASH, timestampSec: 1, bucket: 0, part: 0, parts: 1 }
  const part = { header, columns: { ...logs, dataOffset: Uint32Array.of(0), dataTotal: Uint32Array.of(0) } }
  expect(joinLogs([part, part])).toEqual(logs)
  const other = { ...part, header: { ...header, hash: hexOf(randomBytes(32, 9)) } }
  expect(() => joinLogs([part, other])).toThrow(expect.objectContaining({ code: 'undecodable' }))
  const torn = { ...part, columns: { ...part.columns, dataTotal: Uint32Array.of(1) } }
  expect(() => joinLogs([torn])).toThrow(expect.objectContaining({ code: 'undecodable' }))
})
