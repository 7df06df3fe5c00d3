import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { checksumAddress } from '../../schemas/eth/address.ts'
import {
  type ApiFixture,
  addressOf,
  HOODI,
  MAINNET,
  OPERATIONS,
  openApiFixture,
  pubkeyOf,
  SCROLL,
  TOKEN,
} from './api-fixture.ts'

const DAILY = '/api/v1/validator/daily-rewards'
const TOTAL = '/api/v1/validator/total-rewards'
const SETTLED = '/api/v1/cloud/validator/el/settle/rewards'
const DETAILS = '/api/v1/validator/details'

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
})
beforeEach(() => {
  fixture.chains = [MAINNET, HOODI, SCROLL]
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared as a whole.
  readonly body: any
}

async function ask(chain: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${fixture.api.url}/${chain}/${TOKEN}${path}`, init)
  return { status: response.status, body: await response.json() }
}

async function query(chain: string, text: string): Promise<Answer['body']> {
  const { body } = await ask(chain, '/graphql', { method: 'POST', body: JSON.stringify({ query: text }) })
  expect(body.errors).toBeUndefined()
  return body.data
}

test('answers the days of the chain in the path', async () => {
  const path = `${DAILY}?start_date=2026-11-17`
  expect((await ask('ethereum/hoodi', path)).body.data.reward).toEqual([
    {
      date: '2026-11-18',
      el_reward: '0.000000000000000002',
      cl_reward: '0.000007001',
      total_reward: '0.000007001000000002',
      validators_active_count: 2,
    },
  ])
  const mainnet = (await ask('ethereum/mainnet', path)).body.data.reward
  expect(mainnet.map((item: { date: string; cl_reward: string }) => [item.date, item.cl_reward])).toEqual([
    ['2026-11-18', '0.000000049'],
    ['2026-11-19', '-0.0000015'],
  ])
})

test('totals the complete epochs of the chain in the path, and nothing of the gap between them', async () => {
  const { data } = (await ask('ethereum/hoodi', TOTAL)).body
  expect(data).toEqual({
    validator_details: [
      {
        validator_index: 10,
        pubkey: pubkeyOf(10),
        // 7000 closed, four complete epochs of 6; the execution block of its proposal is mainnet's
        cl_total_reward: '0.000007024',
        el_total_reward: '0',
        total_reward: '0.000007024',
        cl_balance: '33',
        effective_balance: '32',
        status: 'active_exiting',
      },
      {
        validator_index: 30,
        pubkey: pubkeyOf(30),
        cl_total_reward: '0.000004021',
        el_total_reward: '0.000000000000000002',
        total_reward: '0.000004021000000002',
        cl_balance: '32.00000003',
        effective_balance: '32',
        status: 'active_ongoing',
      },
    ],
    validators_active_count: 2,
    // of the third nobody has seen a deposit
    validators_total_count: 2,
    validators_total_rewards: '0.000011045000000002',
    validators_total_cl_balance: '65.00000003',
  })
})

test('answers settlements and details of the chain in the path', async () => {
  const settled = (await ask('ethereum/hoodi', SETTLED)).body
  expect(settled.data).toMatchObject({ rewards: [{ id: 600 }], sum_reward: '0.000000000000000005' })
  expect(settled.pagination.total).toBe(1)
  const { body } = await ask('ethereum/hoodi', DETAILS, { method: 'POST' })
  expect(body.data.map((item: { pubkey: string }) => item.pubkey)).toEqual([30, 10].map(pubkeyOf))
  expect(body.data[1]).toMatchObject({
    network: 'hoodi',
    withdrawal_address: checksumAddress(addressOf(99)),
    fee_recipient_address: checksumAddress(addressOf(77)),
    status_estimates: { estimated_active_at: '2026-11-17T16:05:36.000Z' },
  })
})

test('answers GraphQL of the chain in the path, without rewards that are not known', async () => {
  const text = `{ newestEpoch validators(first: 1) { totalCount nodes { index days(from: "2026-11-17", to: "2026-11-19") {
    date consensusReward { gwei } blocks { slot attestations { gwei } syncAggregate { gwei } revenue { wei } }
  } } } }`
  expect(await query('ethereum/hoodi', text)).toEqual({
    newestEpoch: 3595,
    validators: {
      totalCount: 2,
      nodes: [
        {
          index: 10,
          days: [
            {
              date: '2026-11-18',
              consensusReward: { gwei: '7000' },
              blocks: [
                { slot: 14_000, attestations: null, syncAggregate: null, revenue: null },
                { slot: 14_001, attestations: { gwei: '4' }, syncAggregate: { gwei: '0' }, revenue: null },
              ],
            },
          ],
        },
      ],
    },
  })
  expect(await query('ethereum/mainnet', text)).toEqual({
    newestEpoch: 451,
    validators: {
      totalCount: 3,
      nodes: [{ index: 10, days: [{ date: '2026-11-18', consensusReward: { gwei: '100' }, blocks: [] }] }],
    },
  })
})

test('answers of a chain as soon as it is added, and no longer when it is removed', async () => {
  fixture.chains = [MAINNET]
  expect((await ask('ethereum/hoodi', DAILY)).status).toBe(404)
  fixture.chains = [MAINNET, HOODI]
  expect((await ask('ethereum/hoodi', DAILY)).status).toBe(200)
  fixture.chains = [HOODI]
  expect(await ask('ethereum/mainnet', DAILY)).toEqual({
    status: 404,
    body: { code: '404', msg: 'Path Not Found', data: null },
  })
  expect((await ask('ethereum/hoodi', TOTAL)).status).toBe(200)
})

const NO_VALIDATORS = { code: '404', msg: 'Path Not Found: the chain has no validators', data: null }

test('has no paths of validators on a chain that has none, whoever asks', async () => {
  const before = fixture.statements.length
  const calls = OPERATIONS.flatMap(({ route }) => route.paths.map((path) => ({ path, method: route.method })))
  for (const { path, method } of calls) {
    const { status, body } = await ask('scroll/mainnet', path, { method })
    expect({ status, body }, path).toEqual({ status: 404, body: NO_VALIDATORS })
  }
  expect((await ask('scroll/hoodi', DAILY)).status).toBe(404)
  expect(fixture.statements.length).toBe(before)
})

test('logs the chain, and the path with the chain in it', async () => {
  await ask('ethereum/hoodi', DAILY)
  const line = fixture.logged().trim().split('\n').at(-1) ?? ''
  expect(JSON.parse(line)).toMatchObject({
    route: '/ethereum/hoodi/:token/api/v1/validator/daily-rewards',
    chain: 'hoodi',
    account: 'demo',
  })
})
