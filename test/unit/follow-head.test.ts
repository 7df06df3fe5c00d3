import { expect, test } from 'vitest'
import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { FollowBeaconHeadOptions } from '../../ingest/beacon-head/beacon-head.ts'
import { AppError } from '../../schemas/errors.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { followBeacon, until } from './follow-synthetic.ts'
import { failingAfter, standing, told } from './head-topics.ts'
import { silentLog } from './silent-log.ts'
import { SyntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()

const beaconBlocks = () => told(eventLog(), 'beacon.blocks')
const executionBlocks = () => told(eventLog(), 'execution.blocks')

/** Follows until the log has the slot, then stops and waits for the end. */
const followTo = (slot: number, chain: SyntheticChain, options: Partial<FollowBeaconHeadOptions> = {}): Promise<void> =>
  followBeacon(eventLog(), chain, until(slot), { pollMs: 5, ...options })

const blocks = (from: number, to: number, prefix = 'block b') =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${from + i}`)

test('blocks come in order, each after the missed slots before it', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  chain.extend('b6', 6, 'b3')
  await followTo(6, chain)
  expect(await beaconBlocks()).toEqual([...blocks(1, 3), 'missed 4', 'missed 5', 'block b6'])
  expect(await executionBlocks()).toEqual([...blocks(1, 3, 'block xb'), 'block xb6'])
})

test('final slots are caught up with in batches, then the head is followed', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 60, 'genesis')
  chain.extend('b63', 63, 'b60')
  chain.extendRange(64, 90, 'b63')
  chain.finalizedEpoch = 20
  await followTo(90, chain)
  expect(await beaconBlocks()).toEqual([...blocks(1, 60), 'missed 61', 'missed 62', 'block b63', ...blocks(64, 90)])
})

test('a reorg takes blocks back newest first, then tells the new ones', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 6, 'genesis')
  await followTo(6, chain)
  chain.extend('c5', 5, 'b4')
  chain.extend('c7', 7, 'c5')
  await followTo(7, chain)
  const after = ['revert b6', 'revert b5', 'block c5', 'missed 6', 'block c7']
  expect((await beaconBlocks()).slice(6)).toEqual(after)
  expect((await executionBlocks()).slice(6)).toEqual(['revert xb6', 'revert xb5', 'block xc5', 'block xc7'])
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
  const log = await beaconBlocks()
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
  expect(await beaconBlocks()).toEqual(blocks(1, 7))
})

test('a restart goes on where the log stops', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 5, 'genesis')
  await followTo(5, chain)
  chain.extendRange(6, 9, 'b5')
  await followTo(9, chain)
  expect(await beaconBlocks()).toEqual(blocks(1, 9))
})

test.each([0, 1, 2, 3, 4, 5])(
  'a kill at append %i of a reorg leaves no orphaned block in either topic',
  async (appends) => {
    const chain = new SyntheticChain()
    chain.extendRange(1, 6, 'genesis')
    await followTo(6, chain)
    chain.extend('c6', 6, 'b5')
    chain.extend('c7', 7, 'c6')
    await expect(
      followTo(7, chain, { writer: failingAfter(eventLog(), appends, new Error('killed')) }),
    ).rejects.toThrow('killed')
    // While nobody follows, a third branch wins.
    chain.extend('d6', 6, 'b5')
    chain.extend('d8', 8, 'd6')
    await followTo(8, chain)
    const names = ['b1', 'b2', 'b3', 'b4', 'b5', 'd6', 'd8']
    expect((await standing(eventLog(), 'beacon.blocks')).sort()).toEqual(names)
    expect((await standing(eventLog(), 'execution.blocks')).sort()).toEqual(names.map((name) => `x${name}`))
  },
)

test('who takes over reverts what the writer before may have appended near the head, and goes on', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 4, 'genesis')
  // The cursor that names b1 to b4 and their execution blocks are appended, then the lease is lost.
  const lost = new AppError('lease_lost', 'another process writes the chain')
  await expect(followTo(4, chain, { writer: failingAfter(eventLog(), 2, lost) })).rejects.toBe(lost)
  chain.extend('c4', 4, 'b3')
  chain.extend('c5', 5, 'c4')
  await followTo(5, chain)
  const first = ['block xb1', 'block xb2', 'block xb3', 'block xb4']
  const reverts = ['revert xb4', 'revert xb3', 'revert xb2', 'revert xb1']
  const second = ['block xb1', 'block xb2', 'block xb3', 'block xc4', 'block xc5']
  expect(await executionBlocks()).toEqual([...first, ...reverts, ...second])
  expect(await standing(eventLog(), 'beacon.blocks')).toEqual(['b1', 'b2', 'b3', 'c4', 'c5'])
})

test('a writer whose lease went to another appends nothing more and is not tried again', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 3, 'genesis')
  let holder = 'A'
  let refused = 0
  const leaseOf = (name: string): EventWriter => ({
    append: async (topic, events) => {
      if (holder === name) return eventLog().append(topic, events)
      refused++
      throw new AppError('lease_lost', `${name} has lost the lease`)
    },
  })
  const loseLease = (height: number) => {
    if (height !== 3) return
    holder = 'B'
    chain.extend('b4', 4, 'b3')
  }
  const ofA = followBeacon(eventLog(), chain, loseLease, { writer: leaseOf('A') })
  await expect(ofA).rejects.toThrow(expect.objectContaining({ code: 'lease_lost' }))
  expect(refused).toBe(1)
  await followTo(4, chain, { writer: leaseOf('B') })
  expect(await beaconBlocks()).toEqual(blocks(1, 4))
})

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
  expect(await standing(eventLog(), 'beacon.blocks')).toEqual(['b1', 'b2', 'b3'])
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
  await followTo(40, chain, { beacon: denying })
  expect(await beaconBlocks()).toEqual(blocks(1, 40))
})

test('a node that denies the first blocks of a log is not believed either', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 40, 'genesis')
  chain.finalizedEpoch = 9
  const { beacon } = chain
  const denying = { ...beacon, blockAt: async (slot: number) => (slot < 4 ? undefined : beacon.blockAt(slot)) }
  await followTo(40, chain, { beacon: denying })
  expect(await beaconBlocks()).toEqual(blocks(1, 40))
})

test('a head far away is gone to in steps, and the log is the same', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 700, 'genesis')
  await followTo(700, chain)
  expect(await beaconBlocks()).toEqual(blocks(1, 700))
})

test('a final block that the head does not have is not believed, and nothing is forgotten', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 10, 'genesis')
  const stop = new AbortController()
  const warnings: string[] = []
  const warn = (_: object, message: string): void => {
    warnings.push(message)
    stop.abort()
  }
  const other = { epoch: 1, root: `0x${'22'.repeat(32)}`, toldBy: 0 }
  const beacon = { ...chain.beacon, finalized: () => Promise.resolve(other) }
  const options = { beacon, log: { ...silentLog, warn } }
  await followBeacon(eventLog(), chain, () => {}, options, stop.signal)
  expect(warnings[0]).toContain('is not in the chain of the head')
  chain.extend('c2', 2, 'b1')
  chain.extend('c11', 11, 'c2')
  await followTo(11, chain)
  expect((await standing(eventLog(), 'beacon.blocks')).sort()).toEqual(['b1', 'c11', 'c2'])
})
