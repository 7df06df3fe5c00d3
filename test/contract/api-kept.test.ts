import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import { AppError } from '../../schemas/errors.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type ApiFixture, insertRows, moveTables, openApiFixture, pubkeyOf, TOKEN } from './api-fixture.ts'

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture({ tellsWrites: false })
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const DAILY = '/api/v1/validator/daily-rewards'
const TOTAL = '/api/v1/validator/total-rewards'
const SETTLED = '/api/v1/cloud/validator/el/settle/rewards'
const DETAILS = '/api/v1/validator/details'
const GRAPHQL = '{ days { date totalReward { eth } } validators { totalCount nodes { index balance { gwei } } } }'

/** What is read for one request alone, and not kept for its account. */
const DETAIL = { query: '{ validators { nodes { days { epochs { epoch } } } } }' }
const DETAIL_SQL = 'AND day IN {days:Array(Date)}'

interface Asked {
  readonly status: number
  readonly text: string
  /** Statements that it took. */
  readonly statements: number
}

async function ask(path: string, { token = TOKEN, body }: { token?: string; body?: object } = {}): Promise<Asked> {
  const before = fixture.statements.length
  const url = `${fixture.api.url}/ethereum/mainnet/${token}${path}`
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, text, statements: fixture.statements.length - before }
}

const QUESTIONS = [
  [DAILY, undefined],
  [`${DAILY}?start_date=2026-11-17&end_date=2026-11-20&limit=2`, undefined],
  [`${TOTAL}?page=2&limit=1`, undefined],
  [`${SETTLED}?validator_indexes=10,11`, undefined],
  [DETAILS, { pubkeys: [pubkeyOf(10)] }],
  ['/graphql', { query: GRAPHQL }],
] as const

test.each(QUESTIONS)('answers %s again without asking for it, and says the same', async (path, body) => {
  const first = await ask(path, { ...(body === undefined ? {} : { body }) })
  expect(first.status).toBe(200)
  const again = await ask(path, { ...(body === undefined ? {} : { body }) })
  expect(again.text).toBe(first.text)
  // How the tables stand.
  expect(again.statements).toBe(1)
})

test.each([
  ['settled rewards', (day: string) => [`${SETTLED}?start_date=${day}&limit=5`, undefined] as const],
  [
    'days of validators',
    (day: string) =>
      ['/graphql', { query: `{ validators(first: 2) { nodes { days(from: "${day}") { date } } } }` }] as const,
  ],
])('reads %s once for all questions about the days around', async (_, questionOf) => {
  const statements: number[] = []
  for (const day of ['2026-11-18', '2026-11-19', '2026-11-17']) {
    const [path, body] = questionOf(day)
    statements.push((await ask(path, body === undefined ? {} : { body })).statements)
  }
  // How the tables stand.
  expect(statements.slice(1)).toEqual([1, 1])
})

test('keeps nothing that one account is told for another', async () => {
  for (const [path, body] of QUESTIONS) {
    const mine = await ask(path, { ...(body === undefined ? {} : { body }) })
    const others = await ask(path, { token: 'token-of-empty', ...(body === undefined ? {} : { body }) })
    expect(others.text, path).not.toBe(mine.text)
  }
})

test('a token stops working when it is revoked, whatever has been answered for it', async () => {
  const token = 'token-of-a-while'
  const row = { token_hash: hashToken(token), account: 'demo' }
  expect((await ask(DAILY, { token })).status).toBe(401)
  await insertRows(fixture.warehouse, 'access_tokens', [{ ...row, version: 100, is_deleted: 0 }])
  expect((await ask(DAILY, { token })).status).toBe(200)
  await insertRows(fixture.warehouse, 'access_tokens', [{ ...row, version: 101, is_deleted: 1 }])
  expect((await ask(DAILY, { token })).status).toBe(401)
})

test('a day that is closed again changes the answers that hold it', async () => {
  const path = `${DAILY}?start_date=2026-11-19`
  const before = await ask(path)
  const closed = { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 4, validators_unexplained: 0 }
  await insertRows(fixture.warehouse, 'daily_rewards', [
    { day: '2026-11-19', validator_index: 11, cl_reward_gwei: 900n, el_reward_wei: 0n, version: 50 },
  ])
  await insertRows(fixture.warehouse, 'closed_days', [{ ...closed, version: 50 }])
  const after = await ask(path)
  expect(before.text).toContain('"cl_reward":"-0.0000015"')
  expect(after.text).toContain('"cl_reward":"-0.0000011"')
})

test('a settlement that is taken back leaves the answers', async () => {
  const before = await ask(SETTLED)
  expect(before.text).toContain('"block_number":300')
  await fixture.warehouse.command(
    `INSERT INTO settlements SELECT * REPLACE (version + 100 AS version, 1 AS is_deleted) FROM settlements FINAL
     WHERE chain = 'mainnet' AND slot = 300`,
  )
  expect((await ask(SETTLED)).text).not.toContain('"block_number":300')
})

test('what is settled anew of closed days makes no figures be read again, what an open day is settled of does', async () => {
  const settle = (slots: string) =>
    fixture.warehouse.command(
      `INSERT INTO settlements SELECT * REPLACE (${slots} AS slot, version + 200 AS version)
       FROM (SELECT * FROM settlements FINAL WHERE chain = 'mainnet' AND slot IN (200, 400))`,
    )
  for (const [path, body] of [[TOTAL], [DETAILS, {}]] as const) {
    const question = body === undefined ? {} : { body }
    const { text } = await ask(path, question)
    await settle('slot')
    const { statements, ...again } = await ask(path, question)
    // How the tables stand.
    expect([again.text, statements]).toEqual([text, 1])
    await settle('14400 + slot')
    expect((await ask(path, question)).statements).toBeGreaterThan(1)
  }
})

test('ends the statements of a client that is gone, and answers others meanwhile', async () => {
  const held = Promise.withResolvers<AbortSignal>()
  const released = Promise.withResolvers<void>()
  fixture.beforeStatement = async (sql, limits) => {
    if (limits?.signal === undefined || !sql.includes(DETAIL_SQL)) return
    held.resolve(limits.signal)
    await released.promise
  }
  try {
    const client = request(`${fixture.base}/graphql`, { agent: false, method: 'POST' }).on('error', () => {})
    client.end(JSON.stringify(DETAIL))
    const signal = await held.promise
    // Another account, and another question of the same one.
    expect((await ask(DAILY, { token: 'token-of-other' })).status).toBe(200)
    const aborted = once(signal, 'abort')
    client.destroy()
    await aborted
  } finally {
    fixture.beforeStatement = () => Promise.resolve()
    released.resolve()
  }
  expect((await ask('/graphql', { body: DETAIL })).status).toBe(200)
  expect(fixture.logged()).not.toContain('"level":50')
})

/** Shorter than anybody's patience, and long enough for the first statements of a busy machine. */
const ANSWER_MS = 2_000

test('ends the statements of a request that takes too long, and answers 503 without a failure in the log', async () => {
  await using hurried = await openApi({ ...fixture.parts, answerMsMax: ANSWER_MS, host: '127.0.0.1', port: 0 })
  const ended: Promise<unknown>[] = []
  fixture.beforeStatement = async (sql, limits) => {
    if (limits?.signal === undefined || !sql.includes(DETAIL_SQL)) return
    const end = once(limits.signal, 'abort')
    ended.push(end)
    await end
  }
  try {
    const url = `${hurried.url}/ethereum/mainnet/${TOKEN}/graphql`
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(DETAIL) })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(await response.json()).toEqual({
      code: '503',
      msg: expect.stringMatching(/^Service not ready: the answer was not ready in time/),
      data: null,
    })
    expect(ended.length).toBeGreaterThan(0)
    await Promise.all(ended)
  } finally {
    fixture.beforeStatement = () => Promise.resolve()
  }
  expect(fixture.logged()).not.toContain('"level":50')
  expect((await ask('/graphql', { body: DETAIL })).status).toBe(200)
})

test('answers 503 while the warehouse cannot be asked, and says why in the log without a stack', async () => {
  await moveTables(fixture.warehouse)
  fixture.beforeStatement = (sql) =>
    sql.includes('FROM settlements FINAL') || sql.includes(DETAIL_SQL)
      ? Promise.reject(new AppError('warehouse', 'ClickHouse did not answer (ECONNREFUSED).', { retryable: true }))
      : Promise.resolve()
  try {
    const away = await ask(`${SETTLED}?limit=5`)
    expect(away.status).toBe(503)
    expect(JSON.parse(away.text)).toMatchObject({ code: '503', data: null })
    expect((await ask('/graphql', { body: DETAIL })).status).toBe(503)
  } finally {
    fixture.beforeStatement = () => Promise.resolve()
  }
  expect(fixture.logged()).toContain('ECONNREFUSED')
  expect(fixture.logged()).not.toContain('"level":50')
})

test('answers a question that takes too much with a sentence, in REST and in GraphQL', async () => {
  const tooSlow = () => Promise.reject(Object.assign(new Error('too long'), { code: 'query_limit' }))
  fixture.beforeStatement = (sql) => (sql.includes('daily_rewards') ? tooSlow() : Promise.resolve())
  try {
    const rest = await ask(`${DAILY}?limit=9`)
    expect(rest.status).toBe(400)
    expect(JSON.parse(rest.text)).toEqual({
      code: '400',
      msg: expect.stringMatching(/^Param error: the question takes more time or rows/),
      data: null,
    })
    const graphql = await ask('/graphql', { body: { query: '{ days(from: "2026-11-10") { date } }' } })
    expect(graphql.status).toBe(400)
    expect(JSON.parse(graphql.text).errors[0].extensions.code).toBe('400')
  } finally {
    fixture.beforeStatement = () => Promise.resolve()
  }
})
