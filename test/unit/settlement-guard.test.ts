import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAccountBook } from '../../commands/admin/account-facts.ts'
import { listFeeRates, setFeeRate } from '../../commands/admin/fee-rates.ts'
import { tellFeeRecipients } from '../../commands/admin/fee-recipients.ts'
import { guardSettled } from '../../commands/admin/settlement-guard.ts'
import { correctSettlement, listSettlementFacts, lockSettlements } from '../../commands/admin/settlements.ts'
import { moveValidators, trackValidators, untrackValidators } from '../../commands/admin/validators.ts'
import type { EmbeddedMode } from '../../infra/config/types.ts'
import { openEventLog, openMigratedWarehouse } from '../../infra/open-ports.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { AccountBook } from '../../schemas/account-book.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, settlementsLocked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { rated, tracked } from './account-facts.ts'
import { givenChain, givenKey } from './given-chain.ts'
import { givenLog, holdTables, inTables, processed } from './given-log.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

// Commands on a log of a chain, with the tables that processors have made of it: opened and closed in between, as by processes.

const TEST_MS = 120_000
const chain = givenChain()
const keys = Array.from({ length: chain.validators }, (_, index) => givenKey(index))
const [firstDay = '', secondDay = '', thirdDay = ''] = chain.wholeDays
const settings = settingsOfFile()
/** Whom builders of the chain pay, and somebody. */
const [PAYEE, STRANGER] = [`0x${'fe'.repeat(20)}`, `0x${'dd'.repeat(20)}`]

interface Sums {
  readonly account: string
  readonly rows: string
  readonly user: string
  readonly fee: string
}

/** Makes a log of the chain with these account facts. */
const given = (facts: readonly EncodedEvent[]): Promise<TestSetting> => givenLog(settings(), chain, facts)

let filled: Promise<TestSetting> | undefined

/** A log in which account a tracks everybody, and its tables: copies of what is made once. */
async function givenTables(): Promise<TestSetting> {
  filled ??= given([tracked('a', keys)]).then(async (setting) => {
    await inTables(setting)
    return setting
  })
  const setting = settings()
  await cp((await filled).config.dataDirectory, setting.config.dataDirectory, {
    recursive: true,
    verbatimSymlinks: true,
  })
  return setting
}

const warehouseOf = (setting: TestSetting): string => (setting.config.mode as EmbeddedMode).warehouseDirectory

/** Settled sums of each account from a day on. */
const sumsSince = (setting: TestSetting, day: string) =>
  processed(setting, (warehouse) =>
    warehouse.query<Sums>(
      `SELECT account, count() AS rows, sum(user_reward_wei) AS user, sum(service_fee_wei) AS fee FROM settlements FINAL
       WHERE toDate(time + 28800) >= {day:Date} GROUP BY account ORDER BY account`,
      { day },
    ),
  )

/** What a sentence says of an account. */
function toldOf(text: string, account: string) {
  const [, rows, user, fee] =
    new RegExp(`${account}: (\\d+) settlement rows .* user's share by ([+-]?\\d+) wei .* fee by ([+-]?\\d+) wei`).exec(
      text,
    ) ?? []
  return { rows, user: BigInt(user ?? 0), fee: BigInt(fee ?? 0) }
}

const of = (sums: readonly Sums[], name: string) => {
  const found = sums.find(({ account }) => account === name)
  return { rows: found?.rows ?? '0', user: BigInt(found?.user ?? 0), fee: BigInt(found?.fee ?? 0) }
}

type Sum = ReturnType<typeof of>
const differenceOf = (one: Sum, other: Sum) => ({
  rows: `${Number(one.rows) - Number(other.rows)}`,
  user: one.user - other.user,
  fee: one.fee - other.fee,
})

describe('a change of what was settled', () => {
  it('is told by rows and wei and needs --yes, and what was told is what changes', { timeout: TEST_MS }, async () => {
    const setting = await givenTables()
    const before = of(await sumsSince(setting, secondDay), 'a')

    const rate = { account: 'a', rate: '0.3', from: secondDay }
    const asked = await refusal(setFeeRate(setting, rate))
    expect(asked).toMatch(/Say --yes to change that; nothing was changed\.$/)
    expect(of(await sumsSince(setting, secondDay), 'a')).toEqual(before)
    await setFeeRate(setting, { ...rate, yes: true })
    const said = setting.printed()
    const [counted = '', done] = said.split('\n')
    expect(asked).toContain(counted)
    expect(done).toBe(`The fee rate of a is 0.3 from ${secondDay} on.`)
    const rated = of(await sumsSince(setting, secondDay), 'a')
    expect(toldOf(said, 'a')).toEqual({
      rows: before.rows,
      user: rated.user - before.user,
      fee: rated.fee - before.fee,
    })
    // Said again it changes nothing.
    await setFeeRate(setting, rate)
    expect(setting.printed()).toBe(`The fee rate of a is 0.3 from ${secondDay} on.\n`)

    await setFeeRate(setting, { account: 'b', rate: '0.75', from: firstDay })
    await inTables(setting)
    const move = { from: 'a', to: 'b', at: thirdDay }
    const asking = await refusal(moveValidators(setting, move, keys.slice(0, 3)))
    await moveValidators(setting, { ...move, yes: true }, keys.slice(0, 3))
    setting.printed()
    const moved = await sumsSince(setting, secondDay)
    const gained = of(moved, 'b')
    expect(gained.fee).toBeGreaterThan(0n)
    expect(toldOf(asking, 'b')).toEqual(gained)
    expect(toldOf(asking, 'a')).toEqual({
      rows: gained.rows,
      user: of(moved, 'a').user - rated.user,
      fee: of(moved, 'a').fee - rated.fee,
    })
    // What has not begun changes nothing that was settled.
    await untrackValidators(setting, { account: 'b', at: '2149-01-01' }, keys.slice(0, 1))
    expect(setting.printed()).not.toContain('settlement rows')
  })

  it('is told where it follows from where validators are paid, and holds from the day that was named', {
    timeout: TEST_MS,
  }, async () => {
    const setting = await given([tracked('a', keys), rated('a', '0.25', 0)])
    await using _program = await holdTables(setting)
    const sums = async (day: string) => of(await sumsSince(setting, day), 'a')
    const earlier = await sums(firstDay)
    const before = await sums(secondDay)
    const told = { recipient: PAYEE, from: secondDay }
    const asked = await refusal(tellFeeRecipients(setting, told, keys))
    expect(asked).toMatch(/Say --yes to change that; nothing was changed\.$/)
    expect(await sums(secondDay)).toEqual(before)
    await tellFeeRecipients(setting, { ...told, yes: true }, keys)
    const gained = differenceOf(await sums(secondDay), before)
    expect(Number(gained.rows)).toBeGreaterThan(0)
    expect(toldOf(asked, 'a')).toEqual(gained)
    expect(differenceOf(await sums(firstDay), earlier)).toEqual(gained)
    // Said again it changes nothing.
    setting.printed()
    await tellFeeRecipients(setting, told, keys)
    expect(setting.printed()).toMatch(new RegExp(`^5 fee recipients .* are known from ${secondDay} on`))
    await inTables(setting)
    const lost = toldOf(await refusal(tellFeeRecipients(setting, { ...told, takeBack: true }, keys)), 'a')
    expect(lost).toEqual({ rows: gained.rows, user: -gained.user, fee: -gained.fee })
  })

  it('is counted by the program that has the warehouse, while it runs', { timeout: TEST_MS }, async () => {
    const setting = await givenTables()
    const { rows } = of(await sumsSince(setting, secondDay), 'a')
    await using _program = await holdTables(setting)
    const asked = await refusal(setFeeRate(setting, { account: 'a', rate: '0.3', from: secondDay }))
    expect(toldOf(asked, 'a').rows).toBe(rows)
    const moved = await refusal(moveValidators(setting, { from: 'a', to: 'b', at: secondDay }, keys))
    expect(toldOf(moved, 'b').rows).toBe(rows)
  })

  describe('that cannot be counted needs --yes, and is told why', () => {
    const change = (setting: TestSetting, yes: boolean) =>
      setFeeRate(setting, { account: 'a', rate: '0.3', from: firstDay, yes })
    async function expectUncounted(setting: TestSetting, why: RegExp): Promise<void> {
      const sentence = await refusal(change(setting, false))
      expect(sentence).toMatch(/cannot be counted now/)
      expect(sentence).toMatch(why)
      await change(setting, true)
      const said = setting.printed()
      expect(said).toMatch(/could not be counted/)
      expect(said).toMatch(why)
    }

    it('where there is no warehouse, and makes none', { timeout: TEST_MS }, async () => {
      const setting = await given([tracked('a', keys)])
      await expectUncounted(setting, /no warehouse yet/)
      expect(existsSync(warehouseOf(setting))).toBe(false)
    })

    it('where nobody has filled it', { timeout: TEST_MS }, async () => {
      const setting = await given([tracked('a', keys)])
      await (await openMigratedWarehouse(setting.config))[Symbol.asyncDispose]()
      await expectUncounted(setting, /never filled/)
    })

    it('where it is of an earlier release, and leaves it so', { timeout: TEST_MS }, async () => {
      const setting = await given([tracked('a', keys)])
      const directory = warehouseOf(setting)
      const tables = async () => {
        await using warehouse = await openWarehouse({ directory })
        return await warehouse.query("SELECT name FROM system.tables WHERE database = 'epochline' ORDER BY name")
      }
      {
        await using warehouse = await openWarehouse({ directory })
        await migrate(warehouse, (await readMigrations()).slice(0, 2))
      }
      const before = await tables()
      await expectUncounted(setting, /of an earlier release/)
      expect(await tables()).toEqual(before)
    })

    it('where it is behind the log', { timeout: TEST_MS }, async () => {
      const setting = await givenTables()
      {
        await using eventLog = await openEventLog(setting.config, setting.log)
        await eventLog.append('execution.blocks', chain.events.get('execution.blocks')?.slice(-3) ?? [])
      }
      await expectUncounted(setting, /3 events of execution\.blocks are not processed/)
    })
  })
})

describe('locked days', () => {
  let setting: TestSetting
  let held: AsyncDisposable
  let before: readonly Sums[]
  beforeAll(async () => {
    setting = await givenTables()
    held = await holdTables(setting)
    before = await sumsSince(setting, firstDay)
    await lockSettlements(setting, { account: 'a', through: secondDay })
    expect(setting.printed()).toContain(`locked through ${secondDay}`)
    await inTables(setting)
  }, TEST_MS)
  afterAll(() => held?.[Symbol.asyncDispose]())

  it('are changed by no rate and no owner, whatever was said, and the way to correct them is told', {
    timeout: TEST_MS,
  }, async () => {
    const yes = true
    const refused = [
      await refusal(setFeeRate(setting, { account: 'a', rate: '0.3', from: secondDay, yes })),
      await refusal(moveValidators(setting, { from: 'a', to: 'b', at: firstDay, yes }, keys)),
      await refusal(untrackValidators(setting, { account: 'a', at: secondDay, yes }, keys)),
      await refusal(tellFeeRecipients(setting, { recipient: STRANGER, yes }, keys)),
    ]
    for (const sentence of refused) {
      expect(sentence).toContain(`The settlements of a are locked through ${secondDay}`)
      expect(sentence).toMatch(
        /admin settlements correct --account a --chain mainnet --user-reward=-0\.\d+ --service-fee=/,
      )
    }
    expect(await sumsSince(setting, firstDay)).toEqual(before)
    setting.printed()
    await refusal(setFeeRate(setting, { account: 'a', rate: '0.3', from: secondDay, corrections: true }))
    expect(setting.printed()).toMatch(/^(admin settlements correct --account a .* 0x[0-9a-f]{96}\n)+$/)
  })

  it('bind keys that the registry has not told of yet, and accounts without any', { timeout: TEST_MS }, async () => {
    const yes = true
    const later = [givenKey(chain.validators + 1)]
    const locked = /^The settlements of a are locked through/
    await trackValidators(setting, { account: 'b', at: firstDay }, later)
    const move = { from: 'b', to: 'a', at: secondDay, yes }
    expect(await refusal(trackValidators(setting, { account: 'a', at: secondDay, yes }, [givenKey(90)]))).toMatch(
      locked,
    )
    expect(await refusal(moveValidators(setting, move, later))).toMatch(locked)
    await inTables(setting)
    await lockSettlements(setting, { account: 'b', through: secondDay })
    expect(await refusal(untrackValidators(setting, { account: 'b', at: secondDay, yes }, later))).toMatch(
      /^The settlements of b are locked/,
    )
    expect(await refusal(setFeeRate(setting, { account: 'b', rate: '0.3', from: secondDay, yes }))).toMatch(
      /^The settlements of b are locked/,
    )
    expect(await refusal(tellFeeRecipients(setting, { recipient: STRANGER, from: firstDay, yes }, later))).toMatch(
      /^The settlements of b are locked/,
    )
  })

  it('end where others may change, and a key that is tracked without a day begins there', {
    timeout: TEST_MS,
  }, async () => {
    await setFeeRate(setting, { account: 'a', rate: '0.3', from: thirdDay, yes: true })
    setting.printed()
    const fresh = givenKey(chain.validators)
    await trackValidators(setting, { account: 'a' }, [fresh])
    expect(setting.printed()).toContain(`tracked for a from ${thirdDay} on`)
    expect((await readAccountBook(setting)).ownership.ownersOf('mainnet', fresh)).toMatchObject([{ account: 'a' }])
  })

  it('only grow, have ended, and are of an account that there is', { timeout: TEST_MS }, async () => {
    expect(await refusal(lockSettlements(setting, { account: 'a', through: firstDay }))).toMatch(
      /locked through .* already/,
    )
    expect(await refusal(lockSettlements(setting, { account: 'a', through: '2149-01-01' }))).toMatch(/has not ended/)
    expect(await refusal(lockSettlements(setting, { account: 'aa', through: thirdDay }))).toMatch(/no account aa/)
  })

  it('are corrected by records of their own, which are listed', { timeout: TEST_MS }, async () => {
    const [key = ''] = keys
    const correction = { account: 'a', userReward: '-0.25', serviceFee: '0.1', reason: 'rate of March' }
    await correctSettlement(setting, { ...correction, yes: true }, key)
    expect(setting.printed()).toMatch(
      /^Correction 4503599627370497: user share -0\.25 ETH, service fee 0\.1 ETH for a/m,
    )
    const records = await processed(setting, (warehouse) =>
      warehouse.query(
        'SELECT account, number, validator_index, user_reward_wei, service_fee_wei, reason FROM settlement_corrections FINAL',
      ),
    )
    expect(records).toEqual([
      {
        account: 'a',
        number: 1,
        validator_index: 0,
        user_reward_wei: '-250000000000000000',
        service_fee_wei: '100000000000000000',
        reason: 'rate of March',
      },
    ])
    const repeated = await refusal(correctSettlement(setting, { ...correction, yes: true }, key))
    expect(repeated).toMatch(
      /^Correction 4503599627370497, of .*, has the same amounts and reason; nothing was written/,
    )
    const wrong = { ...correction, userReward: '1e18' }
    expect(await refusal(correctSettlement(setting, wrong, key))).toMatch(/--user-reward is not an amount of ETH/)
    expect(await refusal(correctSettlement(setting, correction, `0x${'ee'.repeat(48)}`))).toMatch(
      /never had a validator/,
    )
    await listSettlementFacts(setting, { account: 'a' })
    expect(setting.printed()).toMatch(
      new RegExp(`^a  locked through ${secondDay}  said .*\\na  correction 4503599627370497 .* rate of March\\n$`),
    )
  })
})

describe('a refusal of many validators', () => {
  const many = Array.from({ length: 61 }, (_, index) => givenKey(1_000 + index))
  const [account, time] = ['a', '2026-01-02T00:00:00.000Z']

  /** What is refused, and what is printed meanwhile. */
  async function refused(corrections: boolean): Promise<{ readonly said: string; readonly printed: string }> {
    const book = new AccountBook()
    book.add(tracked(account, many))
    const data = { account, through: '2026-01-01', lockId: time }
    book.add(encodeEvent(settlementsLocked, { id: 'lock', key: ACCOUNTS_KEY, time, data }))
    let printed = ''
    const sums = { account, chain: 'mainnet', rows: '1', user_wei: '-1', fee_wei: '1' }
    const guarding = guardSettled({
      book,
      concerned: [{ account, fromDay: parseDay('2026-01-01') ?? 0 }],
      changes: [{ kind: 'rate', account, rate: '0.3', fromSec: 0, toSec: Number.MAX_SAFE_INTEGER }],
      options: { corrections },
      count: async () => ({ rows: many.map((pubkey) => ({ ...sums, pubkey })) }),
      now: Date.parse(time) / 1_000,
      print: (text) => {
        printed += text
      },
    })
    return { said: await refusal(guarding.then(() => {})), printed }
  }
  const corrected = (text: string) => [...text.matchAll(/settlements correct --account .* (0x[0-9a-f]{96})$/gm)]

  it('names some of the commands that correct it, how many more there are, and how to have them', async () => {
    const { said, printed } = await refused(false)
    expect(corrected(said).map(([, key]) => key)).toEqual(many.slice(0, 20))
    expect(said).toMatch(/^ {2}and 41 more validators: with --corrections/m)
    expect(printed).toBe('')
  })

  it('prints all of them where that is asked for, and says so', async () => {
    const { said, printed } = await refused(true)
    expect(corrected(printed).map(([, key]) => key)).toEqual(many)
    expect(printed.split('\n')).toHaveLength(many.length + 1)
    expect(corrected(said)).toEqual([])
    expect(said).toMatch(/61 commands/)
    expect(said).toMatch(/nothing was changed\.$/)
  })
})

it('lists every rate that was said, by the day on which it begins', async () => {
  const setting = await given([])
  await setFeeRate(setting, { account: 'a', rate: '0.2', from: '2026-03-01' })
  await setFeeRate(setting, { account: 'a', rate: '0.1', from: '2026-01-01' })
  await setFeeRate(setting, { account: 'a', rate: '0.25', from: '2026-03-01' })
  setting.printed()
  await listFeeRates(setting, { account: 'a' })
  expect(
    setting
      .printed()
      .trim()
      .split('\n')
      .map((line) => line.replace(/said \S+/, 'said')),
  ).toEqual([
    '2026-01-01 00:00:00 UTC+8  0.1  said',
    '2026-03-01 00:00:00 UTC+8  0.2  said  (replaced)',
    '2026-03-01 00:00:00 UTC+8  0.25  said',
  ])
  expect(await refusal(listFeeRates(setting, { account: 'nobody' }))).toMatch(/no account nobody/)
})
