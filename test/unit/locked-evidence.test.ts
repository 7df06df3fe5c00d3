import { cpSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type SettlementRecord, selectSettlements } from '../../api/rewards/select-settlements.ts'
import { sumsOf, toSettledReward } from '../../api/rewards/settled-rewards.ts'
import { readAccountBook } from '../../commands/admin/account-facts.ts'
import { correctSettlement, lockSettlements } from '../../commands/admin/settlements.ts'
import { correctLocked, correctLockedDays } from '../../commands/correct-locked.ts'
import type { Ports, Running } from '../../commands/role.ts'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { dropRemoved } from '../../processors/loop/drop-chains.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { lockedDifferences } from '../../processors/settlements/locked-differences.ts'
import { compareRecords } from '../../processors/verify/altered-records.ts'
import { findUncorrected } from '../../processors/verify/uncorrected.ts'
import { AppError } from '../../schemas/errors.ts'
import { dayStartSec, formatInstant, parseDay } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, settlementsLocked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { CHAINLESS_TOPICS, TOPICS } from '../../schemas/events/envelope.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { chainRemoved, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { rated, tracked } from './account-facts.ts'
import { GIVEN_CHAIN, givenChain, givenKey } from './given-chain.ts'
import { appendSince, givenLog, holdTables, inTables, processed } from './given-log.ts'
import { lateClaim, PAID_AT, WITHDRAWN_TO } from './late-claims.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

// What is known of a block only after its day was locked, and people were paid from its record.

const TEST_MS = 120_000
const never = new AbortController().signal
const chain = givenChain()
const keys = Array.from({ length: chain.validators }, (_, index) => givenKey(index))
const blocks = chain.events.get('execution.blocks') ?? []
const [firstDay = '', secondDay = '', thirdDay = ''] = chain.wholeDays
const settings = settingsOfFile()
const NOW = dayStartSec((parseDay(thirdDay) ?? 0) + 1)
/** Nobody processes anything meanwhile. */
const ONCE = { now: NOW, waitMsMax: 0 }
const TIPS = 292_000n

const recipients = keys.map((pubkey) => ({ pubkey, address: PAID_AT }))
const TOLD: readonly EncodedEvent[] = [
  encodeEvent(feeRecipientsTold, {
    ...{ id: 'paid at', key: ACCOUNTS_KEY, time: '2026-01-01T00:00:00.000Z' },
    data: { chain: GIVEN_CHAIN, recipients, isOwn: true },
  }),
]

async function made(facts: readonly EncodedEvent[]): Promise<TestSetting> {
  const setting = await givenLog(settings(), chain, [tracked('a', keys), rated('a', '0.25', 0), ...facts])
  await inTables(setting)
  return setting
}

const firsts = new Map<readonly EncodedEvent[], Promise<TestSetting>>()
const NOTHING_TOLD: readonly EncodedEvent[] = []
/** Made once of the same facts, and copied; its tables are held until the test is done. */
async function given(facts = TOLD): Promise<TestSetting> {
  const first = firsts.get(facts) ?? made(facts)
  firsts.set(facts, first)
  const setting = settings()
  cpSync(folderOf(await first), folderOf(setting), { recursive: true, verbatimSymlinks: true })
  const held = await holdTables(setting)
  onTestFinished(() => held[Symbol.asyncDispose]())
  return setting
}
const folderOf = ({ config }: TestSetting) => dirname((config.mode as EmbeddedMode).eventLogFile)

const served = (setting: TestSetting): Promise<readonly SettlementRecord[]> => processed(setting, servedIn)
async function servedIn(warehouse: Warehouse): Promise<readonly SettlementRecord[]> {
  const records = await selectSettlements(warehouse, { chain: GIVEN_CHAIN, account: 'a', fromSec: 0, toSec: 2 ** 32 })
  return records.toReversed()
}

/** What the program does at its intervals, once it has processed what is in the log. */
async function corrected(setting: TestSetting): Promise<number> {
  return await processed(setting, async (warehouse) => {
    await using eventLog = await openEventLog(setting.config, setting.log)
    return await correctLocked({ eventLog, warehouse }, ONCE, never)
  })
}

async function tell(setting: TestSetting, events: readonly EncodedEvent[]): Promise<void> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('execution.blocks', events)
}

/** As `chain remove --even-locked` says it, and the program does it at its next start. */
async function removed(setting: TestSetting): Promise<void> {
  await processed(setting, async (warehouse) => {
    await using eventLog = await openEventLog(setting.config, setting.log)
    const before: Record<string, Record<string, string>> = {}
    for (const topic of TOPICS.filter((one) => !CHAINLESS_TOPICS.has(one))) {
      const ends = [...(await eventLog.ends(topic))].map(
        ([partition, end]) => [String(partition), String(end)] as const,
      )
      before[topic] = Object.fromEntries(ends)
    }
    const time = formatInstant(NOW)
    await eventLog.append('log', [
      encodeEvent(chainRemoved, { id: 'removed', key: LOG_FACTS_KEY, time, data: { chain: GIVEN_CHAIN, before } }),
    ])
    await dropRemoved({ eventLog, warehouse }, await openLogFacts(eventLog, 0, never), never)
  })
}

function blockAt(height: number): EncodedEvent {
  const block = blocks.find(({ id }) => id.endsWith(`0e${height.toString(16).padStart(32, '0')}`))
  if (block === undefined) throw new Error(`the given chain has no block ${height}`)
  return block
}

/** A local block of each day, by its height. */
async function localBlocks(setting: TestSetting): Promise<ReadonlyMap<string, number>> {
  const records = (await served(setting)).filter(({ revenue_wei }) => BigInt(revenue_wei) === TIPS)
  const dayOf = ({ time_sec }: SettlementRecord) => new Date((time_sec + 28_800) * 1000).toISOString().slice(0, 10)
  return new Map(records.map((record) => [dayOf(record), Number(record.block_number)]))
}

/** Blocks of one local block's proposer on the same day: one without a claim shows whose coinbase it is. */
function sameProposers(records: readonly SettlementRecord[], height: number): readonly EncodedEvent[] {
  const dayOf = ({ time_sec }: SettlementRecord) => Math.floor((time_sec + 28_800) / 86_400)
  const own = records.find(({ block_number }) => block_number === `${height}`)
  const isSame = (one: SettlementRecord) =>
    own !== undefined && one.validator_index === own.validator_index && dayOf(one) === dayOf(own)
  return records.filter(isSame).map(({ block_number }) => blockAt(Number(block_number)))
}

const lockedRows = (warehouse: Warehouse) =>
  warehouse.query<{ slot: string }>('SELECT slot FROM locked_settlements FINAL ORDER BY slot')
const lock = (setting: TestSetting, through: string) => lockSettlements(setting, { account: 'a', through })
const blockRecords = (records: readonly SettlementRecord[]) => records.filter(({ kind }) => kind === 'block')
const corrections = (records: readonly SettlementRecord[]) => records.filter(({ kind }) => kind === 'correction')

describe('what is known of a block late', () => {
  it('leaves its locked record as it was, and becomes a record beside it', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    const before = await served(setting)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    expect(await served(setting)).toEqual(before)
    const uncorrected = () => processed(setting, (warehouse) => findUncorrected(warehouse, GIVEN_CHAIN))
    expect(await uncorrected()).toMatchObject([{ examples: [`account a slot ${height} by 1000 wei`] }])

    expect(await corrected(setting)).toBe(1)
    expect(await uncorrected()).toEqual([])
    const after = await served(setting)
    expect(blockRecords(after)).toEqual(before)
    const [correction, ...others] = corrections(after)
    expect(others).toEqual([])
    expect(correction).toMatchObject({
      id: '4503599627370497',
      block_number: `${height}`,
      revenue_wei: '1000',
      service_fee_wei: '250',
      user_reward_wei: '750',
      time_sec: NOW,
      reason: `Block ${height} proves 0.000000000000293 ETH (direct_transfers) by what is known now; 0.000000000000292 ETH were settled of it.`,
    })
    const record = before.find(({ block_number }) => Number(block_number) === height)
    expect(correction?.pubkey).toBe(record?.pubkey)
    expect(toSettledReward(correction as SettlementRecord)).toMatchObject({
      kind: 'correction',
      block_number: height,
      reason: correction?.reason,
    })
    expect(sumsOf(after)).not.toEqual(sumsOf(before))
    // It is written once, and found by nobody again.
    expect(await corrected(setting)).toBe(0)
  })

  it('and then again, beside the correction before it', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(firstDay) ?? 0
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    await corrected(setting)
    const before = await served(setting)
    await tell(setting, [lateClaim(blockAt(height), 600n)])
    expect(await corrected(setting)).toBe(1)
    const after = await served(setting)
    expect(after.filter(({ id }) => id !== '4503599627370498')).toEqual(before)
    expect(corrections(after).map(({ revenue_wei }) => revenue_wei)).toEqual(['1000', '-400'])
  })

  it('changes the record of a day that is not locked, in its place', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(thirdDay) ?? 0
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    expect(await corrected(setting)).toBe(0)
    const record = (await served(setting)).find(({ block_number }) => Number(block_number) === height)
    expect(record).toMatchObject({ kind: 'block', revenue_wei: `${TIPS + 1_000n}` })
  })

  it('that changes no amount is none', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    const before = await served(setting)
    await tell(setting, [lateClaim(blockAt(height), 0n, TIPS)])
    expect(await corrected(setting)).toBe(0)
    expect(await served(setting)).toEqual(before)
  })

  it('takes back what nothing proves any more', { timeout: TEST_MS }, async () => {
    // Nobody has told where they are paid: a coinbase that relays name is not taken for the proposer's own.
    const setting = await given(NOTHING_TOLD)
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    const before = await served(setting)
    const unclear = sameProposers(before, height)
    await tell(
      setting,
      unclear.map((block) => lateClaim(block, 0n, 5n)),
    )
    expect(await corrected(setting)).toBe(unclear.length)
    const after = await served(setting)
    expect(blockRecords(after)).toEqual(before)
    const correction = corrections(after).find(({ block_number }) => block_number === `${height}`)
    expect(correction).toMatchObject({ user_reward_wei: '-219000', service_fee_wei: '-73000' })
    expect(correction?.reason).toMatch(/^Block \d+ proves nothing by what is known now/)
  })

  it('pays for a block of which nothing was settled', { timeout: TEST_MS }, async () => {
    const setting = await given(NOTHING_TOLD)
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    const unclear = sameProposers(await served(setting), height)
    await tell(
      setting,
      unclear.map((block) => lateClaim(block, 0n, 5n)),
    )
    await inTables(setting)
    await lock(setting, secondDay)
    const before = await served(setting)
    expect(before.filter(({ block_number }) => block_number === `${height}`)).toEqual([])
    await tell(setting, [lateClaim(blockAt(height), 1_000n, 0n, WITHDRAWN_TO)])
    expect(await corrected(setting)).toBe(1)
    const after = await served(setting)
    expect(blockRecords(after)).toEqual(before)
    expect(corrections(after)).toMatchObject([{ block_number: `${height}`, revenue_wei: '1000' }])
  })

  it('is not compared while its day is open again', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    const found = await processed(setting, async (warehouse) => {
      await warehouse.command(`ALTER TABLE closed_days DELETE WHERE day = '${secondDay}' SETTINGS mutations_sync = 1`)
      await using eventLog = await openEventLog(setting.config, setting.log)
      return await correctLocked({ eventLog, warehouse }, ONCE, never)
    })
    expect(found).toBe(0)
  })

  it('is not concluded from what the tables lack since a chain is read again from later on', {
    timeout: TEST_MS,
  }, async () => {
    const setting = await given()
    await lock(setting, firstDay)
    await inTables(setting)
    const before = await served(setting)
    await removed(setting)
    // The day behind the locked one closes; the locked one has its last blocks, by which those of a proposer prove less than by all of the day.
    await appendSince(setting, chain, formatInstant(dayStartSec(parseDay(secondDay) ?? 0) - 23_400))
    expect(await corrected(setting)).toBe(0)
    const ofDay = (records: readonly SettlementRecord[]) =>
      blockRecords(records).filter(({ time_sec }) => time_sec < dayStartSec(parseDay(secondDay) ?? 0))
    expect(ofDay(await served(setting))).toEqual(ofDay(before))
  })

  it('is compared on the day within which the tables begin', { timeout: TEST_MS }, async () => {
    const setting = settings()
    const since = dayStartSec(parseDay(secondDay) ?? 0)
    {
      await using eventLog = await openEventLog(setting.config, setting.log)
      await eventLog.append('accounts', [tracked('a', keys), rated('a', '0.25', 0), ...TOLD])
      await eventLog.append('validators', chain.events.get('validators') ?? [])
    }
    await appendSince(setting, chain, formatInstant(since - 23_400))
    await inTables(setting)
    await lock(setting, firstDay)
    const late = blockRecords(await served(setting)).find(({ time_sec }) => time_sec < since)
    await tell(setting, [lateClaim(blockAt(Number(late?.block_number)), 1_000n, 0n, WITHDRAWN_TO)])
    expect(await corrected(setting)).toBe(1)
  })

  it('is not concluded while an event of settlements is set aside', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    const [claim, later] = [lateClaim(blockAt(height), 1_000n), lateClaim(blockAt(height), 2_000n)]
    await tell(setting, [claim, { ...later, version: later.version + 1 }])
    expect(await corrected(setting)).toBe(0)
    await expect(lock(setting, thirdDay)).rejects.toThrow('could not be processed')
  })

  it('is found behind blocks of others that are not meant, however many these are', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const heights = await localBlocks(setting)
    await lock(setting, thirdDay)
    const ofDay = (day: string) => heights.get(day) ?? 0
    await tell(
      setting,
      [secondDay, thirdDay].map((day) => lateClaim(blockAt(ofDay(day)), 1_000n)),
    )
    const found = await processed(setting, async (warehouse) => {
      await warehouse.command(
        `INSERT INTO locked_settlements SELECT * REPLACE ('0' AS account, 0 AS user_reward_wei) FROM locked_settlements FINAL`,
      )
      await warehouse.command(
        `INSERT INTO settlement_locks SELECT * REPLACE ('0' AS account) FROM settlement_locks FINAL`,
      )
      return await lockedDifferences(warehouse, { isMeant: ({ account }) => account === 'a', limit: 1 })
    })
    expect(found).toMatchObject([{ account: 'a' }])
  })

  it('is left for the next look where the right to write is lost', async () => {
    const stop = new AbortController()
    const log = { ...silentLog, debug: () => stop.abort() }
    const lost = () => Promise.reject(new AppError('lease_lost', 'the lease accounts is lost'))
    const ports = { warehouse: { query: lost } } as unknown as Ports
    await expect(correctLockedDays(ports, { log } as unknown as Running, stop.signal)).resolves.toBeUndefined()
  })

  it('is found behind blocks that are not compared, however many these are', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const heights = await localBlocks(setting)
    const claims = [secondDay, thirdDay].map((day) => lateClaim(blockAt(heights.get(day) ?? 0), 1_000n))
    await lock(setting, thirdDay)
    await tell(setting, claims)
    const found = await processed(setting, async (warehouse) => {
      await warehouse.command(`ALTER TABLE closed_days DELETE WHERE day = '${secondDay}' SETTINGS mutations_sync = 1`)
      return await lockedDifferences(warehouse, { limit: 1 })
    })
    expect(found).toMatchObject([{ blockNumber: heights.get(thirdDay), userRewardWei: 750n }])
  })

  it('is not compared while the tables are behind the log', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const heights = await localBlocks(setting)
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(heights.get(secondDay) ?? 0), 1_000n)])
    const found = await processed(setting, async (warehouse) => {
      await using eventLog = await openEventLog(setting.config, setting.log)
      await eventLog.append('execution.blocks', [lateClaim(blockAt(heights.get(firstDay) ?? 0), 1_000n)])
      return await correctLocked({ eventLog, warehouse }, ONCE, never)
    })
    expect(found).toBe(0)
    expect(await corrected(setting)).toBe(2)
  })

  it('is written once by two processes that find it', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    const written = await processed(setting, async (warehouse) => {
      await using eventLog = await openEventLog(setting.config, setting.log)
      const ports = { eventLog, warehouse }
      return await Promise.all([correctLocked(ports, ONCE, never), correctLocked(ports, ONCE, never)])
    })
    expect(written.toSorted()).toEqual([0, 1])
    expect((await readAccountBook(setting)).corrections()).toHaveLength(1)
  })

  it('is not written where the tables alone are other than what was settled, which is told', {
    timeout: TEST_MS,
  }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    expect(await corrected(setting)).toBe(1)
    await processed(setting, async (warehouse) => {
      await using eventLog = await openEventLog(setting.config, setting.log)
      const [own] = await lockedRows(warehouse)
      const find = async () =>
        (await compareRecords({ eventLog, warehouse, signal: never })).altered.map(({ what }) => what)
      const correct = () => correctLocked({ eventLog, warehouse }, ONCE, never)
      const undo = (table: string) =>
        warehouse.command(`ALTER TABLE ${table} DELETE WHERE version > ${BigInt(2 ** 40)} SETTINGS mutations_sync = 1`)
      const change = (table: string, what: string, where = '1') =>
        warehouse.command(
          `INSERT INTO ${table} SELECT * REPLACE (${what}, version + ${BigInt(2 ** 41)} AS version) FROM ${table} FINAL WHERE ${where}`,
        )
      const ofOne = `slot = ${own?.slot}`
      expect(await find()).toEqual([])
      await change('locked_settlements', 'user_reward_wei + 5 AS user_reward_wei', ofOne)
      expect(await find()).toEqual([`slot ${own?.slot}`])
      expect(await findUncorrected(warehouse, '', new Set(['a']))).toEqual([])
      expect(await findUncorrected(warehouse, '')).toHaveLength(1)
      expect(await correct()).toBe(0)
      await undo('locked_settlements')
      // Beside all that the log has under this lock, or of a chain and an account of which it keeps nothing.
      const beside = Number(own?.slot) + 1_000_000
      await change('locked_settlements', 'slot + 1000000 AS slot', `slot = ${beside}`)
      expect(await find()).toEqual([`slot ${beside}`])
      expect(await correct()).toBe(0)
      await undo('locked_settlements')
      await change('locked_settlements', "'b' AS account", ofOne)
      expect(await find()).toEqual([`slot ${own?.slot}`])
      await undo('locked_settlements')
      for (const what of [
        `'0x${'01'.repeat(20)}' AS fee_address`,
        'time + 1 AS time',
        'validator_index + 1 AS validator_index',
        "'0.5' AS fee_rate",
        'settled_version + 1 AS settled_version',
      ]) {
        await change('locked_settlements', what, ofOne)
        expect(await find(), what).toEqual([`slot ${own?.slot}`])
        await undo('locked_settlements')
      }
      await change('settlement_corrections', 'user_reward_wei - 5 AS user_reward_wei')
      expect(await find()).toEqual(['correction 1'])
      expect(await correct()).toBe(0)
      await undo('settlement_corrections')
      await change('settlement_corrections', 'number + 7 AS number')
      expect(await find()).toEqual(['correction 8'])
      await undo('settlement_corrections')
      await change('settlement_locks', 'through - 1 AS through')
      expect(await find()).toEqual([`the lock through ${secondDay}`])
      await undo('settlement_locks')
      await change('settlement_locks', "'another' AS lock_id")
      expect(await find()).toEqual(['a lock'])
      await undo('settlement_locks')
      await warehouse.command(`ALTER TABLE locked_settlements DELETE WHERE ${ofOne} SETTINGS mutations_sync = 1`)
      expect(await find()).toEqual([`slot ${own?.slot}`])
      expect(await correct()).toBe(0)
    })
    expect((await readAccountBook(setting)).corrections()).toHaveLength(1)
  })

  it('has a number behind those of operators, and leaves theirs alone', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const height = (await localBlocks(setting)).get(secondDay) ?? 0
    await lock(setting, secondDay)
    const said = { account: 'a', userReward: '1', serviceFee: '0', reason: 'a slip', yes: true }
    await correctSettlement(setting, said, givenKey(2))
    await tell(setting, [lateClaim(blockAt(height), 1_000n)])
    expect(await corrected(setting)).toBe(1)
    const own = corrections(await served(setting))
    expect(own.map(({ id, is_of_block }) => [id, is_of_block]).toSorted()).toEqual([
      ['4503599627370497', 0],
      ['4503599627370498', 1],
    ])
    expect(own.find(({ is_of_block }) => is_of_block === 0)).toMatchObject({ block_number: '0', reason: 'a slip' })
  })
})

it('nothing is locked while a settlement is not what its block proves', { timeout: TEST_MS }, async () => {
  const setting = await given()
  const height = (await localBlocks(setting)).get(firstDay) ?? 0
  const change = async (what: string, version: number) =>
    await processed(setting, async (warehouse) => {
      await warehouse.command(
        `INSERT INTO settlements SELECT * REPLACE (${what}, version + ${version} AS version) FROM settlements FINAL WHERE block_number = ${height}`,
      )
    })
  await change('user_reward_wei + 1 AS user_reward_wei, revenue_wei + 1 AS revenue_wei', 1)
  await expect(lock(setting, secondDay)).rejects.toThrow(
    /1 settlements of a are not what their blocks prove, e.g. mainnet slot \d+: settled revenue differs from the block/,
  )
  expect((await readAccountBook(setting)).locks()).toEqual([])
  await change('user_reward_wei - 1 AS user_reward_wei, revenue_wei - 1 AS revenue_wei', 2)
  await lock(setting, secondDay)
  expect((await readAccountBook(setting)).locks()).toHaveLength(1)
})

it('a day that an earlier release locked can be locked again, which keeps what is settled of it', {
  timeout: TEST_MS,
}, async () => {
  const setting = await given()
  const height = (await localBlocks(setting)).get(firstDay) ?? 0
  {
    await using eventLog = await openEventLog(setting.config, setting.log)
    const data = new TextEncoder().encode(JSON.stringify({ account: 'a', through: secondDay }))
    const envelope = { id: 'lock', key: ACCOUNTS_KEY, time: '2026-02-01T00:00:00.000Z', version: 1 }
    await eventLog.append('accounts', [{ ...envelope, type: settlementsLocked.name, data }])
  }
  await tell(setting, [lateClaim(blockAt(height), 1_000n)])
  expect(await corrected(setting)).toBe(0)
  const before = await served(setting)
  expect(before.find(({ block_number }) => block_number === `${height}`)?.revenue_wei).toBe(`${TIPS + 1_000n}`)
  await lock(setting, secondDay)
  await expect(lock(setting, secondDay)).rejects.toThrow(/are locked through .* already/)
  await tell(setting, [lateClaim(blockAt(height), 600n)])
  expect(await corrected(setting)).toBe(1)
  expect(blockRecords(await served(setting))).toEqual(before)
})
