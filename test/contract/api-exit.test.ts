import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type ExitValidatorsInput, exitValidators } from '../../schemas/jobs/exit-validators.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { type ApiFixture, insertRows, openApiFixture, TOKEN as READS } from './api-fixture.ts'
import { AskedJobs } from './asked-jobs.ts'
import { WRONG_EXITS } from './wrong-requests.ts'

const TOKEN = 'a-token-that-exits'
const CREATES = 'a-token-that-creates'
const KEY = `0x${'ab'.repeat(48)}`
const OTHER = `0x${'cd'.repeat(48)}`
const PUBKEYS_MAX = 1_000

let fixture: ApiFixture
let api: Api
/** What was asked of the queue, and what becomes of it. */
const queue = new AskedJobs<ExitValidatorsInput>()

beforeAll(async () => {
  fixture = await openApiFixture()
  const row = (token: string) => ({ token_hash: hashToken(token), account: 'demo', version: 50, is_deleted: 0 })
  await insertRows(fixture.warehouse, 'access_tokens', [
    { ...row(TOKEN), ...toTokenLimitsRow({ scopes: ['exit'] }) },
    { ...row(CREATES), ...toTokenLimitsRow({ scopes: ['read', 'create'] }) },
  ])
  api = await openApi({ ...fixture.parts, jobs: queue.jobs, host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  queue.begin(done({ status: 'done' }))
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

async function post(path: string, body: unknown, { token = TOKEN, chain = 'ethereum/mainnet' } = {}) {
  const response = await fetch(`${api.url}/${chain}/${token}/api/v1/validator/${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as unknown }
}

function done(output: unknown): JobState {
  return { status: 'completed', output }
}

const SUCCESS = { status: 200, body: { code: '200', msg: 'Success' } }
const refusal = (code: string, msg: string, more = {}) => ({
  status: Number(code),
  body: { code, msg, data: null, ...more },
})

describe.each([
  ['exit', 'request'],
  ['exit/cancel', 'cancel'],
])('%s', (path, kind) => {
  test('hands on each key once, whichever way it is written, with who asks, and answers code and msg alone', async () => {
    const pubkeys = [OTHER, KEY, KEY.toUpperCase().slice(2), KEY.slice(2), `0X${KEY.slice(2)}`]
    expect(await post(path, { pubkeys })).toEqual(SUCCESS)
    expect(queue.asked).toHaveLength(1)
    const [{ name, input }] = queue.asked as [(typeof queue.asked)[number]]
    expect(name).toBe(exitValidators.name)
    expect(exitValidators.parse(input)).toMatchObject({
      kind,
      chain: 'mainnet',
      account: 'demo',
      actor: hashToken(TOKEN).slice(0, 12),
      pubkeys: [OTHER, KEY],
    })
  })

  test('each asking is a request of its own', async () => {
    await post(path, { pubkeys: [KEY] })
    await post(path, { pubkeys: [KEY] })
    expect(new Set(queue.asked.map(({ input }) => input.requestId)).size).toBe(2)
  })

  test('takes as many as one request may name', async () => {
    const pubkeys = Array.from({ length: PUBKEYS_MAX }, (_, i) => `0x${i.toString(16).padStart(96, '0')}`)
    expect(await post(path, { pubkeys })).toEqual(SUCCESS)
    expect(queue.asked[0]?.input.pubkeys).toHaveLength(PUBKEYS_MAX)
  })

  test.each([
    ['unknown_validator', 'is not a validator of the account'],
    ['key_not_in_vault', 'cannot exit: its key is not held here'],
    ['not_deposited', 'is not deposited yet'],
    ['exit_not_requested', 'has no exit to cancel'],
    ['exit_already_signed', 'can no longer stay: its exit is signed'],
    ['already_exiting', 'can no longer stay: the chain has fixed its exit'],
  ])('tells a refusal with its reason %s', async (fault, sentence) => {
    queue.outcome = done({ status: 'refused', fault, pubkey: KEY })
    expect(await post(path, { pubkeys: [KEY] })).toEqual(
      refusal('400', `Param error: ${KEY} ${sentence}`, { reason: fault }),
    )
  })

  test.each<[string, JobState]>([
    ['nothing was done', done({ status: 'unavailable' })],
    ['nobody does it', { status: 'waiting' }],
    ['it failed', { status: 'failed', reason: 'secret' }],
  ])('says that it can be repeated where %s', async (_, state) => {
    queue.outcome = state
    const sentence = 'exits cannot be requested or cancelled at the moment; the request can be repeated safely'
    expect(await post(path, { pubkeys: [KEY] })).toEqual(refusal('503', `Service not ready: ${sentence}`))
  })

  test.each(WRONG_EXITS)('refuses %j and asks for nothing', async (body, detail) => {
    expect(await post(path, body)).toEqual(refusal('400', `Param error: ${detail}`))
    expect(queue.asked).toEqual([])
  })

  test.each([
    ['a token that is none', { token: 'nope' }, '401', 'Authentication failed'],
    [
      'a token that only reads',
      { token: READS },
      '401',
      'Authentication failed: the token does not have the scope exit',
    ],
    [
      'a token that creates',
      { token: CREATES },
      '401',
      'Authentication failed: the token does not have the scope exit',
    ],
    ['a chain without validators', { chain: 'scroll/mainnet' }, '404', 'Path Not Found: the chain has no validators'],
    ['a chain that is none', { chain: 'ethereum/nonesuch' }, '404', 'Path Not Found'],
  ])('is not there for %s', async (_, where, code, msg) => {
    expect(await post(path, { pubkeys: [KEY] }, where)).toEqual(refusal(code, msg))
    expect(queue.asked).toEqual([])
  })
})
