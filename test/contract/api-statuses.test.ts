import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import {
  type ApiFixture,
  addressOf,
  epochRow,
  FAR,
  GENESIS_SEC,
  hashOf,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

const CONTRACT = addressOf(42)
const IMPOSTOR = addressOf(66)
const CREDENTIALS = `0x01${'00'.repeat(11)}${addressOf(5).slice(2)}`
/** With a final block, which the fixture has. */
const FINAL_SLOT = 14_401
const HEAD_SLOT = 14_500
/** At the horizon. */
const CREATED = '2026-11-19 16:15:00'
const EXPIRED = '2026-11-01 00:00:00'

let fixture: ApiFixture
let version = 100

beforeAll(async () => {
  fixture = await openApiFixture()
  await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: CONTRACT, version: 1 }])
  await insertRows(fixture.warehouse, 'execution_blocks', [headBlock(hashOf(HEAD_SLOT), HEAD_SLOT)])
})
afterAll(() => fixture[Symbol.asyncDispose]())

type Values = Readonly<Record<string, string | number | bigint>>

const insert = (table: Projection, row: Values) =>
  insertRows(fixture.warehouse, table, [{ version: version++, ...row }])

function headBlock(hash: string, slot: number, deleted = 0) {
  const time = new Date((GENESIS_SEC + 12 * slot) * 1_000).toISOString().slice(0, 19).replace('T', ' ')
  const paid = { base_fee_per_gas_wei: 7, priority_fees_wei: 0 }
  const named = { block_hash: hash, block_number: slot, time, coinbase: addressOf(1), transactions: 1 }
  return { ...named, ...paid, version: version++, is_deleted: deleted }
}

const rootOf = (index: number) => hashOf(1_000_000 + index)

async function create(index: number, row: Values = {}): Promise<void> {
  await insertOwners(fixture.warehouse, [{ account: 'demo', pubkey: pubkeyOf(index), version: version++ }])
  await insert('created_validators', {
    pubkey: pubkeyOf(index),
    account: 'demo',
    withdrawal_credentials: CREDENTIALS,
    deposit_from: addressOf(6),
    fee_recipient: addressOf(7),
    amount_gwei: 32_000_000_000n,
    deposit_data_root: rootOf(index),
    created_at: CREATED,
    ...row,
  })
}

function deposit(index: number, slot: number, row: Values = {}): Promise<void> {
  return insert('deposits', {
    pubkey: pubkeyOf(index),
    contract: CONTRACT,
    block_hash: hashOf(slot),
    log_index: version,
    block_number: slot,
    time: new Date((GENESIS_SEC + 12 * slot) * 1_000).toISOString().slice(0, 19).replace('T', ' '),
    transaction_hash: hashOf(1),
    withdrawal_credentials: CREDENTIALS,
    amount_gwei: 32_000_000_000n,
    deposit_data_root: rootOf(index),
    deposit_index: 0,
    ...row,
  })
}

async function details(body: object = {}, token = TOKEN) {
  const response = await fetch(`${fixture.base.replace(TOKEN, token)}/api/v1/validator/details`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  expect(response.status, fixture.logged()).toBe(200)
  return (await response.json()) as { data: readonly ValidatorDetail[]; pagination: { total: number } }
}

const statusOf = async (index: number) => (await details({ pubkeys: [pubkeyOf(index)] })).data[0]?.status
const totalCount = async () => {
  const response = await fetch(`${fixture.base}/api/v1/validator/total-rewards`)
  return ((await response.json()) as { data: { validators_total_count: number } }).data.validators_total_count
}

describe('the status of a created validator', () => {
  let next = 200
  const OLD = { deposit_data_root: '' }
  test.each<[string, string, Values, readonly (readonly [number, Values])[]]>([
    ['without a deposit', 'provisioned', {}, []],
    ['that nobody has funded for long', 'expired', { created_at: EXPIRED }, []],
    ['whose deposit is in a block of the head', 'deposited_not_finalized', {}, [[HEAD_SLOT, {}]]],
    ['whose deposit is in a final block', 'deposited', {}, [[FINAL_SLOT, {}]]],
    ['that was funded after it had expired', 'deposited', { created_at: EXPIRED }, [[FINAL_SLOT, {}]]],
    ['whose deposit is in a block that nobody has', 'provisioned', {}, [[HEAD_SLOT + 1, {}]]],
    [
      'whose deposit came with a second one',
      'deposited',
      {},
      [
        [HEAD_SLOT, {}],
        [FINAL_SLOT, {}],
      ],
    ],
    [
      'of which a stranger deposited something else',
      'provisioned',
      {},
      [[FINAL_SLOT, { deposit_data_root: rootOf(9) }]],
    ],
    ['of which another contract tells a deposit', 'provisioned', {}, [[FINAL_SLOT, { contract: IMPOSTOR }]]],
    ['that an earlier release created', 'deposited', OLD, [[FINAL_SLOT, {}]]],
    [
      'that an earlier release created, with another amount',
      'provisioned',
      OLD,
      [[FINAL_SLOT, { amount_gwei: 1_000_000_000n }]],
    ],
    [
      'that an earlier release created, with other credentials',
      'provisioned',
      OLD,
      [[FINAL_SLOT, { withdrawal_credentials: `0x01${'11'.repeat(31)}` }]],
    ],
    [
      'whose deposit the head has at a slot with another final block',
      'provisioned',
      {},
      [[FINAL_SLOT, { block_hash: hashOf(HEAD_SLOT) }]],
    ],
  ])('%s is %s', async (_, status, created, deposits) => {
    const index = next++
    await create(index, created)
    for (const [slot, row] of deposits) await deposit(index, slot, row)
    expect(await statusOf(index)).toBe(status)
    // One that was expired says so for ever, what came before says nothing of it.
    const response = await fetch(`${fixture.base}/api/v1/validator/history?pubkey=${pubkeyOf(index)}`)
    const { data } = (await response.json()) as { data: { history: readonly HistoryStep[] } }
    const steps = data.history.map(({ step }) => step)
    expect(steps.includes('expired')).toBe(created.created_at === EXPIRED)
    if (deposits.length > 0 && created.created_at === EXPIRED)
      expect(steps.indexOf('expired')).toBeLessThan(steps.indexOf('deposited'))
  })

  test('goes back to what it was when its deposit is taken back, and on when it is included again', async () => {
    const [index, slot] = [next++, HEAD_SLOT + 10]
    await create(index)
    await deposit(index, slot)
    const before = await totalCount()
    expect(await statusOf(index)).toBe('provisioned') // its block is not here yet
    for (const [deleted, status] of [
      [0, 'deposited_not_finalized'],
      [1, 'provisioned'],
      [0, 'deposited_not_finalized'],
    ] as const) {
      await insertRows(fixture.warehouse, 'execution_blocks', [headBlock(hashOf(slot), slot, deleted)])
      expect(await statusOf(index)).toBe(status)
      expect(await totalCount()).toBe(before + 1 - deleted)
    }
  })

  test('is the registry’s once it has a state of it, and not before', async () => {
    const index = next++
    await create(index, { created_at: EXPIRED })
    await deposit(index, FINAL_SLOT)
    const registered = { validator_index: index, pubkey: pubkeyOf(index), withdrawal_credentials: CREDENTIALS }
    await insert('validators', registered)
    expect(await statusOf(index)).toBe('deposited')
    const state = epochRow(NEWEST_EPOCH, '2026-11-20', index, { status: 1, activation_epoch: FAR, version: version++ })
    await insertRows(fixture.warehouse, 'validator_epochs', [state])
    await insert('epoch_parts', { epoch: NEWEST_EPOCH, kind: 'validators', range: 0, is_expected: 0, rows: 1 })
    const { data } = await details({ pubkeys: [pubkeyOf(index)] })
    expect(data).toMatchObject([{ status: 'pending_queued', withdrawal_credentials: CREDENTIALS }])
  })
})

test('validators are counted when their deposit is on chain, whoever has made their keys', async () => {
  const before = await totalCount()
  await create(300)
  await create(301, { created_at: EXPIRED })
  expect(await totalCount()).toBe(before)
  await deposit(300, HEAD_SLOT)
  expect(await totalCount()).toBe(before + 1)
  await insertOwners(fixture.warehouse, [{ account: 'demo', pubkey: pubkeyOf(302), version: version++ }])
  expect(await totalCount()).toBe(before + 1)
  await deposit(302, FINAL_SLOT)
  await insert('epoch_parts', { epoch: NEWEST_EPOCH, kind: 'validators', range: 0, is_expected: 0, rows: 2 })
  expect(await totalCount()).toBe(before + 2)
})

describe('the list', () => {
  test('has the newest created ones first, then by public key, in whatever state they are', async () => {
    const created = [
      ['2026-11-19 16:15:31', 400],
      ['2026-11-19 16:15:32', 401],
      ['2026-11-19 16:15:31', 399],
    ] as const
    for (const [created_at, index] of created) await create(index, { created_at })
    const order = async () => {
      const { data } = await details({ limit: 1_000 })
      return data.map(({ pubkey }) => pubkey)
    }
    const before = await order()
    const wanted = [401, 399, 400].map(pubkeyOf)
    expect(before.slice(0, 3)).toEqual(wanted)
    expect(before.slice(-3)).toEqual([12, 11, 10].map(pubkeyOf))
    await deposit(399, FINAL_SLOT)
    await insert('validators', { validator_index: 5_000, pubkey: pubkeyOf(399), withdrawal_credentials: CREDENTIALS })
    const state = epochRow(NEWEST_EPOCH, '2026-11-20', 5_000, { version: version++ })
    await insertRows(fixture.warehouse, 'validator_epochs', [state])
    await insert('epoch_parts', { epoch: NEWEST_EPOCH, kind: 'validators', range: 0, is_expected: 0, rows: 3 })
    expect(await statusOf(399)).toBe('active_ongoing')
    expect(await order()).toEqual(before)
    const pages = await Promise.all([1, 2, 3].map(async (page) => (await details({ page, limit: 2 })).data))
    expect(pages.flat().map(({ pubkey }) => pubkey)).toEqual(before.slice(0, 6))
    const { data, pagination } = await details({ withdrawal_address: addressOf(5), limit: 1 })
    expect([data[0]?.pubkey, pagination.total]).toEqual([pubkeyOf(401), before.length - 3])
  })

  test('has what the account has now: a created validator goes with its owner', async () => {
    await create(500)
    const moved = [{ account: 'other', pubkey: pubkeyOf(500), from: '2026-11-19', version: version++ }]
    await insertOwners(fixture.warehouse, moved)
    expect(await statusOf(500)).toBeUndefined()
    const { data } = await details({ pubkeys: [pubkeyOf(500)] }, 'token-of-other')
    expect(data).toMatchObject([{ status: 'provisioned' }])
    expect((await details({ pubkeys: [pubkeyOf(401)] }, 'token-of-other')).data).toEqual([])
  })
})
