import { beforeEach, expect, test } from 'vitest'
import { Standings } from '../../api/http/standings.ts'
import { accountTotals } from '../../api/rewards/account-totals.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import { DAYS_BY_DAY, DAYS_BY_VALIDATOR } from '../../api/rewards/validator-days.ts'
import type { QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { takeBackDay } from '../../processors/loop/drop-chains.ts'
import { sumMonth } from '../../processors/rewards/months.ts'
import { proveMonths } from '../../processors/verify/prove-months.ts'
import { PROVE_ALL } from '../../processors/verify/proving.ts'
import { type DayNumber, firstOfMonth, formatDay, parseDay } from '../../schemas/eth/time.ts'
import { dailyRow, epochRow, insertOwners, insertRows, pubkeyOf } from '../contract/api-fixture.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'mainnet'
const dayOf = (text: string): DayNumber => parseDay(text) ?? Number.NaN
const FIRST = dayOf('2026-01-20')
/** Of the last one is closed, the one after it is open. */
const LAST = dayOf('2026-04-10')
const DAYS = Array.from({ length: LAST - FIRST + 1 }, (_, i) => FIRST + i)
const VALIDATORS = [10, 11, 12, 13]
const GENESIS_SEC = Date.parse('2025-12-31T16:00:00Z') / 1_000
const EPOCHS_PER_DAY = 225
const epochOfDay = (day: DayNumber): number => (day - dayOf('2026-01-01')) * EPOCHS_PER_DAY

interface Made {
  readonly day: DayNumber
  readonly index: number
  readonly cl: bigint
  readonly el: bigint
  readonly level: string
}

/** No two sums of different rows are equal. */
function rowOf(day: DayNumber, index: number): Made {
  const cl = BigInt((day - FIRST + 1) * 1_000_003 + index * 7) * (index === 12 ? -1n : 1n)
  const level = index === 11 && day % 9 === 0 ? 'unexplained' : day % 11 === 0 ? 'partial' : 'anchored'
  return { day, index, cl, el: BigInt(day) * 10n ** 18n + BigInt(index), level }
}

interface Closing {
  readonly version?: number
  readonly level?: string
}

const stores = storesOfFile()
const warehouse = () => stores().warehouse
const statements: { readonly sql: string; readonly params: QueryParams }[] = []

/** Rows of days as closing them leaves them; of one level where it is said. */
async function close(days: readonly DayNumber[], { version = 1, level }: Closing = {}): Promise<void> {
  const made = days.flatMap((day) => VALIDATORS.map((index) => rowOf(day, index)))
  const rows = made.map((row) => ({ ...row, level: level ?? row.level }))
  await insertRows(
    warehouse(),
    'daily_rewards',
    rows.map(({ day, index, cl, el, level }) => ({
      ...dailyRow(formatDay(day), index, cl, el, version),
      level,
      is_whole: level === 'partial' ? 0 : 1,
      active_epochs: 225,
      effective_balance_epochs_gwei: 225n * 32_000_000_000n,
    })),
  )
  const closed = { validators: 4, validators_unexplained: 0, version }
  await insertRows(
    warehouse(),
    'closed_days',
    days.map((day) => {
      const slot = (day - dayOf('2026-01-01')) * 7_200
      return { day: formatDay(day), first_slot: slot, last_slot: slot + 7_199, ...closed }
    }),
  )
}

/** Totals as an API that starts now has them. */
async function totals() {
  const shared: WarehouseReader = {
    query<Row>(sql: string, params: QueryParams = {}) {
      statements.push({ sql, params })
      return warehouse().query<Row>(sql, params)
    },
  }
  const standing = await new Standings(warehouse()).of(CHAIN)
  const horizon = await horizonOf(standing)
  if (horizon === undefined) throw new Error('no horizon')
  const { items, missing } = await accountTotals({ standing, account: 'a', shared }, horizon)
  return {
    sums: Object.fromEntries(
      items.map(({ state, clRewardGwei, elRewardWei }) => [state.validator_index, [clRewardGwei, elRewardWei]]),
    ),
    missing: [...missing].sort(([one], [other]) => one - other),
  }
}

/** The same from the rows as they were made: the account's days of validator 13 begin and end within months. */
function expected(days: readonly DayNumber[]) {
  const own = days
    .flatMap((day) => VALIDATORS.map((index) => rowOf(day, index)))
    .filter(({ day, index }) => index !== 13 || (dayOf('2026-02-05') <= day && day < dayOf('2026-03-17')))
  const counted = own.filter(({ level }) => level !== 'unexplained')
  const sum = (index: number, of: 'cl' | 'el') =>
    counted.filter((row) => row.index === index).reduce((all, row) => all + row[of], 0n)
  const lacking = Map.groupBy(
    own.filter(({ level }) => level !== 'anchored'),
    ({ day }) => day,
  )
  const missing = [...lacking].map(([day, rows]) => [day, rows.length])
  return {
    sums: Object.fromEntries(VALIDATORS.map((index) => [index, [sum(index, 'cl'), sum(index, 'el')]])),
    missing,
  }
}

const readDays = () => statements.filter(({ sql }) => sql.includes('FROM daily_rewards'))

beforeEach(async () => {
  await stores().empty()
  statements.length = 0
  await insertRows(warehouse(), 'chains', [
    { genesis_time_sec: GENESIS_SEC, seconds_per_slot: 12, slots_per_epoch: 32, version: 1 },
  ])
  await insertOwners(warehouse(), [
    ...[10, 11, 12].map((index) => ({ account: 'a', pubkey: pubkeyOf(index) })),
    { account: 'b', pubkey: pubkeyOf(13) },
    { account: 'a', pubkey: pubkeyOf(13), from: '2026-02-05', version: 2 },
    { account: 'b', pubkey: pubkeyOf(13), from: '2026-03-17', version: 3 },
  ])
  await insertRows(
    warehouse(),
    'validators',
    VALIDATORS.map((index) => ({
      validator_index: index,
      pubkey: pubkeyOf(index),
      withdrawal_credentials: `0x01${'00'.repeat(31)}`,
      version: 1,
    })),
  )
  // The epoch that the balances are of is the last one of the last closed day, so that nothing is open.
  const epoch = epochOfDay(LAST + 1) - 1
  await insertRows(warehouse(), 'epochs', [
    { epoch, first_slot: epoch * 32, last_slot: epoch * 32 + 31, blocks: 32, version: 1 },
  ])
  await insertRows(
    warehouse(),
    'validator_epochs',
    VALIDATORS.map((index) => epochRow(epoch, formatDay(LAST), index)),
  )
})

async function closeAll(days: readonly DayNumber[] = DAYS, closing: Closing = {}): Promise<void> {
  await close(days, closing)
  for (const month of new Set(days.map(firstOfMonth))) await sumMonth(warehouse(), CHAIN, month)
}

test('totals are those of the days, and say of which of them validators are lacking', async () => {
  await closeAll()
  expect(await totals()).toEqual(expected(DAYS))
  expect(await Array.fromAsync(proveMonths(warehouse()))).toEqual([])
})

/** Validators that a statement names, which it does by runs. */
function indicesIn({ params }: { readonly params: QueryParams }): readonly number[] {
  const [firsts, lasts] = [params.seenFirst as number[], params.seenLast as number[]]
  const runs = firsts.map((first, i) => Array.from({ length: (lasts[i] ?? 0) - first + 1 }, (_, at) => first + at))
  return [...new Set(runs.flat())]
}

test('where nothing lacks, totals read days of none but the months in which a validator changed hands', async () => {
  await closeAll(DAYS, { level: 'anchored' })
  expect((await totals()).missing).toEqual([])
  const days = readDays()
  expect(days.map(indicesIn)).toEqual([[13]])
  const months = new Set(days.flatMap(({ params }) => params.days as string[]).map((day) => day.slice(0, 7)))
  expect([...months]).toEqual(['2026-02', '2026-03'])
})

test('days of which a validator has no row are told, though the sums of months do not have them', async () => {
  const since = dayOf('2026-03-05')
  await insertOwners(warehouse(), [{ account: 'a', pubkey: pubkeyOf(14) }])
  const row = { validator_index: 14, pubkey: pubkeyOf(14), withdrawal_credentials: `0x01${'00'.repeat(31)}` }
  await insertRows(warehouse(), 'validators', [{ ...row, version: 1 }])
  const epoch = epochOfDay(LAST + 1) - 1
  await insertRows(warehouse(), 'validator_epochs', [epochRow(epoch, formatDay(LAST), 14)])
  await insertRows(
    warehouse(),
    'daily_rewards',
    DAYS.filter((day) => day >= since).map((day) => ({ ...dailyRow(formatDay(day), 14, 1n, 0n), is_whole: 1 })),
  )
  await closeAll()
  const { missing } = await totals()
  const before = missing.filter(([day]) => day < since)
  expect(before.map(([day]) => day)).toEqual(DAYS.filter((day) => day < since))
  // Day 20493 is one that nobody has as a whole, and has another validator unexplained.
  expect(before.filter(([day]) => day === 20_475 || day === 20_493)).toEqual([
    [20_475, 2],
    [20_493, 5],
  ])
})

test('whole days on which a validator waits to be active make up for none that lacks later, in sums of months either', async () => {
  const [activeFrom, lacking] = [dayOf('2026-03-05'), dayOf('2026-04-02')]
  await insertOwners(warehouse(), [{ account: 'a', pubkey: pubkeyOf(14) }])
  const row = { validator_index: 14, pubkey: pubkeyOf(14), withdrawal_credentials: `0x01${'00'.repeat(31)}` }
  await insertRows(warehouse(), 'validators', [{ ...row, version: 1 }])
  const epoch = epochOfDay(LAST + 1) - 1
  const activation_epoch = epochOfDay(activeFrom) + 1
  await insertRows(warehouse(), 'validator_epochs', [epochRow(epoch, formatDay(LAST), 14, { activation_epoch })])
  const dayRows = (days: readonly DayNumber[]) =>
    insertRows(
      warehouse(),
      'daily_rewards',
      days.map((day) => ({ ...dailyRow(formatDay(day), 14, 1n, 0n), is_whole: 1, level: 'anchored' })),
    )
  await dayRows(DAYS.filter((day) => day !== lacking))
  await closeAll(DAYS, { level: 'anchored' })
  expect((await totals()).missing).toEqual([[lacking, 1]])
  // One that lacks before it is active is missing nowhere.
  await dayRows([lacking])
  await takeBackDay(warehouse(), { chain: CHAIN, day: activeFrom - 1 })
  await closeAll([activeFrom - 1, lacking], { version: 2, level: 'anchored' })
  statements.length = 0
  expect((await totals()).missing).toEqual([])
  expect(readDays().flatMap(indicesIn)).toEqual([13])
})

test('a day that is closed and in no month yet is read by itself', async () => {
  const late = dayOf('2026-02-14')
  await closeAll(DAYS.filter((day) => day !== late))
  await close([late])
  expect(await totals()).toEqual(expected(DAYS))
  await sumMonth(warehouse(), CHAIN, late)
  expect(await totals()).toEqual(expected(DAYS))
})

test('months of other days than the horizon has are not used', async () => {
  const late = dayOf('2026-02-14')
  await closeAll(DAYS.filter((day) => day !== late))
  // Written in the moment between the horizon and the sums.
  const standing = await new Standings(warehouse()).of(CHAIN)
  const horizon = await horizonOf(standing)
  await close([late])
  await sumMonth(warehouse(), CHAIN, late)
  if (horizon === undefined) throw new Error('no horizon')
  const { items } = await accountTotals({ standing, account: 'a', shared: warehouse() }, horizon)
  const sums = Object.fromEntries(items.map((one) => [one.state.validator_index, [one.clRewardGwei, one.elRewardWei]]))
  expect(sums).toEqual(expected(DAYS.filter((day) => day !== late)).sums)
})

test('days that are closed in any order, again and again, and taken back between, leave equal months', async () => {
  const months = async () => [
    await warehouse().query('SELECT * FROM monthly_rewards FINAL ORDER BY ALL'),
    await warehouse().query('SELECT * FROM closed_months FINAL ORDER BY ALL'),
  ]
  const days = DAYS.slice(9, 15) // of two months
  const closeEach = async (some: readonly DayNumber[]): Promise<void> => {
    for (const day of some) await closeAll([day])
  }
  await closeEach(days)
  const inOrder = await months()
  await stores().empty()
  await insertRows(warehouse(), 'chains', [
    { genesis_time_sec: GENESIS_SEC, seconds_per_slot: 12, slots_per_epoch: 32, version: 1 },
  ])
  const order = days.map((_, i) => days[(i * 5) % days.length] as DayNumber)
  await closeEach(order.slice(0, 5))
  for (const day of order.slice(3, 4)) await takeBackDay(warehouse(), { chain: CHAIN, day })
  await closeEach([...order.slice(3, 4), ...order.slice(4)])
  expect(await months()).toEqual(inOrder)
})

test('a month is the same, however many statements sum and prove it', async () => {
  const rows = () => warehouse().query('SELECT * FROM monthly_rewards FINAL ORDER BY ALL')
  await closeAll()
  const whole = await rows()
  await warehouse().command('TRUNCATE TABLE monthly_rewards')
  for (const month of new Set(DAYS.map(firstOfMonth))) await sumMonth(warehouse(), CHAIN, month, 3)
  expect(await rows()).toEqual(whole)
  expect(await Array.fromAsync(proveMonths(warehouse(), PROVE_ALL, 3))).toEqual([])
  for (const index of [10, 13])
    await warehouse().command(
      `INSERT INTO monthly_rewards SELECT * REPLACE (head_gwei + 1 AS head_gwei) FROM monthly_rewards FINAL
       WHERE month = '2026-03-01' AND validator_index = ${index}`,
    )
  const wrong = await Array.fromAsync(proveMonths(warehouse(), PROVE_ALL, 3))
  expect(wrong.map(({ validator_index: index }) => index)).toEqual([10, 13])
})

test('verify names a validator whose month is not the sum of its days', async () => {
  await closeAll()
  await warehouse().command(
    `INSERT INTO monthly_rewards SELECT * REPLACE (head_gwei + 1 AS head_gwei) FROM monthly_rewards FINAL
     WHERE month = '2026-03-01' AND validator_index = 12`,
  )
  expect(await Array.fromAsync(proveMonths(warehouse()))).toEqual([
    { chain: CHAIN, month: '2026-03-01', validator_index: 12 },
  ])
})

test('rows that are deleted are in neither order of reading', async () => {
  await closeAll(DAYS.slice(0, 5))
  await close([FIRST], { version: 2 }) // written again
  await takeBackDay(warehouse(), { chain: CHAIN, day: FIRST + 2 })
  const params = { chain: CHAIN, from: formatDay(FIRST), to: formatDay(LAST), indices: [10, 12] }
  const byDay = await warehouse().query(DAYS_BY_DAY, params)
  expect(byDay).toHaveLength(2 * (5 - 1) - 2 * DAYS.slice(0, 5).filter((day) => day % 11 === 0).length)
  expect(await warehouse().query(DAYS_BY_VALIDATOR, params)).toEqual(byDay)
})
