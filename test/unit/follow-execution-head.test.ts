import { expect, test } from 'vitest'
import type { FollowExecutionHeadOptions } from '../../ingest/execution/execution-head.ts'
import { AppError } from '../../schemas/errors.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { followExecution, until } from './follow-synthetic.ts'
import { failingAfter, standing, told } from './head-topics.ts'
import { silentLog } from './silent-log.ts'
import { hashOf, SyntheticExecutionChain } from './synthetic-execution-chain.ts'

const never = new AbortController().signal
const eventLog = eventLogOfEachTest()

/** Follows until the log has the block, then stops and waits for the end. */
const followTo = (
  number: number,
  chain: SyntheticExecutionChain,
  options: Partial<FollowExecutionHeadOptions> = {},
): Promise<void> => followExecution(eventLog(), chain, until(number), options)

/** Blocks and reverts of the topic. */
const blocksTold = async () =>
  (await told(eventLog(), 'execution.blocks')).filter((line) => !line.startsWith('finalized'))

const finalized = async () =>
  (await told(eventLog(), 'execution.blocks')).filter((line) => line.startsWith('finalized'))

const blocks = (from: number, to: number, prefix = 'block b') =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${from + i}`)

test('blocks come in order, each with the chain and its own key', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  expect(await blocksTold()).toEqual(blocks(1, 3))
  expect(await told(eventLog(), 'beacon.blocks')).toEqual([])
  const stored = await Array.fromAsync(eventLog().read({ topic: 'execution.blocks', signal: never }))
  expect(stored.map(({ event }) => [event.key, event.time])[2]).toEqual([
    `scroll_mainnet:${hashOf('b3')}`,
    '2020-09-13T12:26:49.000Z',
  ])
})

test('final blocks are caught up with in batches, then the head is followed', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 600, 'genesis')
  chain.finalizedNumber = 200
  await followTo(600, chain)
  expect(await blocksTold()).toEqual(blocks(1, 600))
})

test('a log without a cursor begins at the newest final block', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 60, 'genesis')
  chain.finalizedNumber = 50
  await followTo(60, chain, { startBlock: undefined })
  expect(await blocksTold()).toEqual(blocks(50, 60))
})

test('a reorg takes blocks back newest first, at their own times, then tells the new ones', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extendRange(5, 7, 'b4', 'c')
  await followTo(7, chain)
  expect((await blocksTold()).slice(6)).toEqual(['revert b6', 'revert b5', 'block c5', 'block c6', 'block c7'])
  const stored = await Array.fromAsync(eventLog().read({ topic: 'execution.blocks', signal: never }))
  const times = new Map(stored.map(({ event }) => [event.id, event.time]))
  const idOf = (type: string) => `${type}:scroll_mainnet:${hashOf('b6')}`
  expect(times.get(idOf('execution.block-reverted'))).toBe(times.get(idOf('execution.block')))
})

test('a deeper reorg while the follower runs goes back to where the branches part', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 40, 'genesis')
  await followExecution(eventLog(), chain, (height, stop) => {
    if (height === 40) chain.extendRange(3, 45, 'b2', 'c')
    if (height === 45) stop()
  })
  expect(await standing(eventLog(), 'execution.blocks')).toEqual(['b1', 'b2', ...blocks(3, 45, 'c')])
  expect((await blocksTold()).slice(40, 42)).toEqual(['revert b40', 'revert b39'])
})

test('a reorg that became final while nobody followed is taken back', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 10, 'genesis')
  chain.finalizedNumber = 4
  await followTo(10, chain)
  chain.extendRange(6, 60, 'b5', 'c')
  chain.finalizedNumber = 50
  await followTo(60, chain)
  const log = await blocksTold()
  expect(log.slice(10, 15)).toEqual(['revert b10', 'revert b9', 'revert b8', 'revert b7', 'revert b6'])
  expect(log.slice(15)).toEqual(blocks(6, 60, 'block c'))
})

test('a head that the log has passed is a lagging node, not a reorg', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extend('b5', 5, 'b4')
  await followTo(5, chain)
  chain.extendRange(6, 7, 'b5')
  await followTo(7, chain)
  expect(await blocksTold()).toEqual(blocks(1, 7))
})

test.each([0, 1, 2, 3])('a kill at append %i of a reorg leaves no orphaned block', async (appends) => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extendRange(6, 7, 'b5', 'c')
  const writer = failingAfter(eventLog(), appends, new Error('killed'))
  await expect(followTo(7, chain, { writer })).rejects.toThrow('killed')
  // While nobody follows, a third branch wins.
  chain.extendRange(6, 8, 'b5', 'd')
  await followTo(8, chain)
  expect((await standing(eventLog(), 'execution.blocks')).sort()).toEqual([...blocks(1, 5, 'b'), 'd6', 'd7', 'd8'])
})

test('who takes over reverts what the writer before may have appended, and goes on', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  const lost = new AppError('lease_lost', 'another process writes the chain')
  const writer = failingAfter(eventLog(), 2, lost)
  await expect(followTo(3, chain, { writer })).rejects.toBe(lost)
  chain.extendRange(3, 4, 'b2', 'c')
  await followTo(4, chain)
  const reverts = ['revert b3', 'revert b2', 'revert b1']
  expect(await blocksTold()).toEqual([...blocks(1, 3), ...reverts, ...blocks(1, 2), 'block c3', 'block c4'])
})

test('an outage is waited out, at the start too', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  let failures = 6
  chain.before = () => {
    if (failures-- > 0) throw new AppError('node_unreachable', 'execution node 1 did not answer', { retryable: true })
  }
  await followTo(3, chain)
  expect(await blocksTold()).toEqual(blocks(1, 3))
})

test('the final block of the node is told when the log has it, once', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 10, 'genesis')
  chain.finalizedNumber = 4
  await followExecution(eventLog(), chain, (height, stop) => {
    if (height === 13) return stop()
    if (height === 12) chain.finalizedNumber = 9
    chain.extend(`b${height + 1}`, height + 1, `b${height}`)
  })
  expect(await finalized()).toEqual(['finalized 4', 'finalized 9'])
})

test('finality that moves while the head stands still is told', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 10, 'genesis')
  const stop = new AbortController()
  let looks = 0
  const onProgress = ({ height }: { readonly height: number }) => {
    if (height < 10) return
    looks++
    if (looks === 2) chain.finalizedNumber = 7
    if (looks === 6) stop.abort()
  }
  await followExecution(eventLog(), chain, () => {}, { onProgress, pollMs: 1, finalityPollMs: 1 }, stop.signal)
  expect(await finalized()).toEqual(['finalized 7'])
})

test('where the node tells of no finality, it is a depth below the head', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 20, 'genesis')
  chain.finalizedNumber = undefined
  await followExecution(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 21) stop()
      else chain.extend('b21', 21, 'b20')
    },
    { finalityDepth: 12 },
  )
  expect(await finalized()).toEqual(['finalized 8', 'finalized 9'])
})

test('a final block that is not in the chain of the head is not told', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 10, 'genesis')
  const execution = {
    ...chain.source,
    finalized: async () => ({ number: 6, hash: hashOf('c6'), parentHash: hashOf('c5') }),
  }
  const stop = new AbortController()
  const warnings: string[] = []
  const warn = (_: object, message: string): void => {
    warnings.push(message)
    stop.abort()
  }
  await followExecution(eventLog(), chain, () => {}, { execution, log: { ...silentLog, warn } }, stop.signal)
  expect(warnings[0]).toContain('is not in the chain of the head')
  expect(await finalized()).toEqual([])
})

test('blocks that came while nobody looked are read by their numbers, side by side', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  const asked: string[] = []
  await followExecution(eventLog(), chain, (height, stop) => {
    if (height === 13) return stop()
    chain.before = (question) => void asked.push(question)
    chain.extendRange(4, 13, 'b3')
  })
  const read = asked.filter((question) => /^(number|hash) /.test(question))
  expect(read).toEqual([`hash ${hashOf('b13')}`, ...blocks(4, 12, 'number ')])
})

test('a block costs one question for itself and one for the head', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  const clock = { nowMs: 1_600_000_000_000 }
  const asked: string[] = []
  await followExecution(
    eventLog(),
    chain,
    (height, stop) => {
      if (height === 3) chain.before = (question) => void asked.push(question.replace(/ .*/, ''))
      if (height === 13) return stop()
      chain.extend(`b${height + 1}`, height + 1, `b${height}`)
      clock.nowMs += 3_000
    },
    { now: () => clock.nowMs, pollMs: 3_000, finalityPollMs: 15_000 },
  )
  const count = (kind: string) => asked.filter((question) => question === kind).length
  expect([count('head'), count('hash'), count('finalized'), asked.length]).toEqual([10, 10, 2, 22])
})

async function identities(): Promise<(string | undefined)[]> {
  const stored = await Array.fromAsync(eventLog().read({ topic: 'ingest.cursors', signal: never }))
  return stored.map(({ event }) => decodeEvent(ingestCursor, event).identity)
}

test('the cursor names the chain by its id and the hash of its genesis, and another chain is refused', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  await followTo(3, chain)
  expect(await identities()).toEqual([`eip155:534352:${hashOf('genesis')}`])
  chain.chainId = 1
  await expect(followTo(3, chain)).rejects.toThrow(
    expect.objectContaining({
      code: 'config',
      message: expect.stringContaining("chain id is 534352, the node's is 1"),
    }),
  )
})

test('a node that no longer has the genesis block is known by its chain id', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 3, 'genesis')
  chain.prunedBelow = 1
  await followTo(3, chain)
  chain.prunedBelow = 0
  chain.before = (question) => {
    if (question === 'number 0') throw new AppError('node_lagging', 'pruned history unavailable', { retryable: true })
  }
  await followTo(3, chain)
  expect(new Set(await identities())).toEqual(new Set(['eip155:534352']))
  chain.before = () => {}
  chain.extendRange(4, 5, 'b3')
  await followTo(5, chain)
  expect(await blocksTold()).toEqual(blocks(1, 5))
})

test.each([10, 80])(
  'nodes that fail every twenty-fifth question do not keep the log from moving (%i blocks are final)',
  async (final) => {
    const chain = new SyntheticExecutionChain()
    chain.extendRange(1, 90, 'genesis')
    chain.finalizedNumber = final
    let asked = 0
    chain.before = () => {
      if (++asked % 25 === 0) throw new AppError('node_unreachable', 'the node is too busy', { retryable: true })
    }
    await followTo(90, chain, { outageWaitMs: 0 })
    expect(await blocksTold()).toEqual(blocks(1, 90))
    // What was read is kept.
    expect(asked).toBeLessThan(90 * 10)
  },
)

test('a node that does not tell of finality for a while makes nothing final by depth', async () => {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 100, 'genesis')
  chain.finalizedNumber = 10
  await followExecution(eventLog(), chain, (height, stop) => {
    if (height === 100 && chain.finalizedNumber === 10) {
      chain.finalizedNumber = undefined
      chain.extendRange(101, 110, 'b100')
    }
    if (height === 110) stop()
  })
  expect(await finalized()).toEqual(['finalized 10'])
})
