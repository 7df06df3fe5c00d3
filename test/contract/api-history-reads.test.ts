import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { DAYS_BY_DAY } from '../../api/rewards/validator-days.ts'
import type { QueryLimits, QueryParams } from '../../infra/ports/warehouse.ts'
import { sumMonth } from '../../processors/rewards/months.ts'
import { dayOfInstant, firstOfMonth } from '../../schemas/eth/time.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { noWords } from '../unit/no-words.ts'
import {
  type ApiFixture,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

// What the engine says that it is going to read (EXPLAIN) of 380 days of 3,000 validators, 2,000 of which are the account's: so many
// that not all of its days are read at once (api/rewards/account-days.ts).

const FIRST_DAY = dayOfInstant(Date.parse('2025-11-01T00:00:00Z') / 1_000)
const DAYS = 380
const MONTHS = 13
const VALIDATORS = 3_000
const [FIRST_INDEX, OWN] = [100, 2_000]
/** Validators of each small account, behind those of the large one. */
const FEW = 8
const SMALL_ACCOUNTS = 6
const tokenOfFew = (nth: number): string => `secret-token-of-few-${nth}`
const TOKEN_OF_FEW = tokenOfFew(0)
/** Behind the last closed day. */
const OPEN_EPOCHS = 3
const HISTORY: readonly string[] = [
  'daily_rewards',
  'by_validator', // its other order
  'monthly_rewards',
  'validator_epochs',
  'ledger_entries',
  'finalized_blocks',
  'epoch_residuals',
]
/** Rows of a granule, the least that the engine reads of a part. */
const GRANULE = 8_192
/** Rows side by side lie in so many granules, with the fixture's own part, and one at each end that they share with others. */
const granulesOf = (rows: number): number => Math.ceil(rows / GRANULE) + 2

interface Read {
  readonly table: string
  readonly granules: number
}

let fixture: ApiFixture
let api: Api
const asked: (readonly [sql: string, params: QueryParams])[] = []

beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse, parts } = fixture
  const indices = Array.from({ length: OWN }, (_, i) => FIRST_INDEX + i)
  const few = Array.from({ length: SMALL_ACCOUNTS * FEW }, (_, i) => FIRST_INDEX + OWN + i)
  await insertOwners(warehouse, [
    ...indices.map((index) => ({ account: 'demo', pubkey: pubkeyOf(index) })),
    ...few.map((index, i) => ({ account: `few-${Math.floor(i / FEW)}`, pubkey: pubkeyOf(index) })),
  ])
  await insertRows(
    warehouse,
    'access_tokens',
    Array.from({ length: SMALL_ACCOUNTS }, (_, nth) => ({
      token_hash: hashToken(tokenOfFew(nth)),
      account: `few-${nth}`,
      version: 1,
      is_deleted: 0,
    })),
  )
  const withdrawal_credentials = `0x01${'00'.repeat(31)}`
  await insertRows(
    warehouse,
    'validators',
    [...indices, ...few].map((validator_index) => ({
      validator_index,
      pubkey: pubkeyOf(validator_index),
      withdrawal_credentials,
      version: 1,
    })),
  )
  const row = `'mainnet', toDate(${FIRST_DAY} + intDiv(number, ${VALIDATORS})), ${FIRST_INDEX} + number % ${VALIDATORS}`
  await warehouse.command(
    `INSERT INTO daily_rewards (chain, day, validator_index, cl_reward_gwei, source_gwei, is_whole, level, active_epochs, version)
     SELECT ${row}, 1000, 1000, 1, 'anchored', 225, 1 FROM numbers(${DAYS * VALIDATORS})`,
  )
  // Of whom days are lacking, days are read: here nobody lacks one, of the fixture's closed days neither.
  await warehouse.command(
    `INSERT INTO daily_rewards (chain, day, validator_index, cl_reward_gwei, source_gwei, is_whole, level, active_epochs, version)
     SELECT 'mainnet', day, ${FIRST_INDEX} + number, 1000, 1000, 1, 'anchored', 225, 1
     FROM numbers(${VALIDATORS}) ARRAY JOIN [toDate('2026-11-18'), toDate('2026-11-19')] AS day`,
  )
  await warehouse.command(
    `INSERT INTO closed_days (chain, day, first_slot, last_slot, validators, version)
     SELECT 'mainnet', toDate(${FIRST_DAY} + number), 0, 31, ${VALIDATORS}, 2 FROM numbers(${DAYS})`,
  )
  for (let day = FIRST_DAY; day < FIRST_DAY + DAYS; day++)
    if (firstOfMonth(day) === day) await sumMonth(warehouse, 'mainnet', day)
  await warehouse.command(
    `INSERT INTO validator_epochs (chain, epoch, day, validator_index, source_gwei, balance_gwei, status, version)
     SELECT 'mainnet', intDiv(number, ${VALIDATORS}), toDate('2026-11-18'), ${FIRST_INDEX} + number % ${VALIDATORS}, 1, 32000000000, 2, 1
     FROM numbers(${(NEWEST_EPOCH + 1) * VALIDATORS})`,
  )
  const query = <Row>(sql: string, params: QueryParams = {}, limits?: QueryLimits): Promise<Row[]> => {
    asked.push([sql, params])
    return warehouse.query<Row>(sql, params, limits)
  }
  api = await openApi({ ...parts, warehouse: { query, ...noWords }, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** Of the tables that grow with every epoch or day of a validator: granules that a question reads, by table or projection. */
async function historyReadFor(
  path: string,
  { body, token = TOKEN }: { readonly body?: string; readonly token?: string | readonly string[] } = {},
): Promise<Readonly<Record<string, number>>> {
  asked.length = 0
  const tokens = [token].flat()
  await Promise.all(
    tokens.map(async (one) => {
      const url = `${api.url}/ethereum/mainnet/${one}/${path}`
      const response = await fetch(url, body === undefined ? {} : { method: 'POST', body })
      const answer = await response.text()
      expect(response.status, answer).toBe(200)
      expect(answer).not.toContain('"errors"')
    }),
  )
  const sums: Record<string, number> = {}
  for (const [sql, params] of [...asked])
    for (const { table, granules } of await explain(sql, params))
      if (HISTORY.includes(table)) sums[table] = (sums[table] ?? 0) + granules
  return sums
}

const daysOfOne = (from: string, to: string): string =>
  JSON.stringify({
    query: `{ validators(pubkeys: ["${pubkeyOf(888)}"]) { nodes { days(from: "${from}", to: "${to}") { date } } } }`,
  })

/** What the engine would read for a statement. */
async function explain(sql: string, params: QueryParams): Promise<readonly Read[]> {
  const rows = await fixture.warehouse.query<{ explain: string }>(`EXPLAIN indexes = 1, json = 1 ${sql}`, params)
  return readsOf(JSON.parse(rows.map((row) => row.explain).join('\n')))
}

/** Reads are somewhere in the tree, each behind the indexes that narrow it down; a table that is not there reads nothing. */
function readsOf(node: unknown): readonly Read[] {
  if (node === null || typeof node !== 'object') return []
  const { 'Node Type': kind, Description: table, Indexes: indexes } = node as Record<string, unknown>
  const below = Object.values(node).flatMap(readsOf)
  if (!String(kind).startsWith('ReadFromMergeTree')) return below
  const last = (indexes as readonly Readonly<Record<string, number>>[]).at(-1)
  const granules = last?.['Selected Granules']
  if (granules === undefined) throw new Error(`no index of ${table} is explained`)
  return [...below, { table: String(table).replace(/^\w+\./, ''), granules }]
}

test('days of an account are read by the day: of none that were not asked for', async () => {
  const read = await historyReadFor('api/v1/validator/daily-rewards?start_date=2026-03-02&end_date=2026-03-08')
  expect(Object.keys(read).toSorted()).toEqual(['daily_rewards', 'validator_epochs'])
  // The fixture's own validators, of which one was somebody else's at first, are asked for by themselves.
  expect(read.daily_rewards).toBeLessThanOrEqual(granulesOf(7 * VALIDATORS) + granulesOf(0))
  // The states at the newest epoch, which say who was active.
  expect(read.validator_epochs).toBeLessThanOrEqual(granulesOf(VALIDATORS))
})

test('days of a small account are read by its validators: of none that were not asked for, but their neighbours', async () => {
  const path = 'api/v1/validator/daily-rewards?start_date=2026-03-02&end_date=2026-03-08'
  const read = await historyReadFor(path, { token: TOKEN_OF_FEW })
  expect(Object.keys(read).toSorted()).toEqual(['by_validator', 'validator_epochs'])
  // The days of a span that is kept, which lie in two months; by day each of them would be opened.
  expect(read.by_validator).toBeLessThanOrEqual(2 * granulesOf(31 * FEW))
  const body = JSON.stringify({ query: '{ days(from: "2025-11-01", to: "2026-11-01") { date validatorsCount } }' })
  const year = await historyReadFor('graphql', { token: TOKEN_OF_FEW, body })
  expect(Object.keys(year)).toEqual(['by_validator'])
  expect(year.by_validator).toBeLessThanOrEqual(MONTHS * granulesOf(31 * FEW))
})

test('what small accounts are read together of is what each of them needs, and read less often', async () => {
  const tokens = Array.from({ length: SMALL_ACCOUNTS }, (_, nth) => tokenOfFew(nth))
  const path = 'api/v1/validator/daily-rewards?start_date=2026-06-02&end_date=2026-06-08'
  const read = await historyReadFor(path, { token: tokens })
  expect(Object.keys(read)).toContain('by_validator')
  expect(asked.filter(([sql]) => sql.includes('daily_rewards')).length).toBeLessThan(SMALL_ACCOUNTS)
  // Their validators lie side by side, so that all of them are read as one account's are.
  expect(read.by_validator).toBeLessThan(SMALL_ACCOUNTS * 2 * granulesOf(31 * FEW))
  expect(read.daily_rewards).toBeUndefined()
})

test('days of one validator are read by the validator: of no others but its neighbours', async () => {
  const month = await historyReadFor('graphql', { body: daysOfOne('2026-03-01', '2026-04-01') })
  expect(Object.keys(month)).toEqual(['by_validator'])
  expect(month.by_validator).toBeLessThanOrEqual(granulesOf(1))
  const year = await historyReadFor('graphql', { body: daysOfOne('2025-11-01', '2026-11-01') })
  expect(Object.keys(year)).toEqual(['by_validator'])
  expect(year.by_validator).toBeLessThanOrEqual(12 * granulesOf(1))
  // In the order of days each day of everybody is opened for it.
  const params = { chain: 'mainnet', from: '2025-11-01', to: '2026-11-01', indices: [888] }
  const [byDay] = await explain(DAYS_BY_DAY, params)
  expect(byDay?.granules).toBeGreaterThan(5 * (year.by_validator ?? 0))
})

test('totals are read of months and open epochs: of no day that is closed', async () => {
  const read = await historyReadFor('api/v1/validator/total-rewards')
  expect(Object.keys(read).toSorted()).toEqual([
    'finalized_blocks',
    'ledger_entries',
    'monthly_rewards',
    'validator_epochs',
  ])
  expect(read.monthly_rewards).toBeLessThanOrEqual(granulesOf(MONTHS * VALIDATORS) + MONTHS)
  // The epochs behind the last closed day, and the states at the newest.
  expect(read.validator_epochs).toBeLessThanOrEqual(granulesOf(OPEN_EPOCHS * VALIDATORS) + granulesOf(VALIDATORS))
  expect(read.ledger_entries).toBeLessThanOrEqual(granulesOf(1))
  // Revenue is read of several of its parts: which blocks are meant, and what each kind of evidence says of them.
  expect(read.finalized_blocks).toBeLessThanOrEqual(4 * granulesOf(0))
})
