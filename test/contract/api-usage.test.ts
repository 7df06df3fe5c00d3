import { afterAll, beforeAll, expect, test } from 'vitest'
import { Usage, type UsageOf } from '../../api/gateway/usage.ts'
import { insertAll } from '../../processors/loop/rows.ts'
import { projectUsage } from '../../processors/usage/project-usage.ts'
import { dayOfInstant, dayStartSec, formatInstant } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { silentLog } from '../unit/silent-log.ts'
import { type Browser, type GivenAccounts, newUser, openGivenAccounts } from './given-accounts.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'

const PASSWORD = 'correct horse battery'
const [HOUR_SEC, DAY_SEC] = [3_600, 86_400]
/** The service's day before today begins. */
const DAY = dayStartSec(dayOfInstant(Date.now() / 1_000) - 1)
const [FROM, TO] = [formatInstant(DAY), formatInstant(DAY + DAY_SEC)]
const WALLET = '11'.repeat(32)
const BOT = '22'.repeat(32)

const open = new AsyncDisposableStack()
let tables: GivenApi
let given: GivenAccounts
let ann: Browser
let bob: Browser
beforeAll(async () => {
  tables = open.use(await openGivenApi())
  given = open.use(await openGivenAccounts(tables))
  ann = await newUser(given, 'ann@example.org', PASSWORD)
  bob = await newUser(given, 'bob@example.org', PASSWORD)
  const account = (await ann.get('/me')).body.data.account as string
  const other = (await bob.get('/me')).body.data.account as string
  const wallet = { account, tokenHash: WALLET, place: 'ethereum/mainnet' }
  // Two processes.
  for (const more of [0, 1]) {
    await count({ ...wallet, atSec: DAY + 30, status: 200, ms: 10, calls: 98 + more })
    await count({ ...wallet, atSec: DAY + 59, status: 200, ms: 100, calls: 1 })
  }
  await count({ ...wallet, atSec: DAY + HOUR_SEC, status: 502, ms: 400, calls: 1, billed: 0 })
  const bot = { account, tokenHash: BOT, place: 'solana/mainnet' }
  await count({ ...bot, atSec: DAY + DAY_SEC - 1, status: 200, ms: 1, calls: 5, method: 'getSlot', pushes: 7 })
  // Behind the day, and another account's.
  await count({ ...bot, atSec: DAY + DAY_SEC, status: 200, ms: 1, calls: 1_000 })
  await count({
    account: other,
    tokenHash: '33'.repeat(32),
    place: 'sui/mainnet',
    atSec: DAY,
    status: 200,
    ms: 1,
    calls: 2,
  })
})
afterAll(() => open.disposeAsync())

interface Counting extends UsageOf {
  readonly atSec: number
  readonly status: number
  readonly ms: number
  readonly calls: number
  readonly billed?: number
  readonly method?: string
  readonly pushes?: number
}

let offset = 0n
/** By a process of its own. */
async function count({
  atSec,
  status,
  ms,
  calls,
  billed = 1,
  method = 'eth_call',
  pushes = 0,
  ...of
}: Counting): Promise<void> {
  const append = async (_topic: string, events: readonly EncodedEvent[]) => {
    for (const event of events)
      await insertAll(tables.warehouse, projectUsage({ event, position: { partition: 0, offset: offset++ } }).rows)
    return []
  }
  await using usage = new Usage({ eventLog: { append }, log: silentLog })
  const row = usage.minuteAt(atSec * 1_000).rowOf(of, method, status)
  for (let i = 0; i < calls; i++) row.count({ billed, ms, requestBytes: 10, answerBytes: 100 })
  for (let i = 0; i < pushes; i++) row.push(1_000)
}

async function ask(browser: Browser, query: Readonly<Record<string, string>>) {
  const { status, body } = await browser.get(`/usage?${new URLSearchParams({ from: FROM, to: TO, ...query })}`)
  expect([status, body.code]).toEqual([200, '200'])
  return body
}

const NOT_BY = { key_id: null, blockchain: null, method: null, status: null }

test('a day is the sum of its minutes, keys and processes', async () => {
  const { data, pagination } = await ask(ann, {})
  const timeMs = 98 * 10 + 99 * 10 + 2 * 100 + 400 + 5
  expect(data).toEqual([
    {
      ...{ time: FROM, ...NOT_BY, calls: 205, billed: 204, success_rate: 204 / 205, average_ms: timeMs / 205 },
      ...{ p99_ms: 128, request_bytes: 2_050, answer_bytes: 27_500, pushes: 7 },
    },
  ])
  expect(pagination).toEqual({ page: 1, limit: 10, total: 1 })
})

test('hours and minutes begin where they do, and rows are by what is asked for', async () => {
  const by = (rows: readonly Record<string, unknown>[], ...names: readonly string[]) =>
    rows.map((row) => names.map((name) => row[name]))
  const hours = (await ask(ann, { step: 'hour' })).data
  expect(by(hours, 'time', 'calls')).toEqual([
    [FROM, 199],
    [formatInstant(DAY + HOUR_SEC), 1],
    [formatInstant(DAY + DAY_SEC - HOUR_SEC), 5],
  ])
  const minutes = (await ask(ann, { step: 'minute', by: 'status' })).data
  expect(by(minutes, 'time', 'status', 'calls', 'success_rate')).toEqual([
    [FROM, 200, 199, 1],
    [formatInstant(DAY + HOUR_SEC), 502, 1, 0],
    [formatInstant(DAY + DAY_SEC - 60), 200, 5, 1],
  ])
  const all = (await ask(ann, { step: 'all', by: 'key,blockchain,method' })).data
  expect(by(all, 'time', 'key_id', 'blockchain', 'method', 'calls', 'pushes')).toEqual([
    [null, WALLET.slice(0, 12), 'ethereum/mainnet', 'eth_call', 200, 0],
    [null, BOT.slice(0, 12), 'solana/mainnet', 'getSlot', 5, 7],
  ])
  const page = await ask(ann, { step: 'hour', page: '2', limit: '1' })
  expect([by(page.data, 'calls'), page.pagination]).toEqual([[[1]], { page: 2, limit: 1, total: 3 }])
  const behind = await ask(ann, { step: 'hour', page: '9', limit: '1' })
  expect([behind.data, behind.pagination]).toEqual([[], { page: 9, limit: 1, total: 3 }])
})

test('p99 is what one call of a hundred takes longer than', async () => {
  const ofWallet = { step: 'minute', key_id: WALLET.slice(0, 12), blockchain: 'ethereum/mainnet', method: 'eth_call' }
  // 197 calls took 10 ms and two 100 ms: of a hundred more than one did.
  const [row] = (await ask(ann, ofWallet)).data
  expect([row.calls, row.p99_ms]).toEqual([199, 128])
  expect((await ask(ann, { ...ofWallet, method: 'getSlot' })).data).toEqual([])
})

test('a period is of whole minutes, and may be of one status', async () => {
  const within = { step: 'all', from: formatInstant(DAY + HOUR_SEC + 1), to: formatInstant(DAY + HOUR_SEC + 2) }
  const callsOf = async (query: Readonly<Record<string, string>>) =>
    (await ask(ann, query)).data.map(({ calls }: { calls: number }) => calls)
  expect(await callsOf(within)).toEqual([1])
  expect(await callsOf({ ...within, status: '502' })).toEqual([1])
  expect(await callsOf({ ...within, status: '200' })).toEqual([])
})

test('nobody sees what others use, whatever is asked for', async () => {
  const rows = (await ask(bob, { step: 'all', by: 'key,blockchain' })).data
  expect(rows.map(({ blockchain, calls }: { blockchain: string; calls: number }) => [blockchain, calls])).toEqual([
    ['sui/mainnet', 2],
  ])
  expect((await ask(bob, { key_id: WALLET.slice(0, 12) })).data).toEqual([])
  const { cookie } = bob
  bob.cookie = ''
  expect(await bob.get('/usage')).toMatchObject({ status: 401, body: { reason: 'not_logged_in' } })
  bob.cookie = cookie
})

test.each([
  ['a period that ends before it begins', { from: TO, to: FROM }],
  ['minutes of two days', { from: FROM, to: formatInstant(DAY + 2 * DAY_SEC), step: 'minute' }],
  ['a time before all times', { from: '1969-01-01T00:00:00Z', to: '1969-02-01T00:00:00Z' }],
])('%s is refused', async (_what, query) => {
  const { status, body } = await ann.get(`/usage?${new URLSearchParams(query)}`)
  expect([status, body.reason]).toEqual([400, 'period_not_valid'])
})

test.each([
  { from: 'yesterday' },
  { step: 'week' },
  { by: 'account' },
  { key_id: 'x' },
  { status: '9' },
  { state: '200' },
])('%j is no value of it', async (query) => {
  expect((await ann.get(`/usage?${new URLSearchParams(Object.entries(query))}`)).status).toBe(400)
})

test('what is not asked for is today', async () => {
  const { status, body } = await ann.get('/usage')
  expect([status, body.data.map(({ calls }: { calls: number }) => calls)]).toEqual([200, [1_000]])
})
