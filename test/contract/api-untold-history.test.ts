import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import {
  dailyRow,
  epochRow,
  insertOwners,
  insertRows,
  LOOKED_THROUGH,
  NOW_MS,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

// Validators that are tracked from now on, and belong to their account since the start of all history: days 18 and 19 are closed without them.

const TOKEN = 'token-of-late'
const DAYS = 'start_date=2026-11-18&end_date=2026-11-20'
/** In the registry, as one that comes behind it is. */
const OLD = 15
/** Nobody knows whether the registry had it yet. */
const JOINER = 25
/** Waited on day 18 as a whole, and was active on day 19, of which it has nothing. */
const WAITED = 16
/** Tracked behind the newest epoch, and backfilled up to the end of day 19. */
const LATER = 17
/** In the middle of day 19. */
const ACTIVE_FROM = 300

let fixture: Awaited<ReturnType<typeof openApiFixture>>

async function track(indices: readonly number[]): Promise<void> {
  await insertOwners(
    fixture.warehouse,
    indices.map((index) => ({ account: 'late', pubkey: pubkeyOf(index) })),
  )
  const named = (validator_index: number) => ({ validator_index, pubkey: pubkeyOf(validator_index), version: 1 })
  await insertRows(fixture.warehouse, 'validators', indices.map(named))
}

beforeAll(async () => {
  fixture = await openApiFixture()
  await insertRows(fixture.warehouse, 'access_tokens', [
    { token_hash: hashToken(TOKEN), account: 'late', version: 9, is_deleted: 0 },
  ])
  await track([JOINER])
})

afterAll(() => fixture[Symbol.asyncDispose]())

const of = (path: string, accept = 'application/json') =>
  fetch(`${fixture.api.url}/ethereum/mainnet/${TOKEN}/api/v1/${path}`, { headers: { accept } })

async function get(path: string) {
  return await (await of(`validator/${path}`)).json()
}

/** Of the settlements of some indices; no index means all. */
async function settledCompleteness(indices: string) {
  const response = await of(`cloud/validator/el/settle/rewards?${DAYS}&validator_indexes=${indices}`)
  return (await response.json()).completeness
}

async function graphql(query: string, { api = fixture.api, token = TOKEN }: { api?: Api; token?: string } = {}) {
  const url = `${api.url}/ethereum/mainnet/${token}/graphql`
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ query }) })
  const { data, errors } = await response.json()
  expect(errors).toBeUndefined()
  return data
}

const COMPLETENESS = 'completeness { state finalThrough notFinalFrom incomplete { from to validatorsMissingCount } }'
const OF_ACCOUNT = `date validatorsCount validatorsActiveCount validatorsMissingCount totalReward { wei } performance { validatorDaysCount } ${COMPLETENESS}`

/** As GraphQL has a day that lacks everything; null where epochs or blocks of the day itself are missing. */
function nothingOf(date: string, validatorsMissingCount: number | null) {
  const to = new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10)
  const incomplete = [{ from: date, to, validatorsMissingCount }]
  const completeness = { state: 'INCOMPLETE', finalThrough: '2026-11-19', notFinalFrom: null, incomplete }
  const counts = { validatorsCount: 0, validatorsActiveCount: 0, validatorsMissingCount }
  return {
    ofAccount: { date, ...counts, totalReward: null, performance: { validatorDaysCount: 0 }, completeness },
    ofValidator: { date, completeness },
  }
}

const lacking = (from: string, to: string, validators_missing = 1) => ({
  start_date: from,
  end_date: to,
  validators_missing,
})
const completenessOf = async (index = OLD) => ({
  totals: await completenessOfTotals(),
  days: (await get(`daily-rewards?${DAYS}`)).completeness,
  own: (await get(`rewards?pubkey=${pubkeyOf(index)}&${DAYS}`)).completeness,
  settled: await settledCompleteness(''),
})
/** REST's, which GraphQL has as well. */
async function completenessOfTotals() {
  const { completeness } = await get('total-rewards')
  const { account } = await graphql(`{ account { totals { ${COMPLETENESS} } } }`)
  expect(account.totals.completeness).toEqual({
    state: completeness.state.toUpperCase(),
    finalThrough: completeness.final_through,
    notFinalFrom: completeness.not_final_from,
    incomplete: completeness.incomplete.map((days: ReturnType<typeof lacking>) => ({
      from: days.start_date,
      to: days.end_date,
      validatorsMissingCount: days.validators_missing,
    })),
  })
  return completeness
}
const NONE = { state: 'complete', incomplete: [] }
const NOTHING_LACKS = { totals: NONE, days: NONE, own: NONE, settled: NONE }
const incomplete = (...days: readonly ReturnType<typeof lacking>[]) => ({ state: 'incomplete', incomplete: days })
const BOTH = incomplete(lacking('2026-11-18', '2026-11-20'))
/** Totals go on to the newest epoch, of the day after them. */
const ALL_LACK = { totals: incomplete(lacking('2026-11-18', '2026-11-21')), days: BOTH, own: BOTH, settled: BOTH }

test('what the log does not have of a validator is no day without income', async () => {
  for (const path of ['total-rewards', `daily-rewards?${DAYS}`])
    expect((await get(path)).completeness).toMatchObject({ state: 'complete', incomplete: [] })
  await track([OLD])
  expect(await completenessOf()).toMatchObject(ALL_LACK)
  // With the next epoch, its state is known, and that it was active.
  await insertRows(fixture.warehouse, 'validator_epochs', [epochRow(451, '2026-11-20', OLD)])
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 451, first_slot: 451 * 32, last_slot: 451 * 32 + 31, blocks: 32, version: 2 },
  ])
  expect((await get('total-rewards')).data.validator_details).toHaveLength(1)
  expect(await completenessOf()).toMatchObject(ALL_LACK)
})

test('GraphQL shows final days of which nothing is there, and what they lack', async () => {
  const window = 'from: "2026-11-18", to: "2026-11-20"'
  const { days, validators } = await graphql(`{
    days(${window}) { ${OF_ACCOUNT} }
    validators { nodes { index days(${window}) {
      date source { gwei } balanceEnd { gwei } level isProven blocksCount epochs { epoch } blocks { slot } performance { aprReason }
      ${COMPLETENESS}
    } } }
  }`)
  const both = ['2026-11-18', '2026-11-19'].map((date) => nothingOf(date, 1))
  expect(days).toEqual(both.map(({ ofAccount }) => ofAccount))
  const nulls = { source: null, balanceEnd: null, level: null, isProven: null, blocksCount: null }
  const none = { ...nulls, epochs: [], blocks: [], performance: { aprReason: 'NO_DAYS' } }
  expect(validators.nodes).toEqual([{ index: OLD, days: both.map(({ ofValidator }) => ({ ...ofValidator, ...none })) }])
  const local = 'localDays(utcOffset: "+09:00", from: "2026-11-19", to: "2026-11-20")'
  const byOffset = await graphql(
    `{ ${local} { ${OF_ACCOUNT} } validators { nodes { ${local} { date level ${COMPLETENESS} } } } }`,
  )
  const { ofAccount, ofValidator } = nothingOf('2026-11-19', 1)
  expect(byOffset.localDays).toEqual([ofAccount])
  expect(byOffset.validators.nodes).toEqual([{ localDays: [{ ...ofValidator, level: null }] }])
  // Who has no validator lacks nothing.
  expect(await graphql(`{ days(${window}) { date } }`, { token: 'token-of-empty' })).toEqual({ days: [] })
})

test('settlements lack the blocks of whom the log does not have, so far as these are asked for', async () => {
  expect(await settledCompleteness(`${JOINER},${OLD}`)).toMatchObject(BOTH)
  expect(await settledCompleteness(`${JOINER}`)).toMatchObject(NONE)
  const csv = await of(`cloud/validator/el/settle/rewards?${DAYS}`, 'text/csv')
  expect(csv.headers.get('x-completeness')).toContain('state=incomplete')
  const window = 'from: "2026-11-18", to: "2026-11-20"'
  const { all, some } = await graphql(`{
    all: settlements(${window}) { ${COMPLETENESS} }
    some: settlements(${window}, validatorIndexes: [${JOINER}]) { ${COMPLETENESS} }
  }`)
  expect(all.completeness).toMatchObject({ incomplete: [{ from: '2026-11-18', to: '2026-11-20' }] })
  expect(some.completeness).toMatchObject({ state: 'COMPLETE', incomplete: [] })
})

test('what a backfill brings is not missing any more', async () => {
  const close = (day: string, first_slot: number, last_slot: number) =>
    insertRows(fixture.warehouse, 'closed_days', [
      { day, first_slot, last_slot, validators: 5, validators_unexplained: 0, version: 30 },
    ])
  await insertRows(fixture.warehouse, 'daily_rewards', [dailyRow('2026-11-19', OLD, 7n, 0n, 30)])
  await close('2026-11-19', 7184, 14383)
  const first = incomplete(lacking('2026-11-18', '2026-11-19'))
  const { months } = await graphql(`{ months(from: "2026-11") { month ${COMPLETENESS} } }`)
  const lacks = { from: '2026-11-18', to: '2026-11-19', validatorsMissingCount: 1 }
  expect(months).toMatchObject([
    { month: '2026-11', completeness: { state: 'INCOMPLETE', notFinalFrom: '2026-11-20', incomplete: [lacks] } },
  ])
  const today = lacking('2026-11-20', '2026-11-21')
  const totals = { ...first, incomplete: [...first.incomplete, today] }
  expect(await completenessOf()).toMatchObject({ totals, days: first, own: first })
  await insertRows(fixture.warehouse, 'daily_rewards', [dailyRow('2026-11-18', OLD, 7n, 0n, 30)])
  await close('2026-11-18', 0, 7183)
  const whole = { state: 'COMPLETE', finalThrough: '2026-11-19', notFinalFrom: null, incomplete: [] }
  const { days } = await graphql(`{ days(from: "2026-11-18", to: "2026-11-20") { ${OF_ACCOUNT} } }`)
  expect(days).toMatchObject([{ completeness: whole }, { completeness: whole, totalReward: { wei: '7000000000' } }])
  // Of the day that is not over it has one of two epochs.
  expect(await completenessOf()).toMatchObject({ ...NOTHING_LACKS, totals: incomplete(today) })
  await insertRows(fixture.warehouse, 'validator_epochs', [epochRow(450, '2026-11-20', OLD)])
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 450, first_slot: 450 * 32, last_slot: 450 * 32 + 31, blocks: 32, version: 2 },
  ])
  expect(await completenessOf()).toMatchObject(NOTHING_LACKS)
})

test('a whole day before a validator was active makes up for none that lacks later', async () => {
  await track([WAITED])
  await insertRows(
    fixture.warehouse,
    'validator_epochs',
    [450, 451].map((epoch) => epochRow(epoch, '2026-11-20', WAITED, { activation_epoch: ACTIVE_FROM })),
  )
  await insertRows(fixture.warehouse, 'daily_rewards', [dailyRow('2026-11-18', WAITED, 0n, 0n, 31)])
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 451, first_slot: 451 * 32, last_slot: 451 * 32 + 31, blocks: 32, version: 3 },
  ])
  const second = incomplete(lacking('2026-11-19', '2026-11-20'))
  const { totals, days } = await completenessOf()
  expect({ totals, days }).toMatchObject({ totals: second, days: second })
  await insertRows(fixture.warehouse, 'daily_rewards', [dailyRow('2026-11-19', WAITED, 7n, 0n, 31)])
  await insertRows(fixture.warehouse, 'closed_days', [
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 6, validators_unexplained: 0, version: 31 },
  ])
  expect(await completenessOf()).toMatchObject({ totals: NONE, days: NONE })
})

test('days of a validator that the newest epoch does not have are in no total, which is told', async () => {
  await insertRows(fixture.warehouse, 'access_tokens', [
    { token_hash: hashToken('token-of-behind'), account: 'behind', version: 9, is_deleted: 0 },
  ])
  await insertOwners(fixture.warehouse, [{ account: 'behind', pubkey: pubkeyOf(LATER) }])
  await insertRows(fixture.warehouse, 'validators', [{ validator_index: LATER, pubkey: pubkeyOf(LATER), version: 1 }])
  const rows = ['2026-11-18', '2026-11-19'].map((day) => dailyRow(day, LATER, 7n, 0n, 32))
  await insertRows(fixture.warehouse, 'daily_rewards', rows)
  await insertRows(fixture.warehouse, 'closed_days', [
    { day: '2026-11-18', first_slot: 0, last_slot: 7183, validators: 6, validators_unexplained: 0, version: 32 },
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 7, validators_unexplained: 0, version: 32 },
  ])
  const asked = async (path: string) => {
    const response = await fetch(`${fixture.api.url}/ethereum/mainnet/token-of-behind/api/v1/validator/${path}`)
    const { data, completeness } = await response.json()
    return { data, completeness }
  }
  expect((await asked(`daily-rewards?${DAYS}`)).completeness).toMatchObject(NONE)
  expect(await asked('total-rewards')).toMatchObject({
    data: { validator_details: [], validators_total_rewards: '0' },
    completeness: incomplete(lacking('2026-11-18', '2026-11-21')),
  })
  await insertRows(
    fixture.warehouse,
    'validator_epochs',
    [450, 451].map((epoch) => epochRow(epoch, '2026-11-20', LATER)),
  )
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 451, first_slot: 451 * 32, last_slot: 451 * 32 + 31, blocks: 32, version: 4 },
  ])
  expect((await asked('total-rewards')).completeness).toMatchObject(NONE)
})

/** An account fact that comes behind the looks so far, about a key that the registry may have. */
async function trackKey(index: number, version: number): Promise<void> {
  await insertOwners(fixture.warehouse, [{ account: 'late', pubkey: pubkeyOf(index), version }])
}

const looked = (accounts_version: number, from_epoch: number) =>
  insertRows(fixture.warehouse, 'registry_looks', [{ accounts_version, from_epoch, version: accounts_version }])

test('a key lacks all days from the moment on at which it is tracked until the registry was looked at', async () => {
  const version = LOOKED_THROUGH + 1
  const lackingByOffset = async () => {
    const days = await get('daily-rewards?start_date=2026-11-19&end_date=2026-11-20&utc_offset=%2B09:00')
    return days.completeness.incomplete
  }
  // The others have no exact rows of it.
  const others = lacking('2026-11-19', '2026-11-20', 2)
  expect(await lackingByOffset()).toEqual([others])
  await trackKey(30, version)
  expect(await completenessOf(30)).toMatchObject(ALL_LACK)
  expect(await lackingByOffset()).toEqual([{ ...others, validators_missing: 3 }])
  // The registry does not have it.
  await looked(version, 452)
  expect(await completenessOf(30)).toMatchObject(NOTHING_LACKS)
  expect(await lackingByOffset()).toEqual([others])
})

test('one that was found lacks all days until an epoch was told with it', async () => {
  const version = LOOKED_THROUGH + 2
  await trackKey(31, version)
  await insertRows(fixture.warehouse, 'validators', [{ validator_index: 31, pubkey: pubkeyOf(31), version: 1 }])
  await looked(version, 452)
  expect(await completenessOf(31)).toMatchObject(ALL_LACK)
  // It was not in the registry at the end of it.
  await insertRows(
    fixture.warehouse,
    'validator_epochs',
    [OLD, WAITED].map((index) => epochRow(452, '2026-11-20', index, { activation_epoch: ACTIVE_FROM })),
  )
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 452, first_slot: 452 * 32, last_slot: 452 * 32 + 31, blocks: 32, version: 4 },
  ])
  expect(await completenessOf(31)).toMatchObject(NOTHING_LACKS)
})

test('one that was made here lacks nothing before anybody has looked for it: there was no deposit for it', async () => {
  const version = LOOKED_THROUGH + 3
  await trackKey(32, version)
  await insertRows(fixture.warehouse, 'created_validators', [
    { pubkey: pubkeyOf(32), account: 'late', created_at_slot: 14_400, version },
  ])
  expect(await completenessOf(32)).toMatchObject(NOTHING_LACKS)
  // An earlier log may have had it: nobody tells when it was made.
  await insertRows(fixture.warehouse, 'created_validators', [
    { pubkey: pubkeyOf(32), account: 'late', created_at_slot: -1, version: version + 1 },
  ])
  expect(await completenessOf(32)).toMatchObject(ALL_LACK)
})

test('a final day that is not closed, of which epochs are missing, is there in GraphQL, with the epochs that are not', async () => {
  await insertRows(
    fixture.warehouse,
    'validator_epochs',
    [OLD, WAITED].map((index) => epochRow(700, '2026-11-21', index, { activation_epoch: ACTIVE_FROM })),
  )
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch: 700, first_slot: 700 * 32, last_slot: 700 * 32 + 31, blocks: 32, version: 5 },
  ])
  await using api = await openApi({ ...fixture.parts, now: () => NOW_MS + 2 * 86_400_000, host: '127.0.0.1', port: 0 })
  const window = 'from: "2026-11-20", to: "2026-11-22"'
  const { days, validators } = await graphql(
    `{ days(${window}) { ${OF_ACCOUNT} } validators(first: 1) { nodes { days(${window}) { date level epochs { epoch } ${COMPLETENESS} } } } }`,
    { api },
  )
  const { ofAccount, ofValidator } = nothingOf('2026-11-20', null)
  expect(days).toEqual([ofAccount])
  const told = [450, 451, 452].map((epoch) => ({ epoch }))
  expect(validators.nodes).toEqual([{ days: [{ ...ofValidator, level: null, epochs: told }] }])
  expect(await graphql(`{ days(${window}) { date } }`, { api, token: 'token-of-empty' })).toEqual({ days: [] })
})
