import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { sumMonth } from '../../processors/rewards/months.ts'
import { dayOfInstant } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import {
  type ApiFixture,
  addressOf,
  dailyRow,
  epochRow,
  hashOf,
  insertOwners,
  insertRows,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

// Each account n has the validators 1000 + n and 2000 + n; until 2026-11-18 it had 3000 + n as well, which is the next account's since, and
// the account after that watches it: so one month of it is whole for one account and cut for two.

const ACCOUNTS = 24
const nameOf = (n: number): string => `small-${n}`
const next = (n: number, by = 1): number => (n + by) % ACCOUNTS
const NUMBERS = Array.from({ length: ACCOUNTS }, (_, n) => n)
const ALL = NUMBERS.flatMap((n) => [1_000 + n, 2_000 + n, 3_000 + n])
/** What a validator earns on a closed day, gwei and wei, and in each of the open day's two complete epochs, gwei. */
const clOf = (day: number, index: number): bigint => BigInt(day * 100_000 + index)
const elOf = (day: number, index: number): bigint => BigInt(day) * 1_000_000_000n + BigInt(index)
const openOf = (index: number): bigint => BigInt(index + 2 + 3)
/** Each of the first few accounts' first validator has a block in the open day, which pays it these tips. */
const PROPOSERS = 5
const TIPS_WEI = 3_000_000_000_000_001n
const slotOf = (n: number): number => 14_410 + n
/** A first statement or two begins at once; what comes meanwhile is read together. */
const STATEMENTS_OF_KIND_MAX = 3

let fixture: ApiFixture
let api: Api

beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  await insertRows(
    warehouse,
    'access_tokens',
    NUMBERS.map((n) => ({ token_hash: hashToken(nameOf(n)), account: nameOf(n), version: 1, is_deleted: 0 })),
  )
  await insertOwners(
    warehouse,
    NUMBERS.flatMap((n) => [1_000, 2_000, 3_000].map((from) => ({ account: nameOf(n), pubkey: pubkeyOf(from + n) }))),
  )
  const moved = { from: '2026-11-19', version: 2 }
  await insertOwners(
    warehouse,
    NUMBERS.map((n) => ({ account: nameOf(next(n)), pubkey: pubkeyOf(3_000 + n), ...moved })),
  )
  await insertRows(
    warehouse,
    'watched_validators',
    NUMBERS.map((n) => ({ account: nameOf(next(n, 2)), pubkey: pubkeyOf(3_000 + n), version: 1, is_deleted: 0 })),
  )
  const withdrawal_credentials = `0x01${'00'.repeat(31)}`
  await insertRows(
    warehouse,
    'validators',
    ALL.map((index) => ({ validator_index: index, pubkey: pubkeyOf(index), withdrawal_credentials, version: 1 })),
  )
  await insertRows(
    warehouse,
    'daily_rewards',
    ALL.flatMap((index) =>
      [18, 19].map((day) => dailyRow(`2026-11-${day}`, index, clOf(day, index), elOf(day, index))),
    ),
  )
  await sumMonth(warehouse, 'mainnet', dayOfInstant(Date.parse('2026-11-19T00:00:00Z') / 1_000))
  await insertRows(
    warehouse,
    'validator_epochs',
    ALL.flatMap((index) =>
      [450, 451].map((epoch) =>
        epochRow(epoch, '2026-11-20', index, { source_gwei: index, balance_gwei: 32_000_000_000n + BigInt(index) }),
      ),
    ),
  )
  await insertBlocks()
  await insertFacts()
  api = await openQuiet()
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** An API that has answered nothing yet, and looks at the tables' position once: nothing is written any more. */
function openQuiet(): Promise<Api> {
  return openApi({ ...fixture.parts, standingAgeMsMax: Number.POSITIVE_INFINITY, host: '127.0.0.1', port: 0 })
}

async function insertBlocks(): Promise<void> {
  const proposers = NUMBERS.slice(0, PROPOSERS)
  const block = (n: number) => ({ slot: slotOf(n), epoch: 450, day: '2026-11-20', block_root: hashOf(slotOf(n)) })
  await insertRows(
    fixture.warehouse,
    'finalized_blocks',
    proposers.map((n) => ({
      ...block(n),
      proposer_index: 1_000 + n,
      execution_block_hash: hashOf(slotOf(n)),
      execution_block_number: slotOf(n),
      fee_recipient: addressOf(slotOf(n)),
      version: 1,
    })),
  )
  await insertRows(
    fixture.warehouse,
    'execution_blocks',
    proposers.map((n) => ({
      block_hash: hashOf(slotOf(n)),
      block_number: slotOf(n),
      time: '2026-11-20 00:10:00',
      coinbase: addressOf(slotOf(n)),
      transactions: 1,
      base_fee_per_gas_wei: 7,
      priority_fees_wei: TIPS_WEI,
      version: 1,
      is_deleted: 0,
    })),
  )
}

/** Each account calls its first validator something, and every third has asked for the exit of its second. */
async function insertFacts(): Promise<void> {
  await insertRows(
    fixture.warehouse,
    'validator_labels',
    NUMBERS.flatMap((n) => [
      { account: nameOf(n), pubkey: pubkeyOf(1_000 + n), label: `first of ${n}`, version: 1 },
      { account: nameOf(next(n, 2)), pubkey: pubkeyOf(3_000 + n), label: `watched by ${next(n, 2)}`, version: 1 },
    ]),
  )
  const step = { step: 'requested', time: '2026-11-20 00:00:00', epoch: 0, reason: '', version: 1 }
  await insertRows(
    fixture.warehouse,
    'exit_steps',
    NUMBERS.filter((n) => n % 3 === 0).map((n) => ({ pubkey: pubkeyOf(2_000 + n), ...step })),
  )
  await insertRows(
    fixture.warehouse,
    'created_validators',
    NUMBERS.filter((n) => n % 4 === 0).map((n) => ({
      pubkey: pubkeyOf(2_000 + n),
      account: nameOf(n),
      withdrawal_credentials: `0x01${'00'.repeat(31)}`,
      deposit_from: addressOf(500 + n),
      fee_recipient: addressOf(600 + n),
      created_at: '2026-11-18 00:00:00',
      version: 1,
    })),
  )
}

const DAYS = 'api/v1/validator/daily-rewards?start_date=2026-11-18&end_date=2026-11-20'
const TOTALS = 'api/v1/validator/total-rewards?limit=100'
const DETAILS = 'api/v1/validator/details'

async function ask(base: string, n: number, path: string) {
  const init = path === DETAILS ? { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } } : {}
  const response = await fetch(`${base}/ethereum/mainnet/${nameOf(n)}/${path}`, init)
  const body = await response.json()
  expect(response.status, JSON.stringify(body)).toBe(200)
  return body
}

/** Validators that an account sees on a day of November 2026. */
function seenOn(n: number, day: number): readonly number[] {
  const movers = day < 19 ? [3_000 + n] : [3_000 + next(n, ACCOUNTS - 1)]
  return [1_000 + n, 2_000 + n, ...movers, 3_000 + next(n, ACCOUNTS - 2)]
}

const inAnyCase = (text: string) => expect.stringMatching(new RegExp(`^${text}$`, 'i'))
const sum = (values: readonly bigint[]): bigint => values.reduce((one, other) => one + other, 0n)

test('days of small accounts that are asked for at once are those of each of them', async () => {
  const bodies = await Promise.all(NUMBERS.map((n) => ask(api.url, n, DAYS)))
  for (const n of NUMBERS) {
    const expected = [19, 18].map((day) => ({
      date: `2026-11-${day}`,
      el_reward: formatEthFromWei(sum(seenOn(n, day).map((index) => elOf(day, index)))),
      cl_reward: formatEthFromGwei(sum(seenOn(n, day).map((index) => clOf(day, index)))),
      validators_active_count: 4,
    }))
    expect(bodies[n].data.reward).toHaveLength(2)
    for (const day of expected) expect(bodies[n].data.reward).toContainEqual(expect.objectContaining(day))
  }
})

test('totals of small accounts that are asked for at once are those of each of them, validator by validator', async () => {
  const bodies = await Promise.all(NUMBERS.map((n) => ask(api.url, n, TOTALS)))
  for (const n of NUMBERS) {
    const indices = [...new Set([18, 19].flatMap((day) => seenOn(n, day)))].toSorted((one, other) => one - other)
    const expected = indices.map((index) => {
      const days = [18, 19].filter((day) => seenOn(n, day).includes(index))
      const isOpen = seenOn(n, 20).includes(index)
      const cl = sum([...days.map((day) => clOf(day, index)), isOpen ? 2n * openOf(index) : 0n])
      const tips = index === 1_000 + n && n < PROPOSERS ? TIPS_WEI : 0n
      const el = sum([...days.map((day) => elOf(day, index)), tips])
      return {
        validator_index: index,
        el_total_reward: formatEthFromWei(el),
        cl_total_reward: formatEthFromGwei(cl),
        total_reward: formatEthFromWei(el + toWei(cl)),
        cl_balance: formatEthFromGwei(32_000_000_000n + BigInt(index)),
      }
    })
    expect(bodies[n].data.validator_details).toMatchObject(expected)
    expect(bodies[n].data.validators_total_count).toBe(4)
  }
})

test('details of small accounts that are asked for at once tell of each what is its own', async () => {
  const bodies = await Promise.all(NUMBERS.map((n) => ask(api.url, n, DETAILS)))
  for (const n of NUMBERS) {
    const details = new Map(bodies[n].data.map((one: { pubkey: string }) => [one.pubkey, one]))
    expect([...details.keys()].toSorted()).toEqual(seenOn(n, 20).map(pubkeyOf).toSorted())
    const [first, second, , watched] = seenOn(n, 20).map((index) => details.get(pubkeyOf(index)))
    const recipient = n < PROPOSERS ? addressOf(slotOf(n)) : ''
    expect(first).toMatchObject({ label: `first of ${n}`, fee_recipient_address: inAnyCase(recipient) })
    const from = n % 4 === 0 ? addressOf(500 + n) : ''
    expect(second).toMatchObject({ label: '', is_need_exit: n % 3 === 0, deposit_from_address: inAnyCase(from) })
    expect(watched).toMatchObject({ label: `watched by ${n}`, is_need_exit: false })
  }
})

test('are read by a bounded number of statements, whatever the number of accounts', async () => {
  const { statements } = fixture
  for (const path of [DAYS, TOTALS, DETAILS]) {
    await using fresh = await openQuiet()
    statements.length = 0
    await Promise.all(NUMBERS.map((n) => ask(fresh.url, n, path)))
    const kinds = Map.groupBy(statements, (sql) => sql)
    expect(kinds.size).toBeGreaterThan(1)
    for (const [sql, ofKind] of kinds) expect(ofKind.length, sql).toBeLessThanOrEqual(STATEMENTS_OF_KIND_MAX)
  }
})

test('are answered together as each is alone', async () => {
  for (const path of [DAYS, TOTALS, DETAILS]) {
    await using alone = await openQuiet()
    for (const n of NUMBERS.filter((one) => one % 5 === 0))
      expect(await ask(api.url, n, path)).toEqual(await ask(alone.url, n, path))
  }
})
