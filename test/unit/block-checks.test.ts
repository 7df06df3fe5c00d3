import { beforeAll, expect, test } from 'vitest'
import { type ExecutionSourceOptions, openExecutionSource } from '../../infra/execution/source.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { executionBlockEvents, executionRevertEvent } from '../../ingest/execution/block-events.ts'
import { projectExecutionBlock } from '../../processors/rewards/execution.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { silentLog } from './silent-log.ts'
import { openRpcNode, Refusal, type RpcChainFlaws, SyntheticRpcChain } from './synthetic-rpc-chain.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const chains = new Map<string, SyntheticRpcChain>()
/** The first block that has three transactions. */
const BLOCK = 2

beforeAll(async () => {
  const flaws: Record<string, RpcChainFlaws> = {
    sound: {},
    'no root': { receiptsRoot: true },
    'full bloom': { bloom: true },
  }
  for (const [name, flaw] of Object.entries(flaws)) {
    const chain = await SyntheticRpcChain.open(flaw)
    await chain.extendTo(5)
    chains.set(name, chain)
  }
})

const chainOf = (name: string) => chains.get(name) as SyntheticRpcChain
type Rules = Pick<ExecutionSourceOptions, 'check' | 'logsOnly'>
type Change = Parameters<typeof openRpcNode>[1]

async function readBlock(chain: string, rules: Rules, change?: Change): Promise<ExecutionBlock> {
  await using node = await openRpcNode(chainOf(chain), change)
  await using source = await openExecutionSource({
    urls: [node.url],
    log: silentLog,
    binding: 'layer',
    limits: { retryDelayMs: 1 },
    ...rules,
  })
  return await source.blockByHash(chainOf(chain).at(BLOCK)?.hash as string)
}

const BLOOM = { check: 'bloom' } as const
const NONE = { check: 'none' } as const
const LOGS_BLOOM = { check: 'bloom', logsOnly: true } as const
const LOGS_NONE = { check: 'none', logsOnly: true } as const

test('a chain whose receipts do not hash is read by what it declares, and the block says so', async () => {
  await expect(readBlock('no root', {})).rejects.toThrow('receipts root')
  expect(await readBlock('no root', BLOOM)).toMatchObject({ logsCheck: 'bloom', hasOutcomes: true, matchesHash: true })
  expect(await readBlock('no root', NONE)).toMatchObject({ logsCheck: 'none', hasOutcomes: true, matchesHash: true })
})

test('a block has the same rows however it is read', async () => {
  const { logsCheck: _, ...whole } = await readBlock('sound', {})
  expect(whole.logs.logIndex.length).toBeGreaterThan(2)
  for (const rules of [BLOOM, NONE])
    expect(await readBlock('sound', rules)).toEqual({ ...whole, logsCheck: rules.check })
})

test.each([LOGS_BLOOM, LOGS_NONE])('logs alone are the logs of receipts (%o)', async (rules) => {
  const whole = await readBlock('sound', {})
  const light = await readBlock('sound', rules)
  expect(light.logs).toEqual(whole.logs)
  expect(light.header).toEqual(whole.header)
  expect(light).toMatchObject({ logsCheck: rules.check, hasOutcomes: false })
  // What transactions are themselves is known without receipts.
  const { sender, recipient, valueWei, hash } = whole.columns
  expect(light.columns).toMatchObject({ sender, recipient, valueWei, hash })
})

test('logs alone are not asked for by a number, which may be of another branch by then', async () => {
  await using node = await openRpcNode(chainOf('sound'))
  await using source = await openExecutionSource({ urls: [node.url], log: silentLog, binding: 'layer', ...LOGS_BLOOM })
  expect((await source.blockByNumber(BLOCK))?.logs.logIndex.length).toBeGreaterThan(2)
  const asked = node.seen.filter(({ body }) => body.includes('eth_getLogs')).map(({ body }) => JSON.parse(body).params)
  expect(asked).toEqual([[{ blockHash: chainOf('sound').at(BLOCK)?.hash }]])
  expect(node.seen.some(({ body }) => body.includes('Receipt'))).toBe(false)
})

test('logs alone cannot be checked by a receipts root', async () => {
  await expect(readBlock('sound', { logsOnly: true })).rejects.toThrow('receipts root')
})

type Told = Record<string, unknown> & { readonly logs: readonly Record<string, unknown>[] }
const ofReceipts =
  (change: (receipts: readonly Told[]) => unknown): Change =>
  (method, result) =>
    method === 'eth_getBlockReceipts' ? change(result as readonly Told[]) : result
const ofLogs =
  (change: (logs: readonly Record<string, unknown>[]) => unknown): Change =>
  (method, result) =>
    method === 'eth_getLogs' ? change(result as readonly Record<string, unknown>[]) : result
const withoutLogs = ofReceipts((receipts) => receipts.map((receipt) => ({ ...receipt, logs: [] })))
const otherLog = (log: Record<string, unknown>) => ({ ...log, address: `0x${'77'.repeat(20)}` })

test.each<[string, Rules, Change, string, string]>([
  ['null for receipts', BLOOM, ofReceipts(() => null), 'node_lagging', 'receipts'],
  ['a receipt too few', BLOOM, ofReceipts((all) => all.slice(1)), 'node_inconsistent', '2 receipts'],
  ['a receipt too few', NONE, ofReceipts((all) => all.slice(0, -1)), 'node_inconsistent', '2 receipts'],
  [
    'receipts in another order',
    NONE,
    ofReceipts((all) => all.toReversed()),
    'node_inconsistent',
    'another transaction',
  ],
  ['receipts without logs', BLOOM, withoutLogs, 'node_lagging', 'bloom'],
  ['receipts without logs', NONE, withoutLogs, 'node_lagging', 'bloom'],
  [
    'a log of another contract',
    BLOOM,
    ofReceipts((all) => all.map((one) => ({ ...one, logs: one.logs.map(otherLog) }))),
    'node_inconsistent',
    'bloom',
  ],
  ['no logs', LOGS_BLOOM, ofLogs(() => []), 'node_lagging', 'bloom'],
  ['no logs', LOGS_NONE, ofLogs(() => []), 'node_lagging', 'bloom'],
  ['null for logs', LOGS_NONE, ofLogs(() => null), 'node_lagging', 'logs'],
  ['an unknown block', LOGS_NONE, ofLogs(() => new Refusal(-32_000, 'unknown block')), 'node_lagging', 'unknown block'],
  ['logs of a transaction less', LOGS_BLOOM, ofLogs((all) => all.slice(3)), 'node_inconsistent', 'bloom'],
  ['logs in another order', LOGS_NONE, ofLogs((all) => all.toReversed()), 'node_inconsistent', 'order'],
  ['a log twice', LOGS_NONE, ofLogs((all) => [...all.slice(0, 1), ...all]), 'node_inconsistent', 'order'],
  [
    'logs of another block',
    LOGS_NONE,
    ofLogs((all) => all.map((log) => ({ ...log, blockHash: `0x${'11'.repeat(32)}` }))),
    'node_inconsistent',
    'belongs to another',
  ],
  [
    'logs of a transaction that is not the block’s',
    LOGS_NONE,
    ofLogs((all) => all.map((log) => ({ ...log, transactionHash: `0x${'11'.repeat(32)}` }))),
    'node_inconsistent',
    'belongs to another',
  ],
])('%s is not believed (%o)', async (_, rules, change, code, message) => {
  await expect(readBlock('sound', rules, change)).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  )
})

test('a bloom that is full tells nothing of logs that are missing, and contradicts all', async () => {
  expect(
    (
      await readBlock(
        'full bloom',
        LOGS_NONE,
        ofLogs(() => []),
      )
    ).logs.logIndex,
  ).toHaveLength(0)
  await expect(readBlock('full bloom', BLOOM)).rejects.toThrow('do not agree with its bloom')
})

test('a short answer is asked for again, and of another node', async () => {
  const answer = (once: boolean): Change => {
    let asked = 0
    return ofLogs((logs) => (once && asked++ > 0 ? logs : []))
  }
  expect((await readBlock('sound', LOGS_BLOOM, answer(true))).logs.logIndex.length).toBeGreaterThan(2)
  await using short = await openRpcNode(chainOf('sound'), answer(false))
  await using whole = await openRpcNode(chainOf('sound'))
  const urls = [short.url, whole.url]
  await using source = await openExecutionSource({
    urls,
    log: silentLog,
    binding: 'layer',
    limits: { retryDelayMs: 1 },
    ...LOGS_BLOOM,
  })
  const found = await source.blockByHash(chainOf('sound').at(BLOCK)?.hash as string)
  expect(found.logs.logIndex.length).toBeGreaterThan(2)
})

test('a block that a node does not have by its number is asked of the others, before nobody has it', async () => {
  const lacking: Change = (method, result) => (method === 'eth_getBlockByNumber' ? null : result)
  await using behind = await openRpcNode(chainOf('sound'), lacking)
  await using whole = await openRpcNode(chainOf('sound'))
  const open = (urls: readonly string[]) =>
    openExecutionSource({ urls, log: silentLog, binding: 'layer', limits: { retryDelayMs: 1 } })
  await using both = await open([behind.url, whole.url])
  expect((await both.blockByNumber(BLOCK))?.header.hash).toBe(chainOf('sound').at(BLOCK)?.hash)
  await using alone = await open([behind.url])
  expect(await alone.blockByNumber(BLOCK)).toBeUndefined()
  let asked = 0
  await using once = await openRpcNode(chainOf('sound'), (method, result) => {
    return method === 'eth_getBlockByNumber' && asked++ === 0 ? null : result
  })
  await using balanced = await open([once.url])
  expect((await balanced.blockByNumber(BLOCK))?.header.hash).toBe(chainOf('sound').at(BLOCK)?.hash)
})

test('a block of before Byzantium passes by its bloom, without outcomes', async () => {
  const early = ofReceipts((all) => all.map(({ status: _, ...receipt }) => receipt))
  await expect(readBlock('sound', {}, early)).rejects.toThrow('check: bloom')
  const { columns, ...block } = await readBlock('sound', BLOOM, early)
  expect(block).toMatchObject({ logsCheck: 'bloom', hasOutcomes: false })
  expect([...columns.gasUsed]).toEqual([0n, 0n, 0n])
  expect(block.logs).toEqual((await readBlock('sound', {})).logs)
})

const project = (event: EncodedEvent, offset: bigint) => {
  const stored: StoredEvent = { position: { partition: 0, offset }, event }
  return projectExecutionBlock(stored, 'mainnet').rows.filter(({ table }) => table === 'weak_blocks')
}

test('blocks that were checked by less are told in a table of their own, until they are reverted', async () => {
  const [weak] = executionBlockEvents('scroll', await readBlock('sound', LOGS_BLOOM), TIME).blocks
  const [strong] = executionBlockEvents('scroll', await readBlock('sound', {}), TIME).blocks
  if (weak === undefined || strong === undefined) throw new Error('a block has an event')
  expect(decodeEvent(executionBlock, weak).header).toMatchObject({ logsCheck: 'bloom', hasOutcomes: false })
  expect(project(strong, 1n)).toEqual([])
  expect(project(weak, 1n)).toMatchObject([
    {
      columns: {
        chain: ['scroll'],
        logs_check: ['bloom'],
        has_outcomes: Uint8Array.of(0),
        is_deleted: Uint8Array.of(0),
      },
    },
  ])
  const { number, hash } = chainOf('sound').at(BLOCK) as { number: number; hash: string }
  const reverted = project(executionRevertEvent('scroll', { number, hash }, TIME), 2n)
  const gone = (check: string) => ({ columns: { logs_check: [check], is_deleted: Uint8Array.of(1) } })
  expect(reverted).toMatchObject([gone('bloom'), gone('none')])
})
