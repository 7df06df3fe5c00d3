import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { followHead } from '../../ingest/beacon-head/head-follower.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { silentLog } from './silent-log.ts'
import { SyntheticChain } from './synthetic-chain.ts'

let directory: string
let eventLog: EventLog

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'follow-head-'))
  eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
})

afterEach(async () => {
  await eventLog[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const never = new AbortController().signal

/** "block b3", "missed 4", "revert b3": the topic as a test reads it. */
async function told(topic: Topic): Promise<string[]> {
  const lines: string[] = []
  for await (const { event } of eventLog.read({ topic, signal: never })) {
    const parts = event.id.split(':')
    const [type = ''] = parts
    const rest = parts.at(-1) ?? ''
    const name = rest.startsWith('0x') ? Buffer.from(rest.slice(2), 'hex').toString().replaceAll('\0', '') : rest
    lines.push(
      `${type
        .replace(/^.*\.(block-)?/, '')
        .replace('reverted', 'revert')
        .replace('missed-slot', 'missed')} ${name}`,
    )
  }
  return lines
}

/** Follows until the log has the slot, then stops and waits for the end. */
async function followTo(slot: number, chain: SyntheticChain, log: EventLog = eventLog): Promise<void> {
  const stop = new AbortController()
  await followHead(
    {
      beacon: chain.beacon,
      execution: chain.execution,
      eventLog: log,
      log: silentLog,
      startEpoch: 0,
      pollMs: 5,
      outageWaitMs: 1,
      onProgress: ({ slot: at }) => at >= slot && stop.abort(),
    },
    stop.signal,
  )
}

const blocks = (from: number, to: number, prefix = 'block b') =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${from + i}`)

test('blocks come in order, each after the missed slots before it', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  chain.extend('b6', 6, 'b3')
  await followTo(6, chain)
  expect(await told('beacon.blocks')).toEqual([...blocks(1, 3), 'missed 4', 'missed 5', 'block b6'])
  expect(await told('execution.blocks')).toEqual([...blocks(1, 3, 'block xb'), 'block xb6'])
})

test('final slots are caught up with in batches, then the head is followed', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 60, 'genesis')
  chain.extend('b63', 63, 'b60')
  chain.extendRange(64, 90, 'b63')
  chain.finalizedEpoch = 20
  await followTo(90, chain)
  expect(await told('beacon.blocks')).toEqual([
    ...blocks(1, 60),
    'missed 61',
    'missed 62',
    'block b63',
    ...blocks(64, 90),
  ])
})

test('a reorg takes blocks back newest first, then tells the new ones', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extend('c5', 5, 'b4')
  chain.extend('c7', 7, 'c5')
  await followTo(7, chain)
  const after = ['revert b6', 'revert b5', 'block c5', 'missed 6', 'block c7']
  expect((await told('beacon.blocks')).slice(6)).toEqual(after)
  expect((await told('execution.blocks')).slice(6)).toEqual(['revert xb6', 'revert xb5', 'block xc5', 'block xc7'])
})

test('a reorg that became final while nobody followed is taken back', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 10, 'genesis')
  chain.finalizedEpoch = 1
  await followTo(10, chain)
  chain.extend('c6', 6, 'b5')
  chain.extendRange(11, 60, 'c6')
  chain.finalizedEpoch = 13
  await followTo(60, chain)
  const log = await told('beacon.blocks')
  expect(log.slice(10, 15)).toEqual(['revert b10', 'revert b9', 'revert b8', 'revert b7', 'revert b6'])
  expect(log.slice(15)).toEqual(['block c6', ...blocks(7, 10, 'missed '), ...blocks(11, 60)])
})

test('a head that the log has passed is a lagging node, not a reorg', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extend('b5', 5, 'b4')
  await followTo(5, chain)
  chain.extendRange(6, 7, 'b5')
  await followTo(7, chain)
  expect(await told('beacon.blocks')).toEqual(blocks(1, 7))
})

test('a restart goes on where the log stops', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 5, 'genesis')
  await followTo(5, chain)
  chain.extendRange(6, 9, 'b5')
  await followTo(9, chain)
  expect(await told('beacon.blocks')).toEqual(blocks(1, 9))
})

/** The log, ended as by a kill: nothing can be appended after the given number of appends. */
function dyingAfter(appends: number): EventLog {
  let left = appends
  return {
    append: (topic, events) => {
      if (left-- > 0) return eventLog.append(topic, events)
      throw new Error('killed')
    },
    consume: (options) => eventLog.consume(options),
    read: (options) => eventLog.read(options),
    lag: (topic, group) => eventLog.lag(topic, group),
    rewind: (topic, group) => eventLog.rewind(topic, group),
    ends: (topic) => eventLog.ends(topic),
    lease: (name, signal) => eventLog.lease(name, signal),
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Blocks that count after all reverts, in the order of the log. */
async function standing(topic: Topic): Promise<string[]> {
  const alive = new Set<string>()
  for (const line of await told(topic)) {
    const [verb, name = ''] = line.split(' ')
    if (verb === 'block') alive.add(name)
    else alive.delete(name)
  }
  return [...alive]
}

test.each([0, 1, 2, 3, 4, 5, 6])(
  'a kill at append %i of a reorg leaves no orphaned block in either topic',
  async (appends) => {
    const chain = new SyntheticChain()
    chain.extendRange(1, 6, 'genesis')
    await followTo(6, chain)
    chain.extend('c6', 6, 'b5')
    chain.extend('c7', 7, 'c6')
    await expect(followTo(7, chain, dyingAfter(appends))).rejects.toThrow('killed')
    // While nobody follows, a third branch wins.
    chain.extend('d6', 6, 'b5')
    chain.extend('d8', 8, 'd6')
    await followTo(8, chain)
    const names = ['b1', 'b2', 'b3', 'b4', 'b5', 'd6', 'd8']
    expect((await standing('beacon.blocks')).sort()).toEqual(names)
    expect((await standing('execution.blocks')).sort()).toEqual(names.map((name) => `x${name}`))
  },
)

test('an outage is waited out', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  let failures = 3
  chain.before = (question) => {
    if (question.startsWith('execution') && failures-- > 0) {
      throw new AppError('node_unreachable', 'execution node 1 did not answer', { retryable: true })
    }
  }
  await followTo(3, chain)
  expect(await standing('beacon.blocks')).toEqual(['b1', 'b2', 'b3'])
})

test('a node that denies a block of its own chain is not believed', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 40, 'genesis')
  chain.finalizedEpoch = 9
  const { beacon } = chain
  let denials = 2
  const denying = {
    ...beacon,
    blockAt: async (slot: number) => (slot === 5 && denials-- > 0 ? undefined : beacon.blockAt(slot)),
  }
  const stop = new AbortController()
  await followHead(
    {
      beacon: denying,
      execution: chain.execution,
      eventLog,
      log: silentLog,
      startEpoch: 0,
      outageWaitMs: 1,
      onProgress: ({ slot }) => slot >= 40 && stop.abort(),
    },
    stop.signal,
  )
  expect(await told('beacon.blocks')).toEqual(blocks(1, 40))
})

test('a log of another chain is refused', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  const other = new SyntheticChain()
  const beacon = {
    ...other.beacon,
    chain: async () => ({ ...(await other.beacon.chain()), genesisValidatorsRoot: `0x${'22'.repeat(32)}` }),
  }
  const options = { beacon, execution: other.execution, eventLog, log: silentLog }
  await expect(followHead(options, never)).rejects.toThrow(expect.objectContaining({ code: 'config' }))
})
