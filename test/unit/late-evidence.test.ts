import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { BalanceChange } from '../../infra/ports/execution-source.ts'
import type { RelayClaim } from '../../infra/ports/relay-claims.ts'
import { BlockEvidenceReader } from '../../ingest/execution/block-evidence.ts'
import { ASKED_AGAIN_AFTER_MS, followLateEvidence, WaitingEvidence } from '../../ingest/execution/late-evidence.ts'
import { AppError } from '../../schemas/errors.ts'
import { beaconBlock, beaconBlockReverted } from '../../schemas/events/beacon-block.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { tracked } from './account-facts.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { eventsIn } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'
import { emptyBlock } from './synthetic-execution-chain.ts'

const CHAIN = 'mainnet'
const TIME = '2026-01-01T00:00:12.000Z'
const BLOCK_MS = Date.parse(TIME)
const HASH = `0x${'7'.repeat(64)}`
const PUBKEY = `0x${'1'.repeat(96)}`
const PAYEE = `0x${'a'.repeat(40)}`
const CLAIM: RelayClaim = {
  ...{ relay: 'relay 1', valueWei: 5n, feeRecipient: PAYEE, proposerPubkey: PUBKEY, builderPubkey: PUBKEY, slot: 1 },
}
const BALANCE: BalanceChange = { beforeWei: 0n, afterWei: 5n }
const eventLog = eventLogOfEachTest()

const block = emptyBlock({ number: 7, hash: HASH, parentHash: HASH })
/** At each moment it is looked so often: once would do, and none of the others must ask. */
const LOOKS = 10
const [MINUTE_MS, , , LAST_MS] = ASKED_AGAIN_AFTER_MS

/** A chain with a tracked proposer, and what its node and relay tell at the moment. */
async function openGiven() {
  await eventLog().append('accounts', [tracked('a', [PUBKEY])])
  const withdrawalCredentials = `0x01${'00'.repeat(11)}${PAYEE.slice(2)}`
  await eventLog().append('validators', [
    encodeEvent(validatorsIdentified, {
      ...{ id: 'identified', key: CHAIN, time: TIME },
      data: { chain: CHAIN, validators: [{ index: 1, pubkey: PUBKEY, withdrawalCredentials }] },
    }),
  ])
  return openRun()
}

/** One run of the program on the log. */
function openRun() {
  const given = {
    nowMs: BLOCK_MS,
    claims: [] as readonly RelayClaim[],
    balance: undefined as BalanceChange | undefined,
    fault: undefined as AppError | undefined,
    asked: [] as string[],
  }
  let looks = 0
  const waiting = new WaitingEvidence(() => {
    looks++
    return given.nowMs
  })
  const shared = { chain: CHAIN, unnamedChain: CHAIN, eventLog: eventLog(), log: silentLog }
  const evidence = new BlockEvidenceReader({
    ...shared,
    execution: {
      balanceChanges: async (addresses) => {
        given.asked.push(...addresses)
        return addresses.map(() => given.balance)
      },
    },
    relays: {
      count: 1,
      claimsOf: async () => {
        given.asked.push('relay')
        return given.claims
      },
    },
    onLacking: (lacking) => waiting.note(lacking),
  })
  const execution = {
    blockByHash: async () => {
      if (given.fault !== undefined) throw given.fault
      return block
    },
  }
  const options = { ...shared, writer: eventLog(), evidence, waiting, execution, lookMs: 1, outageWaitMs: 1 }
  const read = async () => void (await eventLog().append('execution.blocks', await evidence.eventsOf(1, block, TIME)))
  /** What is asked at each of these moments behind the block. */
  const askedAt = async (...afterMs: readonly number[]) => {
    const stop = new AbortController()
    const following = followLateEvidence(options, stop.signal)
    const all: string[][] = []
    for (const ms of afterMs) {
      given.asked = []
      given.nowMs = BLOCK_MS + ms
      const enough = looks + LOOKS
      while (looks < enough) await setImmediate()
      all.push(given.asked)
    }
    stop.abort()
    await following
    return all
  }
  return { given, options, read, askedAt, waiting }
}

async function told() {
  const events = await eventsIn(eventLog(), 'execution.blocks')
  return events
    .filter(({ type }) => type === blockEvidence.name)
    .map((event) => {
      const { claims, balances } = decodeEvent(blockEvidence, event)
      return [event.id.replace(`execution.block-evidence:${CHAIN}:${HASH}`, ''), claims.length, balances.length]
    })
}

test('a claim that a relay makes late is told by an event of its own, and not asked for again', async () => {
  const { given, read, askedAt } = await openGiven()
  given.balance = BALANCE
  await read()
  given.claims = [CLAIM]
  expect(await askedAt(0, MINUTE_MS - 1, MINUTE_MS, LAST_MS)).toEqual([[], [], ['relay'], []])
  expect(await told()).toEqual([['', 0, 1], [':again:1', 1, 0]]) // biome-ignore format: a table
})

test('a balance that no node told is asked for alone where a relay has named the block', async () => {
  const { given, read, askedAt } = await openGiven()
  given.claims = [CLAIM]
  await read()
  expect(await askedAt(MINUTE_MS)).toEqual([[PAYEE]])
  given.balance = BALANCE
  expect(await askedAt(ASKED_AGAIN_AFTER_MS[1], LAST_MS)).toEqual([[PAYEE], []])
  expect(await told()).toEqual([['', 1, 0], [':again:2', 0, 1]]) // biome-ignore format: a table
})

test('what is never told is asked for a few times, each longer after the one before, and nothing is written', async () => {
  const { read, askedAt } = await openGiven()
  await read()
  const asked = await askedAt(...ASKED_AGAIN_AFTER_MS, LAST_MS * 2, LAST_MS * 100)
  expect(asked.map(({ length }) => length)).toEqual([2, 2, 2, 2, 0, 0])
  expect(await told()).toEqual([])
  const waits = ASKED_AGAIN_AFTER_MS.map((ms, i) => ms - (ASKED_AGAIN_AFTER_MS[i - 1] ?? 0))
  expect(waits).toEqual(waits.toSorted((some, other) => some - other))
})

test('a block of which everything is known is not asked about again, nor one whose times have passed', async () => {
  const { given, read, askedAt, waiting } = await openGiven()
  given.balance = BALANCE
  given.claims = [CLAIM]
  await read()
  waiting.note({ proposerIndex: 1, hash: HASH, time: '2025-12-31T00:00:00.000Z', claims: true, addresses: [] })
  expect((await askedAt(...ASKED_AGAIN_AFTER_MS)).flat()).toEqual([])
})

test('a node that does not answer is asked at the next time; whoever lost the chain ends', async () => {
  const { given, options, read, askedAt } = await openGiven()
  await read()
  given.fault = new AppError('node_unreachable', 'away', { retryable: true })
  expect(await askedAt(MINUTE_MS)).toEqual([[]])
  given.fault = undefined
  given.claims = [CLAIM]
  expect(await askedAt(ASKED_AGAIN_AFTER_MS[1])).toEqual([[PAYEE, 'relay']])
  const lost = new AppError('lease_lost', 'another process writes')
  given.balance = BALANCE
  given.nowMs = BLOCK_MS + ASKED_AGAIN_AFTER_MS[2]
  const writer = { append: () => Promise.reject(lost) }
  await expect(followLateEvidence({ ...options, writer }, AbortSignal.timeout(2_000))).rejects.toBe(lost)
})

test('a run that begins asks for what the newest blocks of the log lack, at the times that are left', async () => {
  const blockOf = (name: string, hash: string, proposerIndex: number) => {
    const root = `0x${name.repeat(64)}`
    const data = { chain: CHAIN, slot: 1, root, parentRoot: root, proposerIndex, executionBlockHash: hash, executionBlockNumber: 7 } // biome-ignore format: a row
    return encodeEvent(beaconBlock, { id: `b${name}`, key: CHAIN, time: TIME, data })
  }
  const { given, read } = await openGiven()
  given.balance = BALANCE
  await read()
  const root = `0x${'d'.repeat(64)}`
  await eventLog().append('beacon.blocks', [
    blockOf('b', HASH, 1),
    blockOf('c', `0x${'8'.repeat(64)}`, 2), // nobody tracks its proposer
    blockOf('d', `0x${'9'.repeat(64)}`, 1),
    encodeEvent(beaconBlockReverted, { id: 'r', key: CHAIN, time: TIME, data: { chain: CHAIN, slot: 1, root } }),
  ])
  const next = openRun()
  next.given.nowMs = BLOCK_MS + MINUTE_MS + 1
  next.given.claims = [CLAIM]
  expect(await next.askedAt(MINUTE_MS + 1, ASKED_AGAIN_AFTER_MS[1], LAST_MS)).toEqual([[], ['relay'], []])
  expect((await told()).at(-1)).toEqual([':again:2', 1, 0])
})
