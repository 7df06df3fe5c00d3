import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { AppError } from '../../schemas/errors.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { dayBalances, epochBlocks, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { silentLog } from './silent-log.ts'
import { pubkeyOf, SyntheticChain, syntheticChain } from './synthetic-chain.ts'

let directory: string
let eventLog: EventLog

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'follow-epochs-'))
  eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
})

afterEach(async () => {
  await eventLog[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const never = new AbortController().signal

async function eventsOf(topic: Topic): Promise<EncodedEvent[]> {
  const events: EncodedEvent[] = []
  for await (const { event } of eventLog.read({ topic, signal: never })) events.push(event)
  return events
}

async function track(indices: readonly number[]): Promise<void> {
  const pubkeys = indices.map(pubkeyOf)
  const id = `account.validators-tracked:a:${pubkeys[0]}:${pubkeys.length}`
  const time = '2020-01-01T00:00:00.000Z'
  await eventLog.append('accounts', [
    encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time, data: { account: 'a', pubkeys } }),
  ])
}

/** A chain with blocks up to a slot, all of whose whole epochs but the last two are final. */
function chainTo(slot: number): SyntheticChain {
  const chain = new SyntheticChain()
  chain.extendRange(1, slot, 'genesis')
  chain.finalizedEpoch = Math.floor(slot / 4) - 2
  return chain
}

/** Follows until so many epochs are in the log. */
async function followTo(epochs: number, chain: SyntheticChain): Promise<void> {
  const stop = new AbortController()
  await followEpochs(
    {
      beacon: chain.beacon,
      eventLog,
      network: 'synthetic',
      log: silentLog,
      startEpoch: 0,
      pollMs: 5,
      outageWaitMs: 1,
      onProgress: ({ nextEpoch }) => nextEpoch >= epochs && stop.abort(),
    },
    stop.signal,
  )
}

test('an epoch is its validators, then its blocks; rewards are those of the duty epoch two before', async () => {
  await track([1, 3])
  await followTo(3, chainTo(24))
  const events = await eventsOf('beacon.epochs')
  expect(events.map(({ id }) => id)).toEqual(
    [0, 1, 2].flatMap((epoch) => [`beacon.epoch-validators:${epoch}:0`, `beacon.epoch-blocks:${epoch}`]),
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

test('the blocks event carries every block but the genesis, and sync rewards of tracked members only', async () => {
  await track([1, 3, 6])
  await followTo(1, chainTo(24))
  const last = (await eventsOf('beacon.epochs')).find(({ type }) => type === epochBlocks.name) as EncodedEvent
  const { header, columns } = decodeEvent(epochBlocks, last)
  expect(header.blocks.map(({ slot, attestationsGwei }) => [slot, attestationsGwei])).toEqual([
    [1, '100'],
    [2, '100'],
    [3, '100'],
  ])
  expect(Array.from(columns.validatorIndex)).toEqual([1, 6, 1, 6, 1, 6])
  expect(Array.from(columns.slotOffset)).toEqual([1, 1, 2, 2, 3, 3])
  expect(header.network).toBe('synthetic')
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
      beacon: chain.beacon,
      eventLog,
      network: 'synthetic',
      log: silentLog,
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
    day: Math.floor((clock.genesisTimeSec + 1067 * 12 + 28_800) / 86_400),
    slot: 1066,
    range: 0,
  })
  expect(Array.from(columns.balanceGwei)).toEqual([32_000_000_002n])
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
  expect(ids).toEqual(Array.from({ length: 8 }, (_, epoch) => `beacon.epoch-blocks:${epoch}`))
  expect(identified).toEqual([])
  expect((await eventsOf('validators')).map(({ type }) => type)).toEqual([validatorsIdentified.name])
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
  const warnings: string[] = []
  const warn = (_: object, message: string): void => {
    if (warnings.push(message) === 3) stop.abort()
  }
  const options = { beacon: other.beacon, eventLog, network: 'synthetic', pollMs: 5, outageWaitMs: 1 }
  await followEpochs({ ...options, log: { ...silentLog, warn } }, stop.signal)
  expect(warnings[0]).toContain(`epoch ${next} does not continue the epoch before it`)
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

const backfilled = (chain: SyntheticChain) => ({
  beacon: chain.beacon,
  execution: chain.execution,
  eventLog,
  network: 'synthetic',
  log: silentLog,
})

test('a backfill tells the epochs of its range with their blocks, in order', async () => {
  await track([1])
  const progress: number[] = []
  const options = { ...backfilled(chainTo(40)), onProgress: ({ done }: { done: number }) => void progress.push(done) }
  await backfill(options, { fromEpoch: 2, toEpoch: 4 }, never)
  const ids = (await eventsOf('beacon.epochs')).map(({ id }) => id)
  expect(ids).toEqual(
    [2, 3, 4].flatMap((epoch) => [`beacon.epoch-validators:${epoch}:0`, `beacon.epoch-blocks:${epoch}`]),
  )
  expect(await eventsOf('execution.blocks')).toHaveLength(12)
  expect(await eventsOf('beacon.blocks')).toHaveLength(12)
  expect(progress).toEqual([0, 1, 2, 3])
})

test('a backfill that was interrupted goes on where it was', async () => {
  await track([1])
  const stop = new AbortController()
  const options = { ...backfilled(chainTo(40)), onProgress: ({ done }: { done: number }) => done === 1 && stop.abort() }
  await backfill(options, { fromEpoch: 2, toEpoch: 4 }, stop.signal)
  await backfill(backfilled(chainTo(40)), { fromEpoch: 2, toEpoch: 4 }, never)
  const blocks = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochBlocks.name)
  expect(blocks.map(({ id }) => id)).toEqual([2, 3, 4].map((epoch) => `beacon.epoch-blocks:${epoch}`))
})

test('a backfill of the same range comes again for validators that were tracked since, and not for the same ones', async () => {
  const range = { fromEpoch: 2, toEpoch: 4 }
  const indicesOfLast = async () => {
    const events = (await eventsOf('beacon.epochs')).filter(({ type }) => type === epochValidators.name)
    return [...decodeEvent(epochValidators, events.at(-1) as EncodedEvent).columns.validatorIndex]
  }
  await track([1])
  await backfill(backfilled(chainTo(40)), range, never)
  const once = (await eventsOf('beacon.epochs')).length
  await backfill(backfilled(chainTo(40)), range, never)
  expect(await eventsOf('beacon.epochs')).toHaveLength(once)
  await track([3])
  await backfill(backfilled(chainTo(40)), range, never)
  expect(await indicesOfLast()).toEqual([1, 3])
})

test('a backfill past finality is refused with the last epoch that would do', async () => {
  await expect(backfill(backfilled(chainTo(40)), { fromEpoch: 2, toEpoch: 8 }, never)).rejects.toThrow(
    'epoch 8 is not final yet: the last final one is 7 (--to epoch:7).',
  )
})
