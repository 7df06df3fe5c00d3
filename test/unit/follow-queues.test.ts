import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import type { BeaconSource, StakingQueues } from '../../infra/ports/beacon-source.ts'
import { queueRules } from '../../ingest/queues/queue-event.ts'
import { followQueues } from '../../ingest/queues/queue-follower.ts'
import { toQueueFacts } from '../../processors/head/queues.ts'
import { AppError } from '../../schemas/errors.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { beaconQueues, OWN_AT_HEAD_MAX } from '../../schemas/events/beacon-queues.ts'
import { DEFAULT_TOPIC_EVENT_BYTES_MAX, decodeEvent, encodeEvent, packedEvent } from '../../schemas/events/codec.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, chainTo, eventsIn, ofChain } from './follow-synthetic.ts'
import { QUEUE_SPEC } from './queue-spec.ts'
import { type SyntheticChain, syntheticChain } from './synthetic-chain.ts'

const eventLog = eventLogOfEachTest()
const GWEI_32_ETH = 32_000_000_000n
const MINE = `0x${'ab'.repeat(48)}`
const MINE_PREFIX = 0xababababababababn

const spec = {
  ...syntheticChain.spec,
  ...QUEUE_SPEC,
}

const HEADER = {
  chain: BEACON_CHAIN,
  clock: syntheticChain.clock,
  rules: queueRules(spec),
  slot: 13,
  root: `0x${'00'.repeat(32)}`,
  finalizedEpoch: 1,
  totalActiveGwei: '1',
  isSampled: false,
  carriedGwei: null,
  exits: { earliestEpoch: 1, leftGwei: '1', isExact: true },
  sweep: { position: 0, registrySize: 1, eligible: 0, partials: 0 },
  own: [],
}

type Told = Omit<StakingQueues, 'slot' | 'root'>

function queuesOf(prefixes: readonly bigint[], changes: Partial<Told> = {}): Told {
  const nobody = new Uint32Array(0)
  const none = new BigUint64Array(0)
  const noBytes = new Uint8Array(0)
  return {
    finalizedEpoch: 1,
    deposits: {
      pubkeyPrefix: BigUint64Array.from(prefixes),
      amountGwei: new BigUint64Array(prefixes.length).fill(GWEI_32_ETH),
      slot: new BigUint64Array(prefixes.length).fill(1n),
      withdrawableEpoch: new BigUint64Array(prefixes.length).fill(FAR_FUTURE_EPOCH),
    },
    own: [],
    partials: { validatorIndex: none, amountGwei: none, withdrawableEpoch: none },
    consolidatedIndices: none,
    fields: {
      nextWithdrawalValidatorIndex: 7,
      depositBalanceToConsumeGwei: GWEI_32_ETH,
      exitBalanceToConsumeGwei: 5n,
      earliestExitEpoch: 99,
    },
    exiting: {
      validatorIndex: nobody,
      balanceGwei: new BigInt64Array(0),
      effectiveBalanceEth: nobody,
      status: noBytes,
      slashed: noBytes,
      activationEligibilityEpoch: none,
      activationEpoch: none,
      exitEpoch: none,
      withdrawableEpoch: none,
    },
    registry: { size: 500, isSampled: false, totalActiveGwei: 500n * GWEI_32_ETH, sweepEligible: 80 },
    sweepPosition: 7,
    ...changes,
  }
}

/** Follows until `isEnough` of the log's events; the chain moves on at each read. */
async function follow(chain: SyntheticChain, onRead: (read: number, stop: () => void) => void) {
  const stop = new AbortController()
  let read = 0
  const beacon: BeaconSource = {
    ...chain.beacon,
    chain: async () => ({ ...syntheticChain, spec }),
    queues: async (own) => {
      const told = await chain.beacon.queues(own)
      read++
      onRead(read, () => stop.abort())
      return told
    },
  }
  const options = { ...ofChain(BEACON_CHAIN, eventLog()), beacon, readPauseMs: 0 }
  await followQueues(options, AbortSignal.any([stop.signal, AbortSignal.timeout(10_000)]))
  return (await eventsIn(eventLog(), 'beacon.blocks')).map((event) => ({
    event,
    data: decodeEvent(beaconQueues, event),
  }))
}

function randomAmounts(rows: number): BigUint64Array<ArrayBuffer> {
  const random = new Uint8Array(rows * 8)
  random.set(randomBytes(random.length))
  return new BigUint64Array(random.buffer)
}

async function trackMine(): Promise<void> {
  const data = { chain: BEACON_CHAIN, account: 'a', pubkeys: [MINE] }
  const event = { id: 'tracked', key: ACCOUNTS_KEY, time: '2020-01-01T00:00:00.000Z', data }
  await eventLog().append('accounts', [encodeEvent(validatorsTracked, event)])
}

test('tells once an epoch what waits at the head, and which of it is of the accounts', async () => {
  await trackMine()
  const chain = chainTo(13)
  chain.queues = queuesOf([1n, 2n, 3n, 4n, 5n, MINE_PREFIX, 6n])
  const told = await follow(chain, (read, stop) => {
    if (read === 1) chain.extendRange(14, 17, 'b13')
    else stop()
  })
  expect(told.map(({ data }) => data.header.slot)).toEqual([13, 17])
  expect(told[0]?.event.id).toBe(`beacon.queues:mainnet:3:${told[0]?.data.header.root}`)
  expect(told[0]?.data.header).toMatchObject({
    carriedGwei: '32000000000',
    exits: { earliestEpoch: 99, leftGwei: '5', isExact: true },
    sweep: { position: 7, registrySize: 500, eligible: 80, partials: 0 },
  })
  expect([...(told[0]?.data.columns.ownPrefix ?? [])].map((prefix) => prefix !== 0n)).toEqual([
    false,
    false,
    false,
    false,
    false,
    true,
    false,
  ])
  // 32 ETH were carried and the limit is 128: five in the first transition, four in the next.
  const facts = toQueueFacts(told[0]?.data as NonNullable<(typeof told)[0]>['data'])
  expect(facts.deposits).toEqual({
    own: [['abababababababab', '32000000000', 5]],
    endEpoch: 6, // slot 13 lies behind the start of epoch 3, so it is final when epoch 5 ends
    isCarryKnown: true,
    isSampled: false,
  })
  expect(facts).toMatchObject({ finalityLag: 1, exits: { limitGwei: '128000000000' } })
})

test('tells an exit queue of what is scheduled where the node keeps its state to itself', async () => {
  const exiting = {
    ...queuesOf([]).exiting,
    validatorIndex: Uint32Array.of(4, 5, 6),
    effectiveBalanceEth: Uint32Array.of(32, 32, 2_048),
    exitEpoch: BigUint64Array.of(40n, 40n, 70n),
  }
  const chain = chainTo(13)
  chain.queues = queuesOf([], {
    fields: undefined,
    exiting,
    consolidatedIndices: BigUint64Array.of(6n),
    partials: {
      validatorIndex: BigUint64Array.of(9n),
      amountGwei: BigUint64Array.of(1_000_000_000n),
      withdrawableEpoch: BigUint64Array.of(40n + 256n),
    },
  })
  const [told] = await follow(chain, (_, stop) => stop())
  expect(told?.data.header).toMatchObject({
    carriedGwei: null,
    exits: {
      earliestEpoch: 40,
      leftGwei: String(128_000_000_000n - 2n * GWEI_32_ETH - 1_000_000_000n),
      isExact: false,
    },
  })
})

test('asks again after an outage, and tells nothing before Electra', async () => {
  const chain = chainTo(13)
  chain.queues = queuesOf([1n])
  let failures = 2
  chain.before = (question) => {
    if (question === 'queues' && failures-- > 0) throw new AppError('node_unreachable', 'away', { retryable: true })
  }
  expect(await follow(chain, (_, stop) => stop())).toHaveLength(1)
  const stop = new AbortController()
  const before = { ...syntheticChain, spec: { ...spec, ELECTRA_FORK_EPOCH: '1000' } }
  const beacon: BeaconSource = {
    ...chain.beacon,
    chain: async () => before,
    head: async () => {
      setImmediate(() => stop.abort())
      return chain.head
    },
  }
  await followQueues({ ...ofChain(BEACON_CHAIN, eventLog()), beacon }, stop.signal)
  expect(await eventsIn(eventLog(), 'beacon.blocks')).toHaveLength(1)
})

test('a queue that no event holds is passed over, and the estimates stay', async () => {
  const chain = chainTo(13)
  const told = queuesOf(new Array<bigint>(200_000).fill(1n))
  told.deposits.amountGwei.set(randomAmounts(200_000))
  chain.queues = told
  expect(await follow(chain, (_, stop) => stop())).toEqual([])
})

test('100,000 deposits fit an event of the default size, all of them of accounts', () => {
  const rows = 100_000
  const columns = {
    ownPrefix: randomAmounts(rows),
    amountGwei: new BigUint64Array(rows).fill(GWEI_32_ETH),
    slot: BigUint64Array.from({ length: rows }, (_, i) => 13_000_000n + BigInt(i >> 2)),
    withdrawableEpoch: BigUint64Array.from({ length: rows }, (_, i) => (i % 100 === 0 ? 420_000n : FAR_FUTURE_EPOCH)),
  }
  const epochs = [400_000, 400_007, 410_000, 410_256] as const
  const own = Array.from({ length: OWN_AT_HEAD_MAX }, () => [randomBytes(8).toString('hex'), ...epochs] as const)
  const header = { ...HEADER, own: own.map(([prefix, ...rest]) => [prefix, ...rest] as [string, ...typeof rest]) }
  expect(beaconQueues.encode({ header, columns }).length).toBeLessThan(DEFAULT_TOPIC_EVENT_BYTES_MAX)
})

test('an event from before it was told whose deposits are put off is read as one in which none is', () => {
  const { own: _, ...headerV1 } = HEADER
  const layoutV1 = { amountGwei: 'u64', slot: 'u64', ownPrefix: 'u64' } as const
  const identity = { name: 'beacon.queues', version: 1, topic: 'beacon.blocks' } as const
  const columns = {
    amountGwei: BigUint64Array.of(GWEI_32_ETH, 1n),
    slot: BigUint64Array.of(7n, 0n),
    ownPrefix: BigUint64Array.of(0n, MINE_PREFIX),
  }
  const event = encodeEvent(packedEvent(identity, Type.Any(), layoutV1), {
    ...{ id: 'q', key: 'mainnet', time: '' },
    data: { header: headerV1, columns },
  })
  expect(decodeEvent(beaconQueues, event)).toEqual({
    header: HEADER,
    columns: { ...columns, withdrawableEpoch: BigUint64Array.of(FAR_FUTURE_EPOCH, FAR_FUTURE_EPOCH) },
  })
})

test('tells whose deposits are put off, and how it stands with the accounts’ own at the head', async () => {
  await trackMine()
  const chain = chainTo(13)
  const told = queuesOf([1n, MINE_PREFIX])
  told.deposits.withdrawableEpoch[0] = 300n
  const mine = { pubkey: MINE, eligibilityEpoch: 1, activationEpoch: 2, exitEpoch: 9, withdrawableEpoch: 265 }
  const gone = { ...mine, pubkey: `0x${'cd'.repeat(48)}`, withdrawableEpoch: 3 }
  const coming = { ...mine, activationEpoch: undefined, exitEpoch: undefined, withdrawableEpoch: undefined }
  chain.queues = { ...told, own: [mine, gone, { ...coming, pubkey: `0x${'ef'.repeat(48)}` }] }
  const [event] = await follow(chain, (_, stop) => stop())
  expect(event?.data.columns.withdrawableEpoch).toEqual(BigUint64Array.of(300n, FAR_FUTURE_EPOCH))
  expect(event?.data.header.own).toEqual([
    ['ab'.repeat(8), 1, 2, 9, 265],
    ['ef'.repeat(8), 1, null, null, null],
  ])
  expect(toQueueFacts(event?.data as NonNullable<typeof event>['data']).own).toEqual({
    ['ab'.repeat(8)]: [1, 2, 9, 265],
    ['ef'.repeat(8)]: [1, null, null, null],
  })
})
