import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import type { JobState } from '../../infra/ports/job-queue.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { type LabelValidatorsInput, labelValidators } from '../../schemas/jobs/label-validators.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { type ApiFixture, insertRows, openApiFixture, pubkeyOf, TOKEN } from './api-fixture.ts'
import { AskedJobs } from './asked-jobs.ts'

const LABELS = 'a-token-that-labels'
const UNKNOWN = `0x${'0f'.repeat(48)}`

let fixture: ApiFixture
let api: Api
const queue = new AskedJobs<LabelValidatorsInput>()

beforeAll(async () => {
  fixture = await openApiFixture()
  const row = { token_hash: hashToken(LABELS), account: 'demo', version: 50, is_deleted: 0 }
  await insertRows(fixture.warehouse, 'access_tokens', [{ ...row, ...toTokenLimitsRow({ scopes: ['create'] }) }])
  api = await openApi({ ...fixture.parts, jobs: queue.jobs, host: '127.0.0.1', port: 0 })
})
beforeEach(() => {
  queue.begin({ status: 'completed', output: { status: 'labelled' } })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

async function post(path: string, body: unknown, token = LABELS) {
  const url = `${api.url}/ethereum/mainnet/${token}${path}`
  const response = await fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared as a whole.
  return { status: response.status, body: (await response.json()) as any }
}
const label = (labels: unknown, token?: string) => post('/api/v1/validator/labels', { labels }, token)

describe('labelling validators', () => {
  test('hands on whose keys the tables know, each once, in one spelling', async () => {
    const mine = pubkeyOf(10)
    const unregistered = pubkeyOf(13)
    const answer = await label([
      { pubkey: mine.toUpperCase().replace('0X', '0x'), label: 'a' },
      { pubkey: mine.slice(2), label: 'a' },
      { pubkey: unregistered, label: '' },
      { pubkey: UNKNOWN, label: 'ü'.repeat(64) },
    ])
    expect(answer).toEqual({ status: 200, body: { code: '200', msg: 'Success', data: { labelled: 3 } } })
    expect(queue.asked.map(({ name }) => name)).toEqual([labelValidators.name])
    expect(labelValidators.parse(queue.asked[0]?.input)).toMatchObject({
      chain: 'mainnet',
      account: 'demo',
      labels: [
        { pubkey: mine, label: 'a', isSeen: true },
        { pubkey: unregistered, label: '', isSeen: true },
        { pubkey: UNKNOWN, label: 'ü'.repeat(64), isSeen: false },
      ],
    })
  })

  test('another account’s key is as unknown as nobody’s', async () => {
    await label([{ pubkey: pubkeyOf(20), label: 'a' }])
    expect(queue.asked[0]?.input.labels).toEqual([{ pubkey: pubkeyOf(20), label: 'a', isSeen: false }])
    queue.outcome = { status: 'completed', output: { status: 'foreign', pubkey: pubkeyOf(20) } }
    expect(await label([{ pubkey: pubkeyOf(20), label: 'a' }])).toEqual({
      status: 400,
      body: { code: '400', msg: `Param error: ${pubkeyOf(20)} is no validator of the account`, data: null },
    })
  })

  test.each<[string, JobState]>([
    ['nobody does it', { status: 'waiting' }],
    ['it came too late', { status: 'completed', output: { status: 'late' } }],
    ['it failed', { status: 'failed', reason: 'secret' }],
  ])('is not ready where %s', async (_, state) => {
    queue.outcome = state
    const answer = await label([{ pubkey: pubkeyOf(10), label: 'a' }])
    expect(answer.status).toBe(503)
    expect(answer.body.msg).toBe(
      'Service not ready: validators cannot be labelled at the moment; the request can be repeated',
    )
  })

  const one = { pubkey: pubkeyOf(10), label: 'a' }
  test.each<[string, unknown, RegExp]>([
    ['no labels', {}, /^labels is missing$/],
    ['an empty list', { labels: [] }, /^labels must not have fewer than 1 items$/],
    ['too many', { labels: Array.from({ length: 1_001 }, () => one) }, /^labels must not have more than 1000 items$/],
    ['no list', { labels: one }, /^labels must be array$/],
    ['no label', { labels: [{ pubkey: one.pubkey }] }, /^labels\/0 must have required properties label$/],
    ['no key', { labels: [{ label: 'a' }] }, /^labels\/0 must have required properties pubkey$/],
    ['a label that is a number', { labels: [{ ...one, label: 1 }] }, /^labels\/0\/label must be string$/],
    ['a label that is null', { labels: [{ ...one, label: null }] }, /^labels\/0\/label must be string$/],
    ['a long label', { labels: [{ ...one, label: 'a'.repeat(65) }] }, /^labels\/0\/label must match pattern /],
    ['a line break', { labels: [{ ...one, label: 'a\nb' }] }, /^labels\/0\/label must match pattern /],
    ['an escape', { labels: [{ ...one, label: 'a\u001b[2J' }] }, /^labels\/0\/label must match pattern /],
    ['an invisible letter', { labels: [{ ...one, label: 'a\u200bb' }] }, /^labels\/0\/label must match pattern /],
    ['a short key', { labels: [{ ...one, pubkey: '0xaa' }] }, /^labels\/0\/pubkey must match pattern /],
    ['a member too many', { labels: [{ ...one, color: 'red' }] }, /^labels\/0\/color is not understood$/],
    ['another member', { labels: [one], label: 'a' }, /^label is not understood: did you mean labels\?$/],
    ['two labels for a key', { labels: [one, { ...one, label: 'b' }] }, /^labels has two labels for 0xa+$/],
  ])('refuses %s and asks for nothing', async (_, body, detail) => {
    const answer = await post('/api/v1/validator/labels', body)
    expect(answer.status).toBe(400)
    expect(answer.body.msg.replace(/^Param error: /, '')).toMatch(detail)
    expect(queue.asked).toEqual([])
  })

  test('is not for a token that only reads', async () => {
    expect((await label([one], TOKEN)).status).toBe(401)
  })
})

test('labels are shown where validators are, and found by in GraphQL', async () => {
  const rows = [
    { account: 'demo', pubkey: pubkeyOf(10), label: 'Kassel', version: 1 },
    { account: 'demo', pubkey: pubkeyOf(11), label: 'Kassel', version: 1 },
    { account: 'other', pubkey: pubkeyOf(10), label: 'theirs', version: 9 },
    { account: 'other', pubkey: pubkeyOf(20), label: 'Kassel', version: 1 },
  ]
  await insertRows(fixture.warehouse, 'validator_labels', rows)
  await insertRows(fixture.warehouse, 'validator_labels', [
    { account: 'demo', pubkey: pubkeyOf(11), label: '', version: 2 },
  ])
  const details = await post('/api/v1/validator/details', {}, TOKEN)
  const shown = details.body.data.map((one: { pubkey: string; label: string }) => [one.pubkey, one.label])
  expect(shown).toEqual([
    [pubkeyOf(12), ''],
    [pubkeyOf(11), ''],
    [pubkeyOf(10), 'Kassel'],
  ])
  const query = (filter: string) =>
    post('/graphql', { query: `{ validators${filter} { totalCount nodes { index label } } }` }, TOKEN)
  const found = async (filter: string) => (await query(filter)).body.data.validators
  expect(await found('')).toEqual({
    totalCount: 3,
    nodes: [
      { index: 10, label: 'Kassel' },
      { index: 11, label: null },
      { index: 12, label: null },
    ],
  })
  expect(await found('(label: "Kassel")')).toEqual({ totalCount: 1, nodes: [{ index: 10, label: 'Kassel' }] })
  expect((await found('(label: "")')).nodes.map(({ index }: { index: number }) => index)).toEqual([11, 12])
  expect((await found('(label: "theirs")')).totalCount).toBe(0)
})
