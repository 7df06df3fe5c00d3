import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attestationDuties } from '../../api/rewards/attestation-duties.ts'
import { sumMonth } from '../../processors/rewards/months.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import {
  type ApiFixture,
  dailyRow,
  epochRow,
  insertOwners,
  insertRows,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

// Validators 10, 11 and 12 of the fixture's account on 18 and 19 November, and 10 all through September and October; 30 is the account's
// until 11 October and somebody else's from then on.

const EPOCHS = 225n
const ETH = 1_000_000_000n
const daysFrom = (first: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => new Date(Date.parse(first) + i * 86_400_000).toISOString().slice(0, 10))
const AUTUMN = daysFrom('2026-09-01', 61)

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  await insertOwners(warehouse, [
    { account: 'demo', pubkey: pubkeyOf(30) },
    { account: 'other', pubkey: pubkeyOf(30), from: '2026-10-11', version: 2 },
  ])
  const withdrawal_credentials = `0x01${'00'.repeat(11)}${'ab'.repeat(20)}`
  await insertRows(warehouse, 'validators', [
    { validator_index: 30, pubkey: pubkeyOf(30), withdrawal_credentials, version: 1 },
  ])
  const figures = (day: string, index: number, cl: bigint, effective: bigint, epochs = EPOCHS) => ({
    ...dailyRow(day, index, cl, index === 10 ? ETH : 0n),
    head_gwei: 1n,
    is_whole: 1,
    level: 'anchored',
    active_epochs: epochs,
    effective_balance_epochs_gwei: effective * ETH * epochs,
  })
  await insertRows(
    warehouse,
    'daily_rewards',
    AUTUMN.flatMap((day, i) => [figures(day, 10, 1_000n + BigInt(i), 32n), figures(day, 30, 7_000n, 2_048n)]),
  )
  await insertRows(
    warehouse,
    'closed_days',
    AUTUMN.map((day) => ({ day, first_slot: 0, last_slot: 31, validators: 2, validators_unexplained: 0, version: 2 })),
  )
  for (const month of ['2026-09-01', '2026-10-01']) await sumMonth(warehouse, 'mainnet', parseDay(month) ?? 0)
  await insertRows(warehouse, 'validator_labels', [
    { account: 'demo', pubkey: pubkeyOf(10), label: 'north', version: 1 },
    { account: 'demo', pubkey: pubkeyOf(11), label: 'north', version: 1 },
  ])
  // Epoch 450 for peers of 10 and 11: the best of them was credited 4 for its head; 13's balance was 31 ETH before it.
  await insertRows(warehouse, 'validator_epochs', [
    epochRow(450, '2026-11-20', 40, { head_gwei: 4 }),
    epochRow(449, '2026-11-19', 40),
    epochRow(450, '2026-11-20', 41, { head_gwei: 900 }),
    epochRow(449, '2026-11-19', 41, { effective_balance_gwei: 31n * ETH }),
  ])
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: results are compared as a whole.
async function ask(query: string): Promise<any> {
  const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  const { data, errors } = (await response.json()) as { data?: unknown; errors?: readonly { message: string }[] }
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('; '))
  return data
}

describe('periods', () => {
  test.each([
    ['months(from: "2026-12") { month }', 'Date can not be greater than today: from'],
    ['months(from: "2026-11", to: "2027-01") { month }', 'Date can not be greater than today: to'],
    ['proof(pubkey: "0xzz", date: "2026-11-19") { index }', 'Param error: pubkey is not a public key'],
  ])('%s is refused by the name of its argument', async (field, message) => {
    await expect(ask(`{ ${field} }`)).rejects.toThrow(message)
  })

  test('months are sums of the days on which the account had its validators', async () => {
    const { months } = await ask(
      '{ months(from: "2026-09", to: "2026-12") { month validatorsCount performance { validatorDaysCount consensusReward { gwei } components { head { gwei } } } } }',
    )
    // 1,000 to 1,029 and 1,030 to 1,060 of validator 10; 30 days and 10 days of validator 30.
    expect(months).toEqual([
      {
        month: '2026-09',
        validatorsCount: 2,
        performance: {
          validatorDaysCount: 60,
          consensusReward: { gwei: String(30_435 + 210_000) },
          components: { head: { gwei: '60' } },
        },
      },
      {
        month: '2026-10',
        validatorsCount: 2,
        performance: {
          validatorDaysCount: 41,
          consensusReward: { gwei: String(32_395 + 70_000) },
          components: { head: { gwei: '41' } },
        },
      },
      {
        month: '2026-11',
        validatorsCount: 3,
        performance: {
          validatorDaysCount: 6,
          consensusReward: { gwei: String(49 - 1_500) },
          components: { head: { gwei: '0' } },
        },
      },
    ])
  })

  test('any window is cut to the day, whatever is read by month', async () => {
    const { account } = await ask(
      '{ account { name performance(from: "2026-09-30", to: "2026-11-19") { validatorDaysCount consensusReward { gwei } executionReward { wei } } } }',
    )
    expect(account).toEqual({
      name: 'demo',
      performance: {
        validatorDaysCount: 1 + 1 + 31 + 10 + 3,
        consensusReward: { gwei: String(1_029 + 7_000 + 32_395 + 70_000 + 49) },
        executionReward: { wei: String(32n * ETH + 5_000_000_000_000_000n + 1_000_000_001n) },
      },
    })
  })

  test('labels have the performance of their validators', async () => {
    const { labels } = await ask(
      '{ labels { label validatorsCount performance(from: "2026-11-18", to: "2026-11-20") { consensusReward { gwei } } } }',
    )
    expect(labels).toEqual([
      {
        label: 'north',
        validatorsCount: 2,
        performance: { consensusReward: { gwei: String(100 - 50 - 2_000 + 500) } },
      },
      { label: null, validatorsCount: 2, performance: { consensusReward: { gwei: '-1' } } },
    ])
  })

  test('days of the account are the sums that REST has, with their components', async () => {
    const { days } = await ask(
      '{ days(from: "2026-11-18", to: "2026-11-20") { consensusReward { gwei } performance { consensusReward { gwei } components { source { gwei } } } } }',
    )
    for (const { consensusReward, performance } of days) {
      expect(performance.consensusReward).toEqual(consensusReward)
      expect(performance.components.source).toEqual(consensusReward)
    }
    expect(days).toHaveLength(2)
  })
})

describe('the rate of a year', () => {
  const APR =
    'performance(from: "2026-09-01", to: "2026-10-01") { apr consensusApr averageEffectiveBalance { eth } aprReason }'

  test('is reward by effective balance and time', async () => {
    const { validators } = await ask(`{ validators(pubkeys: ["${pubkeyOf(10)}"]) { nodes { ${APR} } } }`)
    // 30,435 gwei on 32 ETH for 30 days of 86,400 s, of a year of 31,557,600 s.
    const year = (30_435 / (32 * 1e9)) * (31_557_600 / (30 * 86_400))
    const { consensusApr, apr, ...rest } = validators.nodes[0].performance
    expect(Math.abs(Number(consensusApr) - year)).toBeLessThan(1e-8)
    expect(Number(apr)).toBeCloseTo(year + (30 / 32e9) * (31_557_600 / (30 * 86_400)), 7)
    expect(rest).toEqual({ averageEffectiveBalance: { eth: '32' }, aprReason: null })
  })

  test('is null where nothing was active, and says why', async () => {
    const { validators } = await ask(
      `{ validators(pubkeys: ["${pubkeyOf(12)}"]) { nodes {
          none: performance(from: "2026-09-01", to: "2026-10-01") { apr aprReason }
          idle: performance(from: "2026-11-18", to: "2026-11-20") { apr aprReason }
        } } }`,
    )
    expect(validators.nodes[0]).toEqual({
      none: { apr: null, aprReason: 'NO_DAYS' },
      idle: { apr: null, aprReason: 'NOT_ACTIVE' },
    })
  })
})

describe('what attestations could have brought', () => {
  test('is what others of the same effective balance before the transition were credited', async () => {
    const asked = { chain: 'mainnet', indices: [10, 11, 12, 41], firstEpoch: 450, lastEpoch: 450 }
    const duties = await attestationDuties(fixture.warehouse, asked)
    expect(duties.map(({ index, actualGwei, ideal }) => [index, actualGwei, ideal])).toEqual([
      [10, 6n, 7n],
      [11, -9n, 'BALANCE_NOT_KNOWN'],
      [12, 6n, 'NO_DUTY'],
      [41, 903n, 903n],
    ])
  })

  test('is null with the reason where the rows do not tell', async () => {
    const { validators } = await ask(
      `{ validators(pubkeys: ["${pubkeyOf(10)}"]) { nodes { days(from: "2026-11-19", to: "2026-11-20") {
          attestations { actual { gwei } ideal { gwei } reason }
          epochs { epoch attestations { actual { gwei } ideal { gwei } missed { gwei } effectiveness reason } }
        } } } }`,
    )
    const [day] = validators.nodes[0].days
    // Epoch 448, and with it the balances before 449, is not in the tables.
    const unknown = { actual: { gwei: '6' }, ideal: null, reason: 'BALANCE_NOT_KNOWN' }
    expect(day.epochs).toEqual([{ epoch: 449, attestations: { ...unknown, missed: null, effectiveness: null } }])
    expect(day.attestations).toEqual(unknown)
  })
})

describe('lists', () => {
  test('validators are filtered and sorted, page by page', async () => {
    const nodes = async (args: string) =>
      (await ask(`{ validators(${args}) { nodes { index } pageInfo { endCursor } } }`)).validators
    const indices = (list: { nodes: readonly { index: number }[] }) => list.nodes.map(({ index }) => index)
    expect(indices(await nodes('orderBy: BALANCE, descending: true'))).toEqual([12, 11, 10])
    const first = await nodes('orderBy: BALANCE, descending: true, first: 2')
    const rest = await nodes(`orderBy: BALANCE, descending: true, after: "${first.pageInfo.endCursor}"`)
    expect([...indices(first), ...indices(rest)]).toEqual([12, 11, 10])
    expect(indices(await nodes('statuses: ["exited_slashed"]'))).toEqual([12])
    expect(indices(await nodes(`withdrawalAddress: "0x${(11).toString(16).padStart(40, '0')}"`))).toEqual([11])
    await expect(nodes('orderBy: BALANCE, after: "11"')).rejects.toThrow(/not a cursor of this list in this order/)
    await expect(nodes('statuses: ["gone"]')).rejects.toThrow(/statuses are of pending_initialized/)
  })

  test('an empty list of GraphQL is an empty result, whatever it is of', async () => {
    const dates = 'from: "2026-10-21", to: "2026-11-20"'
    const counts = (pubkeys: string, others: string) => `{
      validators${pubkeys} { totalCount } settlements(${dates}${others && ', validatorIndexes: []'}) { totalCount }
      blocks(${dates}${others && ', revenueClasses: []'}) { totalCount } }`
    const all = await ask(counts('', ''))
    for (const found of Object.values(all) as { totalCount: number }[]) expect(found.totalCount).toBeGreaterThan(0)
    const none = { totalCount: 0 }
    const nothing = { validators: none, settlements: none, blocks: none }
    expect(await ask(counts('(pubkeys: [])', 'empty'))).toEqual(nothing)
    expect(await ask(counts('(statuses: [])', 'empty'))).toEqual(nothing)
    expect(await ask('{ histories(pubkeys: []) { pubkey } }')).toEqual({ histories: [] })
  })

  test('a filter that nothing can match is refused', async () => {
    const dates = 'from: "2026-10-21", to: "2026-11-20"'
    const classes =
      /revenueClasses are of local, builder_payment, coinbase_is_proposer, direct_transfers, relay_only, une/
    await expect(ask(`{ blocks(${dates}, revenueClasses: ["local", "nope"]) { totalCount } }`)).rejects.toThrow(classes)
    await expect(ask(`{ settlements(${dates}, validatorIndexes: [10, -1]) { totalCount } }`)).rejects.toThrow(
      /validatorIndexes are whole numbers from 0/,
    )
  })

  test('settlements, blocks and epochs come in pages', async () => {
    const settled = (args: string) =>
      ask(
        `{ settlements(from: "2026-10-21", to: "2026-11-20", ${args}) { totalCount sumUserReward { wei } nodes { id validatorIndex } pageInfo { hasNextPage endCursor } } }`,
      )
    const one = (await settled('first: 1')).settlements
    expect(one).toMatchObject({ totalCount: 2, nodes: [{ id: '300' }], pageInfo: { hasNextPage: true } })
    expect(one.sumUserReward).toEqual({ wei: String(2n * 13_806_613_230_047_680n) })
    const two = (await settled(`first: 1, after: "${one.pageInfo.endCursor}"`)).settlements
    expect(two).toMatchObject({ nodes: [{ id: '200', validatorIndex: 10 }], pageInfo: { hasNextPage: false } })
    await expect(settled('first: 5000')).rejects.toThrow(/ask for the next page with after/)
    const { blocks } = await ask(
      '{ blocks(from: "2026-11-19", to: "2026-11-20") { totalCount nodes { validatorIndex date block { slot revenueClass } } } }',
    )
    expect(blocks).toEqual({
      totalCount: 1,
      nodes: [{ validatorIndex: 10, date: '2026-11-19', block: { slot: 14_375, revenueClass: 'local' } }],
    })
    const { epochs } = await ask(
      '{ epochs(first: 2) { nodes { epoch blocksCount emptySlotsCount level } pageInfo { endCursor } } }',
    )
    expect(epochs.nodes).toEqual([
      { epoch: 451, blocksCount: 32, emptySlotsCount: 0, level: 'reported' },
      { epoch: 450, blocksCount: 32, emptySlotsCount: 0, level: 'reported' },
    ])
    const behind = await ask(`{ epochs(first: 1, after: "${epochs.pageInfo.endCursor}") { nodes { epoch level } } }`)
    expect(behind.epochs.nodes).toEqual([{ epoch: 449, level: 'anchored' }])
  })

  test('orphans are blocks that the head has shown and the final chain does not have', async () => {
    const seen = (slot: number, proposer_index: number, name: string, version: number, is_deleted = 0) => ({
      slot,
      block_root: `0x${name.padStart(64, '0')}`,
      parent_root: `0x${'1'.repeat(64)}`,
      proposer_index,
      execution_block_hash: `0x${'2'.repeat(64)}`,
      execution_block_number: slot,
      version,
      is_deleted,
    })
    await insertRows(fixture.warehouse, 'beacon_blocks', [
      seen(14_375, 10, (14_375).toString(16), 1),
      seen(14_376, 10, 'a1', 2),
      seen(14_377, 11, 'a2', 3),
    ])
    await insertRows(fixture.warehouse, 'beacon_blocks', [seen(14_376, 10, 'a1', 4, 1)])
    const { validators } = await ask(
      `{ validators(first: 1) { nodes { proposals(from: "2026-11-19", to: "2026-11-20") { proposedCount orphanedSlots missedCount missedReason } } } }`,
    )
    expect(validators.nodes[0].proposals).toEqual({
      proposedCount: 1,
      orphanedSlots: [14_376],
      missedCount: null,
      missedReason: 'PROPOSERS_OF_EMPTY_SLOTS_NOT_RECORDED',
    })
  })

  test('days of the network have its blocks and empty slots', async () => {
    const { network } = await ask(
      '{ network(from: "2026-11-19", to: "2026-11-20") { date slotsCount blocksCount emptySlotsCount proposersCount } }',
    )
    expect(network).toEqual([
      { date: '2026-11-19', slotsCount: 7_200, blocksCount: 1, emptySlotsCount: 7_199, proposersCount: 1 },
    ])
  })
})

test('asks once for each field of a level, however many validators and days', async () => {
  const statementsOf = async (first: number) => {
    const query = `{
      validators(first: ${first}) { nodes {
        totals { totalReward { wei } } performance(from: "2026-09-05", to: "2026-11-19") { apr }
        months(from: "2026-09", to: "2026-12") { performance { apr } } proposals(from: "2026-11-18", to: "2026-11-20") { proposedCount }
        days(from: "2026-11-19", to: "2026-11-20") { attestations { ideal { gwei } } epochs { attestations { reason } } }
      } }
      labels { performance(from: "2026-09-05", to: "2026-11-19") { apr } }
      days(from: "2026-11-18", to: "2026-11-20") { performance { apr } }
    }`
    await ask(query) // what requests of an account share
    const before = fixture.statements.length
    await ask(query.replace('{', '{ again: newestEpoch '))
    return fixture.statements.length - before
  }
  const one = await statementsOf(1)
  expect(await statementsOf(50)).toBe(one)
  expect(one).toBeLessThanOrEqual(20)
})
