import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { readWithheld, warnOfWithheld } from '../../commands/withheld-status.ts'
import { unprovenDays } from '../../processors/rewards/unproven-days.ts'
import { addressOf, hashOf, insertRows, moveTables, openApiFixture, pubkeyOf, TOKEN } from './api-fixture.ts'

// Validator 11 earned 500 gwei on 2026-11-19; here its balance of that day changed by what nothing explains.

const DAILY = '/api/v1/validator/daily-rewards?start_date=2026-11-19&end_date=2026-11-20'
const TOTAL = '/api/v1/validator/total-rewards'
const LACKS = { start_date: '2026-11-19', end_date: '2026-11-20', validators_missing: 1 }

let fixture: Awaited<ReturnType<typeof openApiFixture>>
/** Of an operator who wants such days served. */
let serving: Api

beforeAll(async () => {
  fixture = await openApiFixture()
  serving = await openApi({ ...fixture.parts, servesUnproven: true, host: '127.0.0.1', port: 0 })
  const figures = { cl_reward_gwei: 900_000n, el_reward_wei: 5n, residual_gwei: 899_500n, level: 'unexplained' }
  await insertRows(fixture.warehouse, 'daily_rewards', [
    { day: '2026-11-19', validator_index: 11, ...figures, version: 60 },
  ])
  const closed = { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 4, validators_unexplained: 1 }
  await insertRows(fixture.warehouse, 'closed_days', [{ ...closed, version: 60 }])
  // The one of 11's block on the open day, which was reverted.
  const block = {
    block_hash: hashOf(14_402),
    block_number: 14_402,
    time: '2026-11-20 00:02:00',
    coinbase: addressOf(1),
  }
  await insertRows(fixture.warehouse, 'execution_blocks', [{ ...block, version: 60, is_deleted: 0 }])
})

afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

async function get(api: Api, path: string) {
  return (await fetch(`${api.url}/ethereum/mainnet/${TOKEN}${path}`)).json()
}

async function graphql(query: string) {
  const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  return (await response.json()).data
}

test('a day that is not explained is left out of the figures, and counted as missing', async () => {
  const { data, completeness } = await get(fixture.api, DAILY)
  // Of 10 and 12; nobody has earned anything.
  expect(data.reward).toEqual([
    {
      ...{ date: '2026-11-19', el_reward: '0', cl_reward: '-0.000002', total_reward: '-0.000002' },
      validators_active_count: 0,
    },
  ])
  expect(completeness).toMatchObject({ state: 'incomplete', incomplete: [LACKS] })
})

test('an operator may have it served, with how many validators that are; totals leave it out all the same', async () => {
  const { data, completeness } = await get(serving, DAILY)
  expect(data.reward).toEqual([
    {
      ...{ date: '2026-11-19', el_reward: '0.000000000000000005', cl_reward: '0.000898' },
      ...{ total_reward: '0.000898000000000005', validators_active_count: 1, validators_unproven_count: 1 },
    },
  ])
  expect(completeness.incomplete).toEqual([])
  const totals = await get(serving, TOTAL)
  // -50 on the 18th, and -15 in each of two epochs of the open day.
  expect(totals.data.validator_details[1].cl_total_reward).toBe('-0.00000008')
  expect(totals.completeness).toMatchObject({ state: 'incomplete', incomplete: [LACKS] })
})

test('the days of the validator itself say how far each is proven, and by an offset leave it out all the same', async () => {
  const ofOne = `/api/v1/validator/rewards?pubkey=${pubkeyOf(11)}&start_date=2026-11-18&end_date=2026-11-20`
  const levels = async (api: Api, path: string) =>
    (await get(api, path)).data.rewards.map((day: Record<string, string>) => [day.date, day.residual, day.level])
  const proven = ['2026-11-18', '0', 'consistent']
  expect(await levels(fixture.api, ofOne)).toEqual([proven])
  expect(await levels(serving, ofOne)).toEqual([proven, ['2026-11-19', '0.0008995', 'unexplained']])
  expect(await levels(serving, `${ofOne}&utc_offset=%2B05:45`)).toEqual([])
  const response = await fetch(`${serving.url}/ethereum/mainnet/${TOKEN}${ofOne}`, { headers: { accept: 'text/csv' } })
  const [header = '', ...lines] = (await response.text()).trim().split('\r\n')
  const at = header.split(',').indexOf('level')
  expect(lines.map((line) => line.split(',')[at])).toEqual(['consistent', 'unexplained'])
})

test('GraphQL shows it, and what it is worth', async () => {
  const { days, validators } = await graphql(`{
    days(from: "2026-11-19", to: "2026-11-20") { validatorsCount validatorsMissingCount validatorsUnprovenCount }
    validators { nodes { index days(from: "2026-11-19", to: "2026-11-20") {
      consensusReward { gwei } residual { gwei } level isProven completeness { state }
    } } }
  }`)
  expect(days).toEqual([{ validatorsCount: 2, validatorsMissingCount: 1, validatorsUnprovenCount: 1 }])
  expect(validators.nodes.slice(0, 2)).toEqual([
    {
      index: 10,
      days: [
        {
          ...{ consensusReward: { gwei: '-2000' }, residual: { gwei: '0' }, level: 'CONSISTENT', isProven: true },
          completeness: { state: 'COMPLETE' },
        },
      ],
    },
    {
      index: 11,
      days: [
        {
          ...{ consensusReward: { gwei: '900000' }, residual: { gwei: '899500' } },
          ...{ level: 'UNEXPLAINED', isProven: false },
          completeness: { state: 'INCOMPLETE' },
        },
      ],
    },
  ])
})

test('an epoch that is not explained leaves its day out of totals before it is closed, until it is told otherwise', async () => {
  const totalsOf10 = async () => {
    const { data, completeness } = await get(fixture.api, TOTAL)
    const { cl_total_reward: cl, el_total_reward: el } = data.validator_details[0]
    return { cl, el, lacks: completeness.incomplete }
  }
  // 100 and -2000 on closed days; on the open one 6 in each of two epochs, 70 in the committee, 90 for a block.
  expect(await totalsOf10()).toMatchObject({ cl: '-0.000001728', lacks: [LACKS] })
  const tell = async (version: number, level: string) => {
    await insertRows(fixture.warehouse, 'epoch_proofs', [{ epoch: 451, level, version }])
    await insertRows(fixture.warehouse, 'epochs', [
      { epoch: 451, first_slot: 451 * 32, last_slot: 451 * 32 + 31, blocks: 32, version },
    ])
  }
  await insertRows(fixture.warehouse, 'epoch_residuals', [
    { epoch: 451, validator_index: 10, residual_gwei: 1, version: 70 },
  ])
  await tell(70, 'anchored')
  expect(await totalsOf10()).toEqual({
    ...{ cl: '-0.0000019', el: '0.005' },
    lacks: [{ ...LACKS, end_date: '2026-11-21' }],
  })
  await tell(71, 'anchored')
  expect(await totalsOf10()).toMatchObject({ cl: '-0.000001728', lacks: [LACKS] })
  // Of a state that no block names nothing is counted, of whichever validator; then it is told by one that is named.
  await tell(72, 'consistent')
  const { cl, lacks } = await totalsOf10()
  expect({ cl, lacks }).toEqual({
    cl: '-0.0000019',
    lacks: [LACKS, { start_date: '2026-11-20', end_date: '2026-11-21', validators_missing: 3 }],
  })
  await tell(73, 'agreed')
  expect(await totalsOf10()).toMatchObject({ cl: '-0.000001728', lacks: [LACKS] })
})

test('counts are told to who watches the program, and nothing else of them', async () => {
  const unproven = [
    { chain: 'mainnet', level: 'rounding', validatorDays: 2 },
    { chain: 'mainnet', level: 'unexplained', validatorDays: 1 },
  ] as const
  const differing = { what: 'state root', client: 'Nimbus/v25.9.2', times: 3 } as const
  const nodeDifferences = () => [{ chain: 'mainnet', node: 'beacon node 2', ...differing }]
  const options = { unprovenDays: async () => unproven, nodeDifferences, host: '127.0.0.1', port: 0 }
  await using api = await openApi({ ...fixture.parts, ...options })
  const response = await fetch(`${api.url}/metrics`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = (await response.text()).split('\n').filter((line) => !line.startsWith('#'))
  expect(lines).toEqual([
    'epochline_unproven_validator_days{chain="mainnet",level="rounding"} 2',
    'epochline_unproven_validator_days{chain="mainnet",level="unexplained"} 1',
    'epochline_node_differences_total{chain="mainnet",node="beacon node 2",client="Nimbus/v25.9.2",what="state root"} 3',
    '',
  ])
  expect(await unprovenDays(fixture.warehouse)).toEqual(
    expect.arrayContaining([
      { chain: 'mainnet', level: 'rounding', validatorDays: 0 },
      { chain: 'mainnet', level: 'unexplained', validatorDays: 1 },
      { chain: 'mainnet', level: 'unanchored', validatorDays: 0 },
    ]),
  )
})

test('an operator who asks for the status is told which days are withheld, and of how many validators', async () => {
  const withheld = await readWithheld(fixture.warehouse)
  expect([...withheld]).toEqual([['mainnet', [{ day: '2026-11-19', validators: 4, unexplained: 1, unanchored: 0 }]]])
})

test('the log is warned of days that are withheld: how many of each chain, and which commands show and mend them', async () => {
  const told: unknown[] = []
  await warnOfWithheld(fixture.warehouse, { warn: (fields, message) => void told.push([fields, message]) })
  expect(told).toEqual([
    [
      { chain: 'mainnet', days: 1 },
      'mainnet: 1 day is withheld from figures: 2026-11-19 1 unexplained of 4 validators: gaps --repair reads anew what a node can ' +
        'prove, verify names what is left; `epochline status` shows them',
    ],
  ])
})

test('GraphQL says of an epoch how it was computed, and nothing of one that a node told', async () => {
  const change = (epoch: number, level: string) => [{ epoch, level, version: 80 }]
  await insertRows(fixture.warehouse, 'epoch_proofs', change(449, 'anchored'))
  await insertRows(fixture.warehouse, 'epoch_residuals', [
    { epoch: 449, validator_index: 11, residual_gwei: -1, version: 80 },
  ])
  const query = `{ validators { nodes { days(from: "2026-11-19", to: "2026-11-20") {
    epochs { epoch level isProven residual { gwei } }
  } } } }`
  const epochOf10 = async () => (await graphql(query)).validators.nodes[0].days[0].epochs
  expect(await epochOf10()).toEqual([{ epoch: 449, level: 'ANCHORED', isProven: true, residual: { gwei: '0' } }])
  await insertRows(fixture.warehouse, 'epoch_residuals', [
    { epoch: 449, validator_index: 10, residual_gwei: -1, version: 80 },
  ])
  await insertRows(fixture.warehouse, 'closed_days', [
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 4, validators_unexplained: 1, version: 81 },
  ])
  expect(await epochOf10()).toEqual([{ epoch: 449, level: 'UNEXPLAINED', isProven: false, residual: { gwei: '-1' } }])
  // What no block names is not proven, whatever it explains.
  await insertRows(fixture.warehouse, 'epoch_proofs', [{ epoch: 449, level: 'consistent', version: 82 }])
  await moveTables(fixture.warehouse)
  expect(await epochOf10()).toMatchObject([{ level: 'UNANCHORED', isProven: false, residual: { gwei: '0' } }])
  await insertRows(fixture.warehouse, 'epoch_proofs', [{ epoch: 449, level: 'reported', version: 83 }])
  await insertRows(fixture.warehouse, 'closed_days', [
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 4, validators_unexplained: 1, version: 83 },
  ])
  expect(await epochOf10()).toEqual([{ epoch: 449, level: null, isProven: null, residual: null }])
})

test('blocks of which nothing proves what they paid are counted beside the figures that they are not in', async () => {
  const proven = { cl_reward_gwei: 7n, el_reward_wei: 0n, source_gwei: 7n }
  await insertRows(fixture.warehouse, 'daily_rewards', [
    { day: '2026-11-18', validator_index: 20, ...proven, blocks: 3, blocks_unexplained: 2, version: 90 },
    { day: '2026-11-19', validator_index: 20, ...proven, blocks: 1, blocks_unexplained: 0, version: 90 },
  ])
  const closed = { validators: 4, validators_unexplained: 0, version: 90 }
  await insertRows(fixture.warehouse, 'closed_days', [
    { day: '2026-11-18', first_slot: 0, last_slot: 7183, ...closed },
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, ...closed },
  ])
  const ask = async (path: string, accept = 'application/json') => {
    const url = `${fixture.api.url}/ethereum/mainnet/token-of-other/api/v1/validator/${path}`
    return await fetch(url, { headers: { accept } })
  }
  const days = 'start_date=2026-11-18&end_date=2026-11-20'
  const { data } = await (await ask(`daily-rewards?${days}`)).json()
  const counts = data.reward.map((day: object) => ('blocks_unproven_count' in day ? day.blocks_unproven_count : 0))
  expect(counts).toEqual([2, 0])
  const [header = '', ...lines] = (await (await ask(`daily-rewards?${days}`, 'text/csv')).text()).trim().split('\r\n')
  expect(lines.map((line) => line.split(',')[header.split(',').indexOf('blocks_unproven_count')])).toEqual(['2', '0'])
  const own = await (await ask(`rewards?pubkey=${pubkeyOf(20)}&${days}`)).json()
  const { rewards } = own.data as { rewards: { blocks: number; blocks_unproven: number }[] }
  expect(rewards.map(({ blocks, blocks_unproven }) => [blocks, blocks_unproven])).toEqual([
    [3, 2],
    [1, 0],
  ])
})
