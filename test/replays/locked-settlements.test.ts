import { describe, expect, it } from 'vitest'
import { selectSettlements } from '../../api/rewards/select-settlements.ts'
import { keptFacts } from '../../commands/admin/keep-settled.ts'
import { correctLocked } from '../../commands/correct-locked.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { settledRows } from '../../processors/settlements/settled-rows.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { dayStartSec, parseDay } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, settlementsLocked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { GIVEN_CHAIN, givenChain } from '../unit/given-chain.ts'
import { lateClaim } from '../unit/late-claims.ts'
import { processLog, readLog } from '../unit/processing.ts'
import { dumpTables, projecting, rebuildFrom } from '../unit/projecting.ts'
import { randomOf } from '../unit/random-of.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// Histories in which days are locked one after the other, while evidence of their blocks comes late, and again, and what corrects them is
// written meanwhile. Whoever exported records finds each of them again, word for word; together with what was added they are what
// the blocks prove in the end; and the log alone gives the same.

const TEST_MS = 240_000
const never = new AbortController().signal
const chain = givenChain()
const blocks = chain.events.get('execution.blocks') ?? []
const stores = storesOfFile()
const END_SEC = 2 ** 32 - 1

const exported = (warehouse: Warehouse) =>
  selectSettlements(warehouse, { chain: GIVEN_CHAIN, account: 'a', fromSec: 0, toSec: END_SEC })
type Record = Awaited<ReturnType<typeof exported>>[number]

const isOf = (behindSec: number) => (record: Record) => record.kind === 'correction' || record.time_sec < behindSec

/** As the command does. */
async function lock(eventLog: EventLog, warehouse: Warehouse, day: number, keptThrough: number): Promise<void> {
  const through = new Date(day * 86_400_000).toISOString().slice(0, 10)
  const span = { account: 'a', fromSec: Math.max(0, dayStartSec(keptThrough + 1)), toSec: dayStartSec(day + 1) }
  const envelope = { key: ACCOUNTS_KEY, time: '2026-02-01T00:00:00.000Z' }
  const { lockId, facts } = keptFacts({ account: 'a', through: day }, await settledRows(warehouse, span, 7), envelope)
  const data = { account: 'a', through, lockId }
  await eventLog.append('accounts', [
    ...facts,
    encodeEvent(settlementsLocked, { ...envelope, id: `lock ${through}`, data }),
  ])
}

/** What the records of each block come to. */
function sumsOf(records: readonly Record[]): ReadonlyMap<string, readonly [bigint, bigint]> {
  const sums = new Map<string, readonly [bigint, bigint]>()
  for (const { block_number, user_reward_wei, service_fee_wei } of records) {
    const [user, fee] = sums.get(block_number) ?? [0n, 0n]
    sums.set(block_number, [user + BigInt(user_reward_wei), fee + BigInt(service_fee_wei)])
  }
  return new Map([...sums].filter(([, [user, fee]]) => user !== 0n || fee !== 0n))
}

/** Plays a history, and leaves its log. */
async function play(eventLog: EventLog, warehouse: Warehouse, random: (below: number) => number): Promise<Seen> {
  const days = chain.wholeDays.map((day) => parseDay(day) ?? 0)
  let [keptThrough, now, written] = [-1, 1_800_000_000, 0]
  let before: readonly Record[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const told = Array.from({ length: 1 + random(4) }, () => {
      const block = blocks[random(blocks.length)] as EncodedEvent
      return lateClaim(block, BigInt(random(3)) * 1_000n, random(4) === 0 ? 292_000n : 0n)
    })
    await eventLog.append('execution.blocks', told)
    const next = days[random(days.length)] ?? 0
    if (random(3) === 0) {
      // Of what waits only a part was processed: nothing is concluded from it.
      await readLog(eventLog, warehouse, ['accounts', 'validators'])
      expect(await correctLocked({ eventLog, warehouse }, { now, waitMsMax: 0 }, never)).toBe(0)
    }
    await processLog(eventLog, warehouse)
    written += await correctLocked({ eventLog, warehouse }, { now: now++, waitMsMax: 0 }, never)
    await processLog(eventLog, warehouse)
    expect(await correctLocked({ eventLog, warehouse }, { now: now++, waitMsMax: 0 }, never)).toBe(0)
    const records = await exported(warehouse)
    const locked = before.filter(isOf(dayStartSec(keptThrough + 1)))
    expect(records).toEqual(expect.arrayContaining(locked))
    before = records
    if (next > keptThrough && random(2) === 0) {
      await lock(eventLog, warehouse, next, keptThrough)
      keptThrough = next
      await processLog(eventLog, warehouse)
      expect(await exported(warehouse)).toEqual(records)
    }
  }
  return { records: before, written }
}

interface Seen {
  readonly records: readonly Record[]
  readonly written: number
}

const ROUNDS = 8

describe.each(Array.from({ length: tries(1, 60) }, (_, seed) => seed))(
  'a history of locked days, by seed %i',
  (seed) => {
    it('keeps what was exported, and adds up to what blocks prove', { timeout: TEST_MS }, async () => {
      const { warehouse, empty } = stores()
      const random = randomOf(seed)
      await empty()
      await using eventLog = await stores().openLog(chain.events)
      await processLog(eventLog, warehouse)
      const { records, written } = await play(eventLog, warehouse, random)
      expect(written).toBeGreaterThan(0)
      expect(records.filter(({ kind }) => kind === 'correction')).toHaveLength(written)
      expect((await proveSettlements(warehouse)).examples).toEqual([])
      const due = await settledRows(warehouse, { account: 'a', fromSec: 0, toSec: END_SEC })
      const proven = due.map(({ blockNumber, revenueWei, serviceFeeWei }) => {
        const fee = BigInt(serviceFeeWei)
        return [`${blockNumber}`, [BigInt(revenueWei) - fee, fee]] as const
      })
      expect(sumsOf(records)).toEqual(new Map(proven))

      const right = await dumpTables(warehouse)
      await rebuildFrom(eventLog, warehouse)
      expect(await dumpTables(warehouse)).toEqual(right)
      expect(await exported(warehouse)).toEqual(records)

      await empty()
      await deliver(eventLog, warehouse, random)
      expect(await dumpTables(warehouse)).toEqual(right)
      expect(await exported(warehouse)).toEqual(records)
    })
  },
)

/** Topics in any order, some batches twice, and figures made in between. */
async function deliver(eventLog: EventLog, warehouse: Warehouse, random: (below: number) => number): Promise<void> {
  const ports = await projecting(eventLog, warehouse)
  const queues: { readonly projector: Projector; readonly left: StoredEvent[] }[] = []
  for (const projector of PROJECTORS) {
    queues.push({ projector, left: await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never })) })
  }
  for (;;) {
    const open = queues.filter(({ left }) => left.length > 0)
    const next = open[random(open.length)]
    if (next === undefined) break
    const batch = next.left.splice(0, 1 + random(24))
    await project(ports, next.projector, batch)
    if (random(4) === 0) await project(ports, next.projector, batch)
    if (random(8) === 0) await ports.wanted.make()
  }
  await ports.wanted.make()
}
