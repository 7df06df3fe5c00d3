import { describe, expect, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { TrackedValidators } from '../../ingest/epochs/tracked-validators.ts'
import { chainKey } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { dayOfSlot } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { dayBalances, epochBlocks, epochValidators, RANGE_VALIDATORS } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent, type Topic } from '../../schemas/events/codec.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { failingAfter } from './head-topics.ts'
import { silentLog } from './silent-log.ts'
import { pubkeyOf, SLOTS_PER_EPOCH, SyntheticChain, syntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()
const never = new AbortController().signal
/** UTC+8 day in which the chain of these tests began. */
const GENESIS_DAY = dayOfSlot(syntheticChain.clock, 0)

const eventsOf = (topic: Topic) => eventsIn(eventLog(), topic)
const track = (indices: readonly number[], chain = BEACON_CHAIN) => trackValidators(eventLog(), indices, chain)

/** Follows until so many epochs are in the log. */
async function followTo(epochs: number, chain: Pick<SyntheticChain, 'beacon'>): Promise<void> {
  const stop = new AbortController()
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      beacon: chain.beacon,
      startEpoch: 0,
      onProgress: ({ nextEpoch }) => nextEpoch >= epochs && stop.abort(),
    },
    stop.signal,
  )
}

test('an epoch is its validators and its blocks; rewards are those of the duty epoch two before', async () => {
  await track([1, 3])
  await followTo(3, chainTo(24))
  const events = await eventsOf('beacon.epochs')
  expect(events.map(({ id }) => id)).toEqual(
    [0, 1, 2].flatMap((epoch) => [
      ...(epoch === 0 ? [`beacon.day-balances:mainnet:${GENESIS_DAY}:0`] : []),
      `beacon.epoch-validators:mainnet:${epoch}:0`,
      `beacon.epoch-blocks:mainnet:${epoch}`,
    ]),
  )
  const credits = events
    .filter(({ type }) => type === epochValidators.name)
    .map((event) => decodeEvent(epochValidators, event).columns)
  expect(credits.map(({ targetGwei }) => Array.from(targetGwei))).toEqual([
    [0n, 0n],
    [0n, 0n],
    [5n, 5n],
  ])
  expect(Array.from(credits[2]?.balanceGwei ?? [])).toEqual([32_000_000_001n, 32_000_000_003n])
})

async function firstBlocksEvent() {
  const last = (await eventsOf('beacon.epochs')).find(({ type }) => type === epochBlocks.name) as EncodedEvent
  return decodeEvent(epochBlocks, last)
}

test('the blocks event carries every block but the genesis, and sync rewards of tracked members only', async () => {
  await track([1, 3, 6])
  const chain = new SyntheticChain()
  for (const [slot, bits] of [0b1111, 0b1110, 0b0010].entries()) {
    chain.syncBits = Uint8Array.of(bits)
    chain.extend(`b${slot + 1}`, slot + 1, slot === 0 ? 'genesis' : `b${slot}`)
  }
  chain.extendRange(4, 24, 'b3')
  chain.finalizedEpoch = 4
  await followTo(1, chain)
  const { header, columns } = await firstBlocksEvent()
  expect(header.blocks.map(({ slot }) => slot)).toEqual([1, 2, 3])
  expect(Array.from(columns.validatorIndex)).toEqual([1, 6, 1, 6, 1, 6])
  expect(Array.from(columns.slotOffset)).toEqual([1, 1, 2, 2, 3, 3])
  expect(header.chain).toBe('mainnet')
  expect(Array.from(columns.syncGwei)).toEqual([4n, 2n, 0n, 2n, 0n, -2n])
})

test('the blocks event names the parts of its epoch, each of which has a key of its range', async () => {
  await track([1, 3, RANGE_VALIDATORS + 2])
  const chain = chainTo(24)
  chain.registry = RANGE_VALIDATORS + 3
  await followTo(2, chain)
  const events = (await eventsOf('beacon.epochs')).filter(({ id }) => /:mainnet:1(:|$)/.test(id))
  const ids = ['epoch-validators:mainnet:1:0', 'epoch-validators:mainnet:1:1', 'epoch-blocks:mainnet:1']
  expect(events.slice(0, 3).map(({ id, key }) => [id, key])).toEqual([
    [`beacon.${ids[0]}`, 'mainnet:0'],
    [`beacon.${ids[1]}`, 'mainnet:1'],
    [`beacon.${ids[2]}`, 'mainnet'],
  ])
  expect(decodeEvent(epochBlocks, events[2] as EncodedEvent).header.parts).toEqual([
    { kind: 'validators', range: 0, rows: 2 },
    { kind: 'validators', range: 1, rows: 1 },
  ])
})

test('what a proposer earned is asked for tracked proposers, and unknown of the others', async () => {
  await track([2])
  const chain = chainTo(24)
  const asked: string[] = []
  chain.before = (question) => void (question.startsWith('proposer') && asked.push(question))
  await followTo(1, chain)
  const { header } = await firstBlocksEvent()
  expect(header.blocks.map(({ slot, attestationsGwei }) => [slot, attestationsGwei])).toEqual([
    [1, null],
    [2, '100'],
    [3, null],
  ])
  expect(asked).toContain(`proposer ${header.blocks[1]?.root}`)
  expect(asked).not.toContain(`proposer ${header.blocks[0]?.root}`)
})

test('an active validator without a reward row is a malformed answer, never a zero', async () => {
  await track([1, 3])
  const chain = chainTo(24)
  chain.withoutReward.add(3)
  let asked = 0
  chain.before = (question) => {
    if (question.startsWith('attestations') && ++asked === 3) chain.withoutReward.clear()
  }
  await followTo(3, chain)
  const rows = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochValidators.name)
  expect(Array.from(decodeEvent(epochValidators, rows[2] as EncodedEvent).columns.targetGwei)).toEqual([5n, 5n])
})

test('without tracked validators only the blocks are told', async () => {
  await followTo(2, chainTo(24))
  expect((await eventsOf('beacon.epochs')).map(({ type }) => type)).toEqual([epochBlocks.name, epochBlocks.name])
})

test('a day that begins in the epoch brings the balances of the slot before it', async () => {
  await track([2])
  const { clock } = syntheticChain
  // 2020-09-13 12:26:40 UTC is 20:26:40 in UTC+8: the next day begins after 12,800 s, in slot 1067 = 4 * 266 + 3.
  const chain = new SyntheticChain()
  chain.extend('b1060', 1060, 'genesis')
  chain.extendRange(1061, 1090, 'b1060')
  chain.finalizedEpoch = 268
  const stop = new AbortController()
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      beacon: chain.beacon,
      startEpoch: 266,
      onProgress: ({ nextEpoch }) => nextEpoch === 268 && stop.abort(),
    },
    stop.signal,
  )
  const events = await eventsOf('beacon.epochs')
  expect(events.map(({ type }) => type)).toEqual([
    dayBalances.name,
    epochValidators.name,
    epochBlocks.name,
    epochValidators.name,
    epochBlocks.name,
  ])
  const { header, columns } = decodeEvent(dayBalances, events[0] as EncodedEvent)
  expect(header).toEqual({
    chain: 'mainnet',
    epoch: 266,
    day: Math.floor((clock.genesisTimeSec + 1067 * 12 + 28_800) / 86_400),
    slot: 1066,
    range: 0,
  })
  expect(Array.from(columns.balanceGwei)).toEqual([32_000_000_002n])
  expect(decodeEvent(epochBlocks, events[2] as EncodedEvent).header.parts).toEqual([
    { kind: 'day_balances', range: 0, rows: 1 },
    { kind: 'validators', range: 0, rows: 1 },
  ])
})

describe('epoch 0', () => {
  const dayBalancesOf = async () =>
    (await eventsOf('beacon.epochs'))
      .filter(({ type }) => type === dayBalances.name)
      .map((event) => decodeEvent(dayBalances, event))

  test('brings the balances of the genesis state, which the day begins with', async () => {
    await track([2])
    const chain = chainTo(24)
    await followTo(1, chain)
    expect(await dayBalancesOf()).toEqual([
      {
        header: { chain: 'mainnet', epoch: 0, day: GENESIS_DAY, slot: 0, range: 0 },
        columns: { validatorIndex: Uint32Array.of(2), balanceGwei: BigInt64Array.of(32_000_000_002n) },
      },
    ])
    expect((await firstBlocksEvent()).header.parts).toEqual([
      { kind: 'day_balances', range: 0, rows: 1 },
      { kind: 'validators', range: 0, rows: 1 },
    ])
  })

  test('names the balances of two days as one part, where the second one begins in it', async () => {
    await track([2])
    const { beacon } = chainTo(24)
    // Slot 2 begins at midnight.
    const clock = { ...syntheticChain.clock, genesisTimeSec: 1_600_012_800 - 24 }
    await followTo(1, { beacon: { ...beacon, chain: async () => ({ ...(await beacon.chain()), clock }) } })
    expect((await dayBalancesOf()).map(({ header: { day, slot } }) => [day, slot])).toEqual([
      [GENESIS_DAY, 0],
      [GENESIS_DAY + 1, 1],
    ])
    expect((await firstBlocksEvent()).header.parts.map(({ kind }) => kind)).toEqual(['day_balances', 'validators'])
  })
})

test('a restart goes on where the log stops, and knows who was identified', async () => {
  await track([1, 3])
  const chain = chainTo(40)
  await followTo(3, chain)
  const done = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name).length
  const identified: string[] = []
  chain.before = (question) => void (question.startsWith('identify') && identified.push(question))
  await followTo(8, chain)
  const ids = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name).map(({ id }) => id)
  expect(done).toBeLessThan(8)
  expect(ids).toEqual(Array.from({ length: 8 }, (_, epoch) => `beacon.epoch-blocks:mainnet:${epoch}`))
  expect(identified).toEqual([])
  expect((await eventsOf('validators')).map(({ type }) => type)).toEqual([
    depositContractTold.name,
    validatorsIdentified.name,
    registryLookedAt.name,
  ])
})

test('what account facts name is told to have been looked for, once, and from which epoch on it is told', async () => {
  const looks = async () =>
    (await eventsOf('validators'))
      .filter(({ type }) => type === registryLookedAt.name)
      .map((event) => decodeEvent(registryLookedAt, event))
  await track([1])
  await track([3], 'hoodi')
  const chain = chainTo(40)
  await followTo(1, chain)
  const [first] = await looks()
  expect(first).toEqual({ chain: BEACON_CHAIN, accountsThrough: '0', fromEpoch: 0 })
  await track([99]) // not in the registry, looked for nonetheless
  await track([1]) // is known already
  const next = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name).length
  chain.extendRange(41, 56, 'b40')
  chain.finalizedEpoch = 12
  await followTo(9, chain)
  expect(await looks()).toEqual([first, { chain: BEACON_CHAIN, accountsThrough: '3', fromEpoch: next }])
  const types = (await eventsOf('validators')).map(({ type }) => type)
  expect(types.indexOf(validatorsIdentified.name)).toBeLessThan(types.indexOf(registryLookedAt.name))
})

test('the deposit contract is told once for each chain, and again where its node says another', async () => {
  const follow = async (chain: string, contract: string): Promise<void> => {
    const { beacon } = chainTo(5 * SLOTS_PER_EPOCH)
    const facts = { ...(await beacon.chain()), depositContractAddress: contract }
    const stop = new AbortController()
    const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= 2 && stop.abort()
    const options = { ...ofChain(chain, eventLog()), log: silentLog, startEpoch: 0, onProgress }
    await followEpochs({ ...options, beacon: { ...beacon, chain: async () => facts } }, stop.signal)
  }
  const [one, other] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`]
  for (const contract of [one, one, '', other]) await follow('hoodi', contract)
  await follow('mainnet', one)
  const told = (await eventsIn(eventLog(), 'validators')).map((event) => decodeEvent(depositContractTold, event))
  expect(told).toEqual([
    { chain: 'hoodi', address: one },
    { chain: 'hoodi', address: other },
    { chain: 'mainnet', address: one },
  ])
})

test('a chain that does not continue the log is waited out, and nothing of it is taken', async () => {
  await track([1])
  await followTo(3, chainTo(40))
  const taken = await eventsOf('beacon.epochs')
  const next = taken.filter(({ type }) => type === epochBlocks.name).length
  const other = new SyntheticChain()
  for (let slot = 1; slot <= 40; slot++) other.extend(`o${slot}`, slot, slot === 1 ? 'genesis' : `o${slot - 1}`)
  other.finalizedEpoch = 8
  const stop = new AbortController()
  const waits: string[] = []
  const note = (_: object, message: string): void => {
    if (message.includes(' waits: ') && waits.push(message) === 3) stop.abort()
  }
  const options = { ...ofChain(BEACON_CHAIN, eventLog()), beacon: other.beacon }
  await followEpochs({ ...options, log: { ...silentLog, warn: note, debug: note } }, stop.signal)
  expect(waits[0]).toContain(`epoch ${next} of the final chain does not continue the epoch before it in the log`)
  expect(await eventsOf('beacon.epochs')).toEqual(taken)
})

test('validators that are tracked or join the registry later are taken up', async () => {
  await track([1, 9])
  const chain = chainTo(16)
  await followTo(2, chain)
  await track([5])
  chain.registry = 10
  chain.extendRange(17, 24, 'b16')
  chain.finalizedEpoch = 4
  await followTo(4, chain)
  const rows = (await eventsOf('beacon.epochs'))
    .filter(({ type }) => type === epochValidators.name)
    .map((event) => Array.from(decodeEvent(epochValidators, event).columns.validatorIndex))
  expect(rows).toEqual([[1], [1], [1, 5, 9], [1, 5, 9]])
})

test('validators of another chain are none of this one, those of a log without chains are of its unnamed chain', async () => {
  await track([1])
  await track([3], 'hoodi')
  const old = new TextEncoder().encode(JSON.stringify({ account: 'a', pubkeys: [pubkeyOf(5)] }))
  const { name: type } = validatorsTracked
  const time = '2020-01-01T00:00:00.000Z'
  await eventLog().append('accounts', [{ id: 'old', type, version: 1, key: ACCOUNTS_KEY, time, data: old }])
  await followTo(1, chainTo(24))
  const [rows] = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochValidators.name)
  expect([...decodeEvent(epochValidators, rows as EncodedEvent).columns.validatorIndex]).toEqual([1, 5])
})

/** The log, telling which offset of a topic each reading began at. */
function notingReads(topic: Topic, begun: bigint[]): EventLog {
  return {
    append: (to, events) => eventLog().append(to, events),
    consume: (options) => eventLog().consume(options),
    read: (options) => {
      if (options.topic === topic) begun.push(options.from?.get(0) ?? 0n)
      return eventLog().read(options)
    },
    ends: (of) => eventLog().ends(of),
    lag: (of, group, until) => eventLog().lag(of, group, until),
    rewind: (of, group) => eventLog().rewind(of, group),
    lease: (name, signal) => eventLog().lease(name, signal),
    [Symbol.asyncDispose]: async () => {},
  }
}

test('account facts are read once each, and only when there are new ones', async () => {
  await track([1])
  await track([3])
  const begun: bigint[] = []
  const log = notingReads('accounts', begun)
  const { clock } = syntheticChain
  const { beacon } = chainTo(40)
  const options = { ...ofChain(BEACON_CHAIN, eventLog()), eventLog: log, clock }
  const final = beacon.finalChain(await beacon.finalized())
  const tracked = await TrackedValidators.open(options, never)
  expect([...(await tracked.refresh(final, 4, never)).indices]).toEqual([1, 3])
  await tracked.refresh(final, 8, never)
  await track([5])
  expect([...(await tracked.refresh(final, 12, never)).indices]).toEqual([1, 3, 5])
  expect(begun).toEqual([0n, 2n])
})

test('a writer that has lost its lease ends the follower', async () => {
  await track([1])
  const lost = new AppError('lease_lost', 'another process writes the chain')
  const options = {
    ...ofChain(BEACON_CHAIN, eventLog()),
    writer: failingAfter(eventLog(), 3, lost),
    beacon: chainTo(24).beacon,
    startEpoch: 0,
  }
  await expect(followEpochs(options, never)).rejects.toBe(lost)
})

test('a log from before chains had names is gone on with where it stops', async () => {
  const headRoot = `0x${Buffer.from('b7').toString('hex').padStart(64, '0')}`
  const data = new TextEncoder().encode(JSON.stringify({ next: 2, headRoot }))
  const time = '2020-01-01T00:00:00.000Z'
  const cursor = { id: 'old', type: 'ingest.cursor', version: 1, key: 'epochs', time, data }
  await eventLog().append('ingest.cursors', [cursor])
  await followTo(4, chainTo(40))
  expect((await eventsOf('beacon.epochs'))[0]?.id).toBe('beacon.epoch-blocks:mainnet:2')
})

test('an outage is waited out, and the epoch is told once', async () => {
  await track([1])
  const chain = chainTo(24)
  let failures = 3
  chain.before = (question) => {
    if (question.startsWith('sync') && failures-- > 0) {
      throw new AppError('node_unreachable', 'beacon node 1 did not answer', { retryable: true })
    }
  }
  await followTo(4, chain)
  const ids = (await eventsOf('beacon.epochs')).map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('what is far behind finality is walked back in stretches, each from the block after it', async () => {
  const chain = new SyntheticChain()
  chain.extendRange(1, 255, 'genesis')
  chain.extend('b257', 257, 'b255')
  chain.extendRange(258, 300, 'b257')
  chain.extend('orphan', 9, 'b8')
  chain.extendRange(301, 302, 'b300')
  chain.hints.set(9, 'orphan')
  chain.hints.set(10, 'nothing')
  chain.finalizedEpoch = 73
  const asked: string[] = []
  chain.before = (question) => void asked.push(question)
  await followTo(66, chain)
  const roots = (await eventsOf('beacon.epochs')).flatMap((event) =>
    decodeEvent(epochBlocks, event).header.blocks.map(({ slot, root }) => [slot, root]),
  )
  const slots = Array.from({ length: 263 }, (_, i) => i + 1).filter((slot) => slot !== 256)
  const rootOf = (slot: number) => `0x${Buffer.from(`b${slot}`).toString('hex').padStart(64, '0')}`
  expect(roots.slice(0, slots.length)).toEqual(slots.map((slot) => [slot, rootOf(slot)]))
  expect(asked.filter((question) => question.startsWith('root'))).toEqual(['root 256', 'root 257'])
})

test.each(['accounts', 'validators'] as const)(
  'an event of %s that nobody can read is told and passed over',
  async (topic) => {
    await trackValidators(eventLog(), [0, 1], BEACON_CHAIN)
    const type = topic === 'accounts' ? validatorsTracked.name : validatorsIdentified.name
    const event = { id: 'unreadable', type, version: 2, key: chainKey(BEACON_CHAIN), time: '2020-01-01T00:00:00.000Z' }
    await eventLog().append(topic, [{ ...event, data: new TextEncoder().encode('what somebody else has written') }])
    const lines: string[] = []
    const log = { ...silentLog, error: (_: object, line: string) => void lines.push(line) }
    const chain = chainTo(5 * SLOTS_PER_EPOCH)
    const stop = new AbortController()
    const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => nextEpoch >= 3 && stop.abort()
    await followEpochs(
      { ...ofChain(BEACON_CHAIN, eventLog()), log, beacon: chain.beacon, startEpoch: 0, onProgress },
      stop.signal,
    )
    expect(lines).toEqual([expect.stringContaining('the event unreadable cannot be read and is passed over')])
    const epochs = (await eventsIn(eventLog(), 'beacon.epochs')).filter((one) => one.type === epochValidators.name)
    expect(epochs.length).toBeGreaterThanOrEqual(3)
  },
)
