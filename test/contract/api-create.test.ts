import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type CreateValidatorsInput, createValidators } from '../../schemas/jobs/create-validators.ts'
import { createValidatorsRoute } from '../../schemas/routes/validators/create-validators.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import {
  type ApiFixture,
  EXPIRY_EPOCHS,
  GENESIS_SEC,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
  TOKEN as READS,
  UNFUNDED_MAX,
} from './api-fixture.ts'
import { AskedJobs } from './asked-jobs.ts'
import { WRONG_CREATIONS } from './wrong-requests.ts'

const TOKEN = 'a-token-that-creates'
const ADDRESS = `0x${'ad'.repeat(20)}`
const CHECKSUMMED = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const KEY_CHARACTERS_MAX = 255

let fixture: ApiFixture
let api: Api
/** What was asked of the queue, and what becomes of it. */
const queue = new AskedJobs<CreateValidatorsInput>()

beforeAll(async () => {
  fixture = await openApiFixture()
  const row = { token_hash: hashToken(TOKEN), account: 'demo', version: 50, is_deleted: 0 }
  await insertRows(fixture.warehouse, 'access_tokens', [{ ...row, ...toTokenLimitsRow({ scopes: ['create'] }) }])
  api = await openApi({ ...fixture.parts, jobs: queue.jobs, host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  queue.begin({ status: 'waiting' })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

async function create(body: unknown, { headers = {}, token = TOKEN, chain = 'ethereum/mainnet' } = {}) {
  const response = await fetch(`${api.url}/${chain}/${token}/api/v1/validator/create`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as { code: string; msg: string; data: unknown } }
}

const good = { validator_count: 2, withdrawal_address: ADDRESS }
const done = (output: unknown): JobState => ({ status: 'completed', output })
const { example } = createValidatorsRoute

describe('creating validators', () => {
  test('hands on what was asked for, and answers what was made', async () => {
    queue.outcome = done({ status: 'created', answer: JSON.stringify(example.data) })
    const answer = await create({ ...good, deposit_from_address: CHECKSUMMED })
    expect(answer).toEqual({ status: 200, body: example })
    expect(queue.asked).toHaveLength(1)
    const [{ name, input }] = queue.asked as [(typeof queue.asked)[number]]
    expect(name).toBe(createValidators.name)
    expect(createValidators.parse(input)).toMatchObject({
      chain: 'mainnet',
      count: 2,
      withdrawalAddress: ADDRESS,
      depositFrom: CHECKSUMMED.toLowerCase(),
      feeRecipient: ADDRESS,
    })
  })

  test('refuses more than may wait for their deposits, by what was neither funded nor has expired', async () => {
    queue.outcome = done({ status: 'created', answer: JSON.stringify(example.data) })
    const tooMany = (waiting: number, more: number) => ({
      code: '400',
      data: null,
      msg: `Param error: ${waiting} validators of the account wait for their deposits and at most ${UNFUNDED_MAX} may, so ${more} more cannot be created: fund them, or wait until they expire`,
    })
    const nowSlot = NEWEST_EPOCH * 32 + 31
    const keys = [900, 901, 902, 903, 904].map(pubkeyOf)
    await insertOwners(
      fixture.warehouse,
      keys.map((pubkey) => ({ account: 'demo', pubkey })),
    )
    const slots = [nowSlot, nowSlot - EXPIRY_EPOCHS * 32 + 1, nowSlot - EXPIRY_EPOCHS * 32, -1, -1]
    const genesis = GENESIS_SEC
    await insertRows(
      fixture.warehouse,
      'created_validators',
      keys.map((pubkey, at) => ({
        pubkey,
        account: 'demo',
        withdrawal_credentials: `0x01${'00'.repeat(31)}`,
        deposit_from: ADDRESS,
        fee_recipient: ADDRESS,
        amount_gwei: 32_000_000_000n,
        deposit_data_root: '',
        // Of before: the last slot that counts by the chain's clock, and the one before it.
        created_at: genesis + (nowSlot - EXPIRY_EPOCHS * 32 + (at === 3 ? 1 : 0)) * 12,
        created_at_slot: slots[at] ?? 0,
        version: 1,
      })),
    )
    expect((await create({ ...good, validator_count: 3 })).body).toEqual(tooMany(3, 3))
    expect(queue.asked).toEqual([])
    expect((await create({ ...good, validator_count: 2 })).status).toBe(200)
    // The one who makes them knows whether it was answered before.
    const again = { headers: { 'idempotency-key': 'k' } }
    expect((await create({ ...good, validator_count: 3 }, again)).status).toBe(200)
    await insertRows(fixture.warehouse, 'validators', [
      { validator_index: 900, pubkey: pubkeyOf(900), withdrawal_credentials: `0x01${'00'.repeat(31)}`, version: 1 },
    ])
    expect((await create({ ...good, validator_count: 3 })).status).toBe(200)
    expect((await create({ ...good, validator_count: 4 })).body).toEqual(tooMany(2, 4))
  })

  test('names a request by its Idempotency-Key, and one without a key like no other', async () => {
    queue.outcome = done({ status: 'unavailable' })
    const headers = { 'idempotency-key': 'order-7' }
    await create(good, { headers })
    await create(good, { headers })
    await create({ ...good, validator_count: 3 }, { headers })
    await create(good)
    await create(good)
    const [first, again, other, ...unnamed] = queue.asked.map(({ input }) => input)
    expect(again?.requestId).toBe(first?.requestId)
    expect(again?.bodyHash).toBe(first?.bodyHash)
    expect(other?.requestId).toBe(first?.requestId)
    expect(other?.bodyHash).not.toBe(first?.bodyHash)
    expect(new Set([first, ...unnamed].map((input) => input?.requestId)).size).toBe(3)
    expect(new Set(queue.asked.map(({ id }) => id)).size).toBe(5)
  })

  test.each<[string, JobState, number, string]>([
    ['a refusal as one', done({ status: 'refused', reason: 'not so' }), 400, 'Param error: not so'],
    ['that nothing was made', done({ status: 'unavailable' }), 503, 'Service not ready: validators cannot be created'],
    ['that nobody does it', { status: 'waiting' }, 503, 'Service not ready: validators cannot be created'],
    ['that it failed', { status: 'failed', reason: 'secret' }, 503, 'Service not ready: validators cannot be created'],
  ])('tells %s', async (_, state, status, msg) => {
    queue.outcome = state
    const answer = await create(good)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ code: String(status), data: null })
    expect(answer.body.msg.startsWith(msg)).toBe(true)
    expect(answer.body.msg).not.toContain('secret')
  })

  const KEY = 'Idempotency-Key is 1 to 255 printable characters without blanks'
  test.each(WRONG_CREATIONS)('refuses %j and asks for nothing', async (body, detail) => {
    expect(await create(body)).toEqual({
      status: 400,
      body: { code: '400', msg: `Param error: ${detail}`, data: null },
    })
    expect(queue.asked).toEqual([])
  })

  test.each(['gzip', 'GZIP', 'br'])('refuses a body that is compressed, and says so: %s', async (coding) => {
    const body = gzipSync(JSON.stringify(good))
    expect(await create(body, { headers: { 'content-encoding': coding } })).toEqual({
      status: 400,
      body: { code: '400', msg: 'Param error: the body is compressed: send it without Content-Encoding', data: null },
    })
    expect(queue.asked).toEqual([])
  })

  test('takes a body whose coding is none', async () => {
    expect((await create(good, { headers: { 'content-encoding': 'identity' } })).status).not.toBe(400)
  })

  test.each([
    ['with a blank', 'a b'],
    ['too long', 'k'.repeat(KEY_CHARACTERS_MAX + 1)],
    ['not ASCII', 'schl\u00fcssel'],
    ['empty', ''],
  ])('refuses an Idempotency-Key that is %s', async (_, key) => {
    expect(await create(good, { headers: { 'idempotency-key': key } })).toEqual({
      status: 400,
      body: { code: '400', msg: `Param error: ${KEY}`, data: null },
    })
    expect(queue.asked).toEqual([])
  })

  test.each([
    ['a token that is none', { token: 'nope' }, 401, 'Authentication failed'],
    [
      'a token that only reads',
      { token: READS },
      401,
      'Authentication failed: the token does not have the scope create',
    ],
    ['a chain without validators', { chain: 'scroll/mainnet' }, 404, 'Path Not Found: the chain has no validators'],
    ['a chain that is none', { chain: 'ethereum/nonesuch' }, 404, 'Path Not Found'],
  ])('is not there for %s', async (_, where, status, msg) => {
    expect(await create(good, where)).toEqual({ status, body: { code: String(status), msg, data: null } })
    expect(queue.asked).toEqual([])
  })
})
