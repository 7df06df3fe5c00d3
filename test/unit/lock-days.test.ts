import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readAccountBook } from '../../commands/admin/account-facts.ts'
import { lockSettlements } from '../../commands/admin/settlements.ts'
import { trackValidators } from '../../commands/admin/validators.ts'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { serveControl } from '../../infra/control.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { ordered, tracked, untracked } from './account-facts.ts'
import { givenChain, givenKey } from './given-chain.ts'
import { appendSince, givenLog, holdTables, inTables, processed } from './given-log.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

// Which days can be locked: what is settled of a day that is not closed still grows.

const TEST_MS = 120_000
const chain = givenChain()
const keys = Array.from({ length: chain.validators }, (_, index) => givenKey(index))
const [firstDay = '', secondDay = '', thirdDay = ''] = chain.wholeDays
/** The chain began on it, so it is never closed. */
const DAY_OF_GENESIS = '2026-01-01'
const settings = settingsOfFile()

const given = (facts: readonly EncodedEvent[], before?: string): Promise<TestSetting> =>
  givenLog(settings(), chain, facts, before)
const lock = (setting: TestSetting, through: string, account = 'a') => lockSettlements(setting, { account, through })
async function append(setting: TestSetting, facts: readonly EncodedEvent[]): Promise<void> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('accounts', facts)
}
const locksOf = async (setting: TestSetting) => (await readAccountBook(setting)).locks().length

describe('a day is locked once it is closed, with all before it', () => {
  it('and not while the log has only a part of it', { timeout: TEST_MS }, async () => {
    const noon = `${thirdDay}T04:00:00.000Z`
    const setting = await given([tracked('a', keys)], noon)
    await using _program = await holdTables(setting)
    await inTables(setting)
    expect(await refusal(lock(setting, thirdDay))).toBe(
      `${thirdDay} of mainnet is not closed yet. The settlements of a can be locked through ${secondDay}; nothing was locked.`,
    )
    expect(await locksOf(setting)).toBe(0)
    await lock(setting, secondDay)
    await appendSince(setting, chain, noon)
    await inTables(setting)
    await lock(setting, thirdDay)
    expect(await locksOf(setting)).toBe(2)
  })

  it('and not before the first one is', { timeout: TEST_MS }, async () => {
    const setting = await given([tracked('a', keys)], `${firstDay}T04:00:00.000Z`)
    await inTables(setting)
    for (const day of [DAY_OF_GENESIS, firstDay]) {
      expect(await refusal(lock(setting, day))).toMatch(/^No day of mainnet is closed yet\./)
    }
  })

  it('but for the part of a day that a log begins with', { timeout: TEST_MS }, async () => {
    const setting = await given([tracked('a', keys)])
    await inTables(setting)
    await lock(setting, DAY_OF_GENESIS)
    expect(await locksOf(setting)).toBe(1)
  })

  it('and not where a day before it is open', { timeout: TEST_MS }, async () => {
    const setting = await given([tracked('a', keys), tracked('b', [givenKey(90)], thirdDay)])
    await processed(setting, (warehouse) =>
      warehouse.command(`ALTER TABLE closed_days DELETE WHERE day = '${secondDay}' SETTINGS mutations_sync = 1`),
    )
    expect(await refusal(lock(setting, thirdDay))).toMatch(new RegExp(`can be locked through ${firstDay};`))
    // It had no validator on the open day.
    await lock(setting, thirdDay, 'b')
  })

  it('of the days on which the account has validators', { timeout: TEST_MS }, async () => {
    const ended = [tracked('a', keys), untracked(keys, thirdDay)]
    const setting = await given(ended, `${thirdDay}T04:00:00.000Z`)
    await inTables(setting)
    await lock(setting, thirdDay)
    // Without any there is nothing to wait for, or to ask.
    await lock(setting, thirdDay, 'b')
  })
})

it('days are locked one after the other while no program runs', { timeout: TEST_MS }, async () => {
  const setting = await given([tracked('a', keys), tracked('b', [givenKey(90)], thirdDay)])
  await inTables(setting)
  await lock(setting, firstDay)
  // Orders come in meanwhile, of which no figure is made.
  await append(setting, [ordered('a')])
  await lock(setting, secondDay)
  await lock(setting, thirdDay, 'b')
  expect(await locksOf(setting)).toBe(3)
  // What it earns is not in the tables yet.
  await trackValidators(setting, { account: 'a', at: thirdDay, yes: true }, [givenKey(91)])
  const sentence = await refusal(lock(setting, thirdDay))
  expect(sentence).toMatch(/of accounts are not processed/)
})

describe('a day is not locked where it cannot be known whether it is closed', () => {
  const unknown = /^Whether every day up to .* is closed cannot be known now: nothing was locked\.\n/

  it('since there are no tables, and makes none', { timeout: TEST_MS }, async () => {
    const setting = await given([tracked('a', keys)])
    const sentence = await refusal(lock(setting, firstDay))
    expect(sentence).toMatch(unknown)
    expect(sentence).toMatch(/no warehouse yet/)
    expect(existsSync((setting.config.mode as EmbeddedMode).warehouseDirectory)).toBe(false)
    expect(await locksOf(setting)).toBe(0)
  })

  it('since they are behind the log', { timeout: TEST_MS }, async () => {
    const noon = `${thirdDay}T04:00:00.000Z`
    const setting = await given([tracked('a', keys)], noon)
    await inTables(setting)
    await appendSince(setting, chain, noon)
    const sentence = await refusal(lock(setting, secondDay))
    expect(sentence).toMatch(unknown)
    expect(sentence).toMatch(/are not processed/)
  })

  it('since the program that has them is of another release', { timeout: TEST_MS }, async () => {
    const setting = await given([tracked('a', keys)])
    const refuse = () => Promise.reject(new AppError('usage', 'The program is of another release: stop it first.'))
    await using _program = await serveControl(setting.config.dataDirectory, refuse, setting.log)
    const sentence = await refusal(lock(setting, firstDay))
    expect(sentence).toMatch(unknown)
    expect(sentence).toMatch(/of another release/)
  })
})

it('the program that has the tables is asked which days are closed', { timeout: TEST_MS }, async () => {
  const setting = await given([tracked('a', keys)], `${thirdDay}T04:00:00.000Z`)
  await inTables(setting)
  await using _program = await holdTables(setting)
  expect(await refusal(lock(setting, thirdDay))).toMatch(new RegExp(`can be locked through ${secondDay};`))
  await lock(setting, secondDay)
})
