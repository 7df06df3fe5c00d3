import { afterAll, beforeAll, expect, test } from 'vitest'
import { prefixOfPubkey } from '../../schemas/queue-rules.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import {
  type ApiFixture,
  addressOf,
  epochRow,
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

// From the event of the queues to the answer: what is estimated of the fixture's chain at its head.

const CREATED = 900
const CREDENTIALS = `0x01${'00'.repeat(11)}${addressOf(5).slice(2)}`
const CONTRACT = addressOf(42)
const HEAD_SLOT = 14_500
/** With a final block, which the fixture has. */
const DEPOSIT_SLOT = 14_401
const SWEPT_SLOT = 14_200
const GWEI_32_ETH = 32_000_000_000n

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

async function detailOf(index: number): Promise<ValidatorDetail> {
  await moveTables(fixture.warehouse)
  const response = await fetch(`${fixture.base}/api/v1/validator/details`, {
    method: 'POST',
    body: JSON.stringify({ pubkeys: [pubkeyOf(index)] }),
  })
  expect(response.status, fixture.logged()).toBe(200)
  return ((await response.json()) as { data: readonly ValidatorDetail[] }).data[0] as ValidatorDetail
}

/** A validator of the account that was made here, and whose deposit is in a final block. */
async function fund(index: number): Promise<void> {
  const deposit = {
    withdrawal_credentials: CREDENTIALS,
    amount_gwei: GWEI_32_ETH,
    deposit_data_root: hashOf(index),
    version: 1,
  }
  const created = { account: 'demo', deposit_from: addressOf(6), fee_recipient: addressOf(7) }
  await insertOwners(fixture.warehouse, [{ account: 'demo', pubkey: pubkeyOf(index) }])
  await insertRows(fixture.warehouse, 'created_validators', [
    { pubkey: pubkeyOf(index), ...created, created_at: '2026-11-19 16:15:00', ...deposit },
  ])
  await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: CONTRACT, version: 1 }])
  const time = new Date((GENESIS_SEC + 12 * DEPOSIT_SLOT) * 1_000).toISOString().slice(0, 19).replace('T', ' ')
  const block = { block_hash: hashOf(DEPOSIT_SLOT), block_number: DEPOSIT_SLOT, time }
  const log = { contract: CONTRACT, log_index: 1, transaction_hash: hashOf(1), deposit_index: 0 }
  await insertRows(fixture.warehouse, 'deposits', [{ pubkey: pubkeyOf(index), ...block, ...log, ...deposit }])
}

/** Eight others wait before ours; the limit is 256 ETH. */
function tellQueues(): Promise<void> {
  const own = BigInt(`0x${prefixOfPubkey(pubkeyOf(CREATED))}`)
  return insertQueues(fixture.warehouse, {
    slot: HEAD_SLOT,
    deposits: {
      amountGwei: new BigUint64Array(9).fill(GWEI_32_ETH),
      slot: new BigUint64Array(9).fill(BigInt(DEPOSIT_SLOT)),
      ownPrefix: BigUint64Array.of(0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, own),
    },
  })
}

const secondsOfEpoch = (epoch: number) => GENESIS_SEC + epoch * 384
const epochAt = (instant: string | null) => (Date.parse(instant ?? '') / 1_000 - GENESIS_SEC) / 384

test('a deposit that waits has no estimate before the queues are told, and the one of its place afterwards', async () => {
  await fund(CREATED)
  const before = await detailOf(CREATED)
  expect(before.status).toBe('deposited')
  expect(before.status_estimates).toEqual({
    estimated_active_at: null,
    estimated_exit_at: null,
    estimated_withdrawal_at: null,
    error_seconds: { active: null, exit: null, withdrawal: null },
  })
  await tellQueues()
  const { status_estimates: told } = await detailOf(CREATED)
  // Eight get in when epoch 453 ends, ours when 454 does: it is credited in 455 and active seven epochs later.
  expect(epochAt(told.estimated_active_at)).toBe(455 + 7)
  expect(told.error_seconds).toEqual({ active: 384, exit: null, withdrawal: null })
})

test.each([
  { what: 'has nothing left', index: 901, status: 8, balance_gwei: 0 },
  { what: 'its sync committee has paid since', index: 902, status: 7, balance_gwei: 23_000 },
])('a validator that $what was paid out in the slot of its stake', async ({ index, status, balance_gwei }) => {
  const identity = { validator_index: index, pubkey: pubkeyOf(index), withdrawal_credentials: CREDENTIALS, version: 1 }
  const withdrawable = Math.floor(SWEPT_SLOT / 32) - 1
  const left = { status, balance_gwei, exit_epoch: withdrawable - 256, withdrawable_epoch: withdrawable }
  await insertOwners(fixture.warehouse, [{ account: 'demo', pubkey: pubkeyOf(index) }])
  await insertRows(fixture.warehouse, 'validators', [identity])
  await insertRows(fixture.warehouse, 'validator_epochs', [epochRow(NEWEST_EPOCH, '2026-11-20', index, left)])
  const paidAt = (slot: number, reference: number, amount_gwei: bigint) => ({
    ...{ slot, epoch: Math.floor(slot / 32), day: '2026-11-19', validator_index: index },
    ...{ kind: 'withdrawal', reference, amount_gwei, version: 1 },
  })
  await insertRows(fixture.warehouse, 'ledger_entries', [
    paidAt(SWEPT_SLOT - 64, 1, -17_000n),
    paidAt(SWEPT_SLOT, 2, -GWEI_32_ETH),
    paidAt(SWEPT_SLOT + 40, 3, -23_000n), // of a sync committee that it still sits in
  ])
  const { status_estimates: told } = await detailOf(index)
  expect(Date.parse(told.estimated_withdrawal_at ?? '') / 1_000).toBe(GENESIS_SEC + SWEPT_SLOT * 12)
  expect(Date.parse(told.estimated_exit_at ?? '') / 1_000).toBe(secondsOfEpoch(withdrawable - 256))
  expect(told.error_seconds).toEqual({ active: 0, exit: 0, withdrawal: 0 })
})
