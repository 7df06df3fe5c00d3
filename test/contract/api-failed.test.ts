import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type StakingEnd, stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import {
  type ApiFixture,
  addressOf,
  EXPIRY_EPOCHS,
  GENESIS_SEC,
  hashOf,
  insertOwners,
  insertRows,
  moveTables,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'
import { insertQueues } from './given-queues.ts'

// Validators whose funding came to nothing: from the events to the answers.

const TEST_MS = 120_000
const CONTRACT = addressOf(42)
const CREDENTIALS = `0x01${'00'.repeat(11)}${addressOf(5).slice(2)}`
const CREATED = '2026-11-19 16:15:00'
const EXPIRED = '2026-11-01 00:00:00'
const TIME = '2026-11-19T20:00:00.000Z'
/** Of a block that is final. */
const DEPOSIT_SLOT = 13_000
/** Of one that was created before the genesis. */
const EXPIRY_SLOT = EXPIRY_EPOCHS * 32
/** A look at the queue after it, and the first epoch in which the registry is believed to lack what the queue has let go. */
const LOOK_EPOCH = NEWEST_EPOCH - 16

let fixture: ApiFixture
let version = 100
let offset = 5_000n

beforeAll(async () => {
  fixture = await openApiFixture()
  await insert('deposit_contracts', { address: CONTRACT })
  const block = { attestations_gwei: 0, sync_aggregate_gwei: 0, proposer_slashings_gwei: 0, attester_slashings_gwei: 0 }
  await insert('finalized_blocks', {
    slot: DEPOSIT_SLOT,
    epoch: Math.floor(DEPOSIT_SLOT / 32),
    day: '2026-11-19',
    block_root: hashOf(DEPOSIT_SLOT),
    proposer_index: 1,
    execution_block_hash: hashOf(DEPOSIT_SLOT),
    execution_block_number: DEPOSIT_SLOT,
    fee_recipient: addressOf(1),
    ...block,
  })
})
afterAll(() => fixture[Symbol.asyncDispose]())

function insert(table: Projection, row: Readonly<Record<string, string | number | bigint>>): Promise<void> {
  return insertRows(fixture.warehouse, table, [{ version: version++, ...row }])
}

async function create(index: number, createdAt = CREATED): Promise<string> {
  const pubkey = pubkeyOf(index)
  await insertOwners(fixture.warehouse, [{ account: 'demo', pubkey, version: version++ }])
  const given = { withdrawal_credentials: CREDENTIALS, deposit_from: addressOf(6), fee_recipient: addressOf(7) }
  const deposit = { amount_gwei: 32_000_000_000n, deposit_data_root: hashOf(1_000_000 + index), created_at: createdAt }
  await insert('created_validators', { pubkey, account: 'demo', ...given, ...deposit })
  return pubkey
}

function deposit(index: number): Promise<void> {
  return insert('deposits', {
    pubkey: pubkeyOf(index),
    contract: CONTRACT,
    block_hash: hashOf(DEPOSIT_SLOT),
    log_index: version,
    block_number: DEPOSIT_SLOT,
    time: new Date((GENESIS_SEC + 12 * DEPOSIT_SLOT) * 1_000).toISOString().slice(0, 19).replace('T', ' '),
    transaction_hash: hashOf(1),
    withdrawal_credentials: CREDENTIALS,
    amount_gwei: 32_000_000_000n,
    deposit_data_root: hashOf(1_000_000 + index),
    deposit_index: 0,
  })
}

/** A staking transaction as the role tells it; with an end, that it has ended. */
async function tell(hash: number, pubkeys: readonly string[], end?: StakingEnd): Promise<void> {
  const named = { chain: 'mainnet', account: 'demo', txHash: hashOf(hash) }
  const envelope = { id: `told ${offset}`, key: ACCOUNTS_KEY, time: TIME }
  const sent = { ...named, sender: addressOf(6), nonce: hash, pubkeys: [...pubkeys], rawTransaction: '0x00' }
  const event =
    end === undefined
      ? encodeEvent(stakingBroadcast, { ...envelope, data: sent })
      : encodeEvent(stakingEnded, { ...envelope, data: { ...named, status: end, blockNumber: 77 } })
  const { rows } = projectAccountFact({ event, position: { partition: 0, offset: offset++ } }, 'mainnet')
  for (const { table, columns } of rows) await fixture.warehouse.insert(table, columns)
}

async function post<Data>(path: string, body: object): Promise<Data> {
  await moveTables(fixture.warehouse)
  const response = await fetch(`${fixture.base}${path}`, { method: 'POST', body: JSON.stringify(body) })
  expect(response.status, fixture.logged()).toBe(200)
  return ((await response.json()) as { data: Data }).data
}

async function detailOf(pubkey: string): Promise<ValidatorDetail> {
  const [detail] = await post<readonly ValidatorDetail[]>('/api/v1/validator/details', { pubkeys: [pubkey] })
  return detail as ValidatorDetail
}
const statusOf = async (pubkey: string) => (await detailOf(pubkey)).status

async function get<Data>(path: string): Promise<Data> {
  await moveTables(fixture.warehouse)
  const response = await fetch(`${fixture.base}${path}`)
  return ((await response.json()) as { data: Data }).data
}
const countOf = async () =>
  (await get<{ validators_total_count: number }>('/api/v1/validator/total-rewards')).validators_total_count
const timeOf = (slot: number) => new Date((GENESIS_SEC + 12 * slot) * 1_000).toISOString()
const historyOf = async (pubkey: string) =>
  (await get<{ history: readonly HistoryStep[] }>(`/api/v1/validator/history?pubkey=${pubkey}`)).history

/** Transactions of its steps `broadcast`, each of which has its time and no slot. */
async function broadcastsOf(pubkey: string): Promise<readonly (string | null)[]> {
  const steps = (await historyOf(pubkey)).filter(({ step }) => step === 'broadcast')
  for (const step of steps) expect(step).toMatchObject({ time: TIME, slot: null, is_exact: true, block_number: null })
  return steps.map(({ transaction_hash }) => transaction_hash)
}

describe('a validator whose staking transaction was broadcast', () => {
  test('has failed when a final block has it reverted, until another one is broadcast', {
    timeout: TEST_MS,
  }, async () => {
    const [first, second, other] = [await create(600), await create(601), await create(602)]
    await tell(1, [first, second])
    expect(await statusOf(first)).toBe('provisioned')
    await tell(1, [], 'failed')
    expect(await statusOf(first)).toBe('failed')
    expect(await statusOf(second)).toBe('failed')
    expect(await statusOf(other)).toBe('provisioned')
    expect((await historyOf(first)).at(-1)).toEqual({
      step: 'failed',
      time: TIME,
      slot: null,
      is_exact: false,
      block_number: 77,
      transaction_hash: hashOf(1),
    })
    expect(await broadcastsOf(first)).toEqual([hashOf(1)])
    expect(await broadcastsOf(other)).toEqual([])
    const { status_estimates: estimates } = await detailOf(first)
    expect(estimates.estimated_active_at).toBeNull()
    await tell(2, [first])
    expect(await broadcastsOf(first)).toEqual([hashOf(1), hashOf(2)])
    expect(await broadcastsOf(second)).toEqual([hashOf(1)])
    expect(await statusOf(first)).toBe('provisioned')
    expect(await statusOf(second)).toBe('failed')
    await tell(2, [], 'refused')
    expect(await statusOf(first)).toBe('failed')
    expect(await broadcastsOf(first)).toEqual([hashOf(1)])
    await tell(3, [first])
    await tell(3, [], 'mined')
    expect(await statusOf(first)).toBe('provisioned') // its deposit is in the tables in a moment
  })

  test.each<StakingEnd>(['replaced', 'refused', 'unsent'])('waits as before where it was %s', async (end) => {
    const index = 610 + end.length
    const pubkey = await create(index)
    await tell(index, [pubkey])
    await tell(index, [], end)
    expect(await statusOf(pubkey)).toBe('provisioned')
  })

  test('is expired in its time, and is not counted', { timeout: TEST_MS }, async () => {
    const before = await countOf()
    const [old, young] = [await create(620, EXPIRED), await create(621)]
    await tell(620, [old, young])
    await tell(620, [], 'failed')
    expect([await statusOf(old), await statusOf(young)]).toEqual(['expired', 'failed'])
    const expired = { step: 'expired', slot: EXPIRY_SLOT, time: timeOf(EXPIRY_SLOT), is_exact: true }
    expect((await historyOf(old)).find(({ step }) => step === 'expired')).toMatchObject(expired)
    expect((await historyOf(young)).map(({ step }) => step)).toEqual(['created', 'broadcast', 'failed'])
    expect(await countOf()).toBe(before)
  })
})

describe('a validator whose deposit is final', () => {
  const waiting = (...slots: readonly number[]) => ({
    amountGwei: new BigUint64Array(slots.length).fill(32_000_000_000n),
    slot: BigUint64Array.from(slots, BigInt),
    ownPrefix: new BigUint64Array(slots.length),
  })

  test('has failed when the queue has let it go and the registry does not know it sixteen epochs later', {
    timeout: TEST_MS,
  }, async () => {
    const pubkey = await create(700)
    await deposit(700)
    const counted = await countOf()
    expect(await statusOf(pubkey)).toBe('deposited')
    // Others of the same slot wait, and what has no slot of its own.
    const look = (epoch: number, ...slots: readonly number[]) =>
      insertQueues(fixture.warehouse, { slot: epoch * 32 + 3, deposits: waiting(...slots) })
    await look(LOOK_EPOCH - 1, 0, DEPOSIT_SLOT, DEPOSIT_SLOT + 1)
    expect(await statusOf(pubkey)).toBe('deposited')
    await look(LOOK_EPOCH + 1, 0, DEPOSIT_SLOT + 1)
    expect(await statusOf(pubkey)).toBe('deposited')
    // One for a validator that leaves was put off, and has been overtaken.
    const deposits = {
      ...waiting(0, DEPOSIT_SLOT - 1, DEPOSIT_SLOT + 1),
      withdrawableEpoch: BigUint64Array.of(FAR_FUTURE_EPOCH, 99_999n, FAR_FUTURE_EPOCH),
    }
    await insertQueues(fixture.warehouse, { slot: LOOK_EPOCH * 32 + 3, deposits })
    expect(await statusOf(pubkey)).toBe('failed')
    expect(await countOf()).toBe(counted - 1)
    const { status_estimates: estimates } = await detailOf(pubkey)
    expect(estimates.estimated_active_at).toBeNull()
    expect((await historyOf(pubkey)).map(({ step, slot }) => [step, slot])).toEqual([
      ['created', null],
      ['deposited', DEPOSIT_SLOT],
      ['deposit_finalized', expect.any(Number)],
      ['failed', LOOK_EPOCH * 32],
    ])
    await insert('validators', { validator_index: 700, pubkey, withdrawal_credentials: CREDENTIALS })
    expect(await statusOf(pubkey)).toBe('deposited')
    expect(await countOf()).toBe(counted)
  })

  test('has failed when the queue is empty', async () => {
    const pubkey = await create(701)
    await deposit(701)
    await insertQueues(fixture.warehouse, { slot: LOOK_EPOCH * 32 + 3, deposits: waiting() })
    expect(await statusOf(pubkey)).toBe('failed')
  })
})
