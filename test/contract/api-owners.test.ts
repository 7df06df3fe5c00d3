import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashToken } from '../../schemas/events/accounts.ts'
import {
  type ApiFixture,
  hashOf,
  insertOwners,
  insertRows,
  moveTables,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

// Validator 11 was moved from `demo` to `buyer` on 2026-11-19, 12 is nobody's since that day, and `auditor` watches 10 and 11.

let fixture: ApiFixture

beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  await insertOwners(warehouse, [
    { account: 'buyer', pubkey: pubkeyOf(11), from: '2026-11-19' },
    { account: '', pubkey: pubkeyOf(12), from: '2026-11-19' },
    { account: 'buyer', pubkey: pubkeyOf(10), from: '2026-12-01' }, // not yet
  ])
  await insertRows(
    warehouse,
    'watched_validators',
    [10, 11].map((index) => ({ account: 'auditor', pubkey: pubkeyOf(index), version: 1, is_deleted: 0 })),
  )
  await insertRows(
    warehouse,
    'access_tokens',
    ['buyer', 'auditor'].map((account) => ({ token_hash: hashToken(account), account, version: 9, is_deleted: 0 })),
  )
})
afterAll(() => fixture[Symbol.asyncDispose]())

const base = (token: string) => `${fixture.api.url}/ethereum/mainnet/${token}`

async function ask(token: string, path: string, body?: object) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return (await (await fetch(`${base(token)}${path}`, init)).json()).data
}

const ALL_DAYS = '/api/v1/validator/daily-rewards?start_date=2026-11-18&end_date=2026-11-20'
const days = async (token: string) =>
  (await ask(token, ALL_DAYS)).reward.map((day: { date: string; cl_reward: string }) => [day.date, day.cl_reward])
const totals = (token: string) => ask(token, '/api/v1/validator/total-rewards')
const detailed = async (token: string) =>
  (await ask(token, '/api/v1/validator/details', {})).map(({ pubkey }: { pubkey: string }) => pubkey)

describe('a validator counts for an account inside its days only', () => {
  test('in the sums of days', async () => {
    expect(await days(TOKEN)).toEqual([
      ['2026-11-18', '0.000000049'], // 100 - 50 - 1
      ['2026-11-19', '-0.000002'], // neither 11 nor 12
    ])
    expect(await days('buyer')).toEqual([['2026-11-19', '0.0000005']])
  })

  test('in the totals, which keep what a former validator has earned, and count only those that the account has', async () => {
    const clOf = ({
      validator_details: items,
    }: {
      validator_details: { validator_index: number; cl_total_reward: string }[]
    }) => Object.fromEntries(items.map((item) => [item.validator_index, item.cl_total_reward]))
    const demo = await totals(TOKEN)
    expect(clOf(demo)).toMatchObject({ 11: '-0.00000005', 12: '-0.000000001' })
    expect(demo).toMatchObject({
      validators_active_count: 1,
      validators_total_count: 1, // 10: of 13, which the registry does not know, there is no deposit
      validators_total_cl_balance: '32.00000001',
    })
    const buyer = await totals('buyer')
    expect(clOf(buyer)).toEqual({ 11: '0.00000047' }) // 500 of the closed day, two epochs of -15 of the open one
    expect(buyer).toMatchObject({ validators_total_count: 1, validators_total_cl_balance: '32.000000011' })
  })

  test('in the details, which are of those that the account has', async () => {
    expect(await detailed(TOKEN)).toEqual([pubkeyOf(10)])
    expect(await detailed('buyer')).toEqual([pubkeyOf(11)])
  })

  test('in GraphQL, where a former validator keeps its days', async () => {
    const query = `{ days(from: "2026-11-18", to: "2026-11-20") { date validatorsCount validatorsMissingCount }
      validators { totalCount nodes { index days(from: "2026-11-18", to: "2026-11-20") { date } } } }`
    const nodes = (...of: readonly [number, ...string[]][]) =>
      of.map(([index, ...dates]) => ({ index, days: dates.map((date) => ({ date })) }))
    expect(await ask(TOKEN, '/graphql', { query })).toEqual({
      days: [
        { date: '2026-11-18', validatorsCount: 3, validatorsMissingCount: 0 },
        { date: '2026-11-19', validatorsCount: 1, validatorsMissingCount: 0 },
      ],
      validators: {
        totalCount: 3,
        nodes: nodes([10, '2026-11-18', '2026-11-19'], [11, '2026-11-18'], [12, '2026-11-18']),
      },
    })
    expect(await ask('buyer', '/graphql', { query })).toEqual({
      days: [{ date: '2026-11-19', validatorsCount: 1, validatorsMissingCount: 0 }],
      validators: { totalCount: 1, nodes: nodes([11, '2026-11-19']) },
    })
  })
})

describe('what an account asks of a validator', () => {
  const ASKED = ['broadcast', 'exit_requested', 'exit_submitted']
  const QUERY = '{ validators { nodes { index isNeedExit isPostExit history { step } } } }'
  const asked = async (token: string) => {
    const { nodes } = (await ask(token, '/graphql', { query: QUERY })).validators
    return new Map(
      nodes.map((node: { index: number; isNeedExit: boolean; isPostExit: boolean; history: { step: string }[] }) => [
        node.index,
        {
          flags: [node.isNeedExit, node.isPostExit],
          steps: node.history.map(({ step }) => step).filter((step) => ASKED.includes(step)),
        },
      ]),
    )
  }
  let version = 100
  const insertStep = (index: number, step: string) =>
    insertRows(fixture.warehouse, 'exit_steps', [
      { pubkey: pubkeyOf(index), step, time: '2026-11-20 00:00:00', epoch: 0, reason: '', version: ++version },
    ])
  const nothing = { flags: [false, false], steps: [] }

  test('is no business of the account that had it before', async () => {
    for (const index of [10, 11]) {
      const transaction = {
        transaction_hash: hashOf(1),
        step: 'broadcast',
        time: '2026-11-19 23:00:00',
        block_number: 0,
      }
      await insertRows(fixture.warehouse, 'staking_steps', [
        { ...transaction, pubkey: pubkeyOf(index), version: ++version },
      ])
      await insertStep(index, 'requested')
    }
    await moveTables(fixture.warehouse)
    const scheduled = { flags: [true, false], steps: ['broadcast', 'exit_requested'] }
    expect((await asked('buyer')).get(11)).toEqual(scheduled)
    expect((await asked('auditor')).get(11)).toEqual(scheduled)
    expect((await asked(TOKEN)).get(10)).toEqual(scheduled)
    expect((await asked(TOKEN)).get(11)).toEqual(nothing)
    await insertStep(11, 'submitted')
    await moveTables(fixture.warehouse)
    const submitted = { flags: [false, true], steps: ['broadcast', 'exit_requested', 'exit_submitted'] }
    expect((await asked('buyer')).get(11)).toEqual(submitted)
    expect((await asked(TOKEN)).get(11)).toEqual(nothing)
  })
})

test('a watcher sees all days of a validator, whosever it is, and no settlements', async () => {
  expect(await days('auditor')).toEqual([
    ['2026-11-18', '0.00000005'],
    ['2026-11-19', '-0.0000015'],
  ])
  expect(await totals('auditor')).toMatchObject({
    validators_total_count: 2,
    validators_total_cl_balance: '64.000000021',
  })
  expect(await detailed('auditor')).toEqual([pubkeyOf(11), pubkeyOf(10)])
  const settled = await ask('auditor', '/api/v1/cloud/validator/el/settle/rewards')
  expect(settled).toEqual({ rewards: [], sum_reward: '0', sum_service_fee: '0' })
})

describe('a correction', () => {
  const SETTLED = '/api/v1/cloud/validator/el/settle/rewards'

  test('is a record of its own among the settled ones, with signed amounts that the sums count', async () => {
    const before = await ask(TOKEN, SETTLED)
    const correction = { account: 'demo', validator_index: 12, pubkey: pubkeyOf(12), reason: '=x', version: 1 }
    await insertRows(fixture.warehouse, 'settlement_corrections', [
      {
        ...correction,
        number: 7,
        time: '2026-11-20 03:30:00',
        user_reward_wei: -1_500_000_000_000_000n,
        service_fee_wei: 500_000_000_000_000n,
      },
      { ...correction, number: 6, time: '2026-10-01 00:00:00', user_reward_wei: 1n, service_fee_wei: 0n }, // before the window
    ])
    const after = await ask(TOKEN, SETTLED)
    expect(after.rewards).toEqual([
      {
        id: 4_503_599_627_370_503,
        kind: 'correction',
        pubkey: pubkeyOf(12),
        validator_index: 12,
        fee_address: `0x${'0'.repeat(40)}`,
        el_reward: '-0.001',
        fee_rate: '0',
        user_reward: '-0.0015',
        service_fee: '0.0005',
        reward_time: '2026-11-20 11:30:00',
        block_number: 0,
        reason: '=x',
      },
      ...before.rewards,
    ])
    expect(before.rewards.map(({ reason }: { reason: unknown }) => reason)).toEqual(before.rewards.map(() => null))
    expect(Number(after.sum_reward) - Number(before.sum_reward)).toBeCloseTo(-0.0015, 12)
    expect(Number(after.sum_service_fee) - Number(before.sum_service_fee)).toBeCloseTo(0.0005, 12)
    await insertRows(fixture.warehouse, 'settlement_corrections', [
      {
        ...{ ...correction, number: 8, time: '2026-11-20 03:31:00', user_reward_wei: 3n, service_fee_wei: 1n },
        ...{ reason: 'more is known of it', is_of_block: 1, slot: 14_300, block_number: 14_299 },
      },
    ])
    const again = await ask(TOKEN, SETTLED)
    expect(again.rewards.slice(1)).toEqual(after.rewards)
    expect(again.rewards[0]).toMatchObject({
      kind: 'correction',
      block_number: 14_299,
      el_reward: '0.000000000000000004',
    })
    const query = '{ settlements(kind: CORRECTION) { nodes { blockNumber reason } } }'
    const told = await fetch(`${fixture.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
    expect(await told.json()).toMatchObject({
      data: {
        settlements: {
          nodes: [
            { blockNumber: 14_299, reason: 'more is known of it' },
            { blockNumber: null, reason: '=x' },
          ],
        },
      },
    })
    const filtered = async (index: number) => (await ask(TOKEN, `${SETTLED}?validator_indexes=${index}`)).rewards.length
    expect(await filtered(12)).toBe(3)
    expect(await filtered(10)).toBe(1)
    const lines = async (accept: string) =>
      (await (await fetch(`${fixture.base}${SETTLED}`, { headers: { accept } })).text()).split('\r\n')
    const [header, , second, block] = await lines('text/csv')
    expect(header).toMatch(/,block_number,reason$/)
    expect(second).toMatch(/,0,'=x$/)
    expect(block).toMatch(/^\d+,block,.*,\d+,$/)
    expect((await lines('text/csv; profile=koinly'))[2]).toMatch(
      /,-0\.0015,ETH,cost,Correction 4503599627370503 of validator 12: =x$/,
    )
    const { statement } = await ask(TOKEN, '/api/v1/validator/statement?month=2026-11')
    expect(JSON.parse(statement).settlements).toMatchObject(again.rewards.toReversed())
  })
})
