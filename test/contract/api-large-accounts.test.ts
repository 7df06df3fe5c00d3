import { afterAll, beforeAll, expect, test } from 'vitest'
import { BY_VALIDATOR_MAX } from '../../api/rewards/validator-days.ts'
import { formatEthFromGwei, formatEthFromWei } from '../../schemas/eth/units.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import {
  type ApiFixture,
  dailyRow,
  epochRow,
  insertOwners,
  insertRows,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

// An account with more validators than are read one by one: most are its own all the time, some left or came in between.

const [ACCOUNT, OTHER] = ['large', 'large-other']
const DAYS = [18, 19] as const
/** In 2026-11-19: a row before that makes up for nobody who is missing. */
const ACTIVATED_LATE = 300

interface Given {
  readonly index: number
  readonly kind: 'stays' | 'leaves' | 'comes' | 'is new' | 'has no row' | 'is not explained' | 'was missed'
}

const kinds: readonly (readonly [Given['kind'], number])[] = [
  ['stays', BY_VALIDATOR_MAX + 20],
  ['leaves', 7],
  ['comes', 11],
  ['is new', 3],
  ['has no row', 5],
  ['is not explained', 2],
  ['was missed', 1],
]
const given: readonly Given[] = kinds
  .flatMap(([kind, count]) => Array.from({ length: count }, () => kind))
  .map((kind, i) => ({ index: 5_000 + i, kind }))
const of = (...wanted: readonly Given['kind'][]) => given.filter(({ kind }) => wanted.includes(kind))

const cl = (day: number, index: number) => BigInt(index) * 1_000n - BigInt(day)
const el = (day: number, index: number) => (index % 10 === 0 ? BigInt(day) * 10n ** 20n + BigInt(index) : 0n)

/** Those that are summed on a day, and how many are missing. */
const summed = (day: number) =>
  given.filter(
    ({ kind }) =>
      kind === 'stays' ||
      kind === 'is new' ||
      kind === (day === 18 ? 'leaves' : 'comes') ||
      (day === 18 ? kind === 'has no row' || kind === 'is not explained' : kind === 'was missed'),
  )
const MISSING = { 18: of('was missed').length, 19: of('has no row', 'is not explained').length } as const

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
  const { warehouse } = fixture
  const token = { token_hash: hashToken(ACCOUNT), account: ACCOUNT, version: 1, is_deleted: 0 }
  await insertRows(warehouse, 'access_tokens', [token])
  const owner = (account: string, from?: string) => (one: Given) => ({
    ...{ account, pubkey: pubkeyOf(one.index), version: from === undefined ? 1 : 2 },
    ...(from === undefined ? {} : { from }),
  })
  const moved = '2026-11-19'
  await insertOwners(warehouse, given.filter(({ kind }) => kind !== 'comes').map(owner(ACCOUNT)))
  await insertOwners(warehouse, of('comes').map(owner(OTHER)))
  await insertOwners(warehouse, [...of('leaves').map(owner(OTHER, moved)), ...of('comes').map(owner(ACCOUNT, moved))])
  const withdrawal_credentials = `0x01${'00'.repeat(31)}`
  await insertRows(
    warehouse,
    'validators',
    given.map(({ index }) => ({ validator_index: index, pubkey: pubkeyOf(index), withdrawal_credentials, version: 1 })),
  )
  const rows = DAYS.flatMap((day) =>
    given
      .filter(({ kind }) => {
        if (kind === 'was missed') return day === 19
        return kind !== 'has no row' || day === 18
      })
      .map(({ index, kind }) => ({
        ...dailyRow(`2026-11-${day}`, index, cl(day, index), el(day, index)),
        level: kind === 'is not explained' && day === 19 ? 'unexplained' : 'anchored',
      })),
  )
  await insertRows(warehouse, 'daily_rewards', rows)
  await insertRows(
    warehouse,
    'validator_epochs',
    given.map(({ index, kind }) =>
      epochRow(451, '2026-11-20', index, kind === 'is new' ? { activation_epoch: ACTIVATED_LATE } : {}),
    ),
  )
})
afterAll(() => fixture[Symbol.asyncDispose]())

test.each(DAYS.map((day) => [day, day + 1]).concat([[18, 20]]))('its days from %i to %i', async (from, to) => {
  const path = `/ethereum/mainnet/${ACCOUNT}/api/v1/validator/daily-rewards?start_date=2026-11-${from}&end_date=2026-11-${to}`
  const response = await fetch(`${fixture.api.url}${path}`)
  const { data, completeness } = (await response.json()) as {
    data: { reward: { date: string }[] }
    completeness: unknown
  }
  const days = DAYS.filter((day) => from <= day && day < to)
  const sum = (day: number, amount: (day: number, index: number) => bigint) =>
    summed(day).reduce((total, { index }) => total + amount(day, index), 0n)
  expect(data.reward.toSorted((one, other) => one.date.localeCompare(other.date))).toEqual(
    days.map((day) => ({
      date: `2026-11-${day}`,
      cl_reward: formatEthFromGwei(sum(day, cl)),
      el_reward: formatEthFromWei(sum(day, el)),
      total_reward: formatEthFromWei(sum(day, cl) * 10n ** 9n + sum(day, el)),
      validators_active_count: summed(day).length,
    })),
  )
  expect(completeness).toMatchObject({
    incomplete: days.map((day) => ({ start_date: `2026-11-${day}`, validators_missing: MISSING[day] })),
  })
})
