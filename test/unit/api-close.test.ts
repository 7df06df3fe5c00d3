import { pino } from 'pino'
import { expect, test } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { chainNames } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { noJobs } from './no-jobs.ts'
import { noWords } from './no-words.ts'

/** A warehouse that knows one token, `token`, and answers everything but account facts with no rows when `rows` resolves. */
function slowWarehouse(rows: Promise<never[]>, asked: () => void): WordsReader {
  return {
    ...noWords,
    query<Row>(sql: string) {
      if (sql.includes('AS versions')) return Promise.resolve([])
      if (sql.includes('access_tokens')) {
        return Promise.resolve([
          { token_hash: hashToken('token'), account: 'demo', ...toTokenLimitsRow({ scopes: ['read'] }) },
        ] as Row[])
      }
      if (sql.includes('account_validators')) return Promise.resolve([])
      asked()
      return rows
    },
  }
}

function options(warehouse: WordsReader) {
  return {
    warehouse,
    jobs: noJobs,
    unfundedRules: DEFAULT_UNFUNDED_RULES,
    chains: () => [{ names: chainNames('ethereum', 'mainnet'), hasBeacon: true }],
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
    now: () => 0,
    wallNow: () => 0,
    health: () => Promise.reject(new Error('not asked')),
    accountsKnown: async () => true,
    tablesWhole: async () => true,
  }
}

test('finishes the running request before it is closed, and accepts nothing afterwards', async () => {
  const rows = Promise.withResolvers<never[]>()
  const asked = Promise.withResolvers<void>()
  const api = await openApi(options(slowWarehouse(rows.promise, asked.resolve)))
  let isClosed = false
  const request = fetch(`${api.url}/ethereum/mainnet/token/api/v1/validator/daily-rewards`)
  await asked.promise
  const closed = api[Symbol.asyncDispose]().then(() => {
    isClosed = true
  })
  await untilRefused(`${api.url}/health`)
  expect(isClosed).toBe(false)
  rows.resolve([])
  const response = await request
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ code: '200', data: { reward: [] } })
  await closed
})

/** Resolves when the address takes no more connections. */
async function untilRefused(url: string): Promise<void> {
  for (;;) {
    const accepted = await fetch(url, { headers: { connection: 'close' } }).then(
      (response) => response.text(),
      () => undefined,
    )
    if (accepted === undefined) return
  }
}

test('says which port is taken', async () => {
  const warehouse = slowWarehouse(Promise.resolve([]), () => {})
  await using api = await openApi(options(warehouse))
  const port = Number(new URL(api.url).port)
  const failure = await openApi({ ...options(warehouse), port }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(AppError)
  expect(failure).toMatchObject({ code: 'usage', message: expect.stringContaining(String(port)) })
})
