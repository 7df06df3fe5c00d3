import { afterAll, beforeAll, expect, test } from 'vitest'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import { type ApiFixture, epochRow, insertRows, moveTables, NEWEST_EPOCH, openApiFixture } from './api-fixture.ts'

// Totals of a validator that has left, was slashed, consolidated or topped up: its income stays, and capital is none.

const INDEX = 11
const DAY = '2026-11-20'
const STAKE = 32_000_000_000n

let fixture: ApiFixture
let version = 100
let before: Awaited<ReturnType<typeof totals>>
beforeAll(async () => {
  fixture = await openApiFixture()
  before = await totals()
  expect(before.own?.cl_total_reward).toBe('0.00000042')
})
afterAll(() => fixture[Symbol.asyncDispose]())

async function totals() {
  await moveTables(fixture.warehouse)
  const response = await fetch(`${fixture.base}/api/v1/validator/total-rewards`)
  expect(response.status, fixture.logged()).toBe(200)
  const { data } = (await response.json()) as {
    data: { validator_details: readonly Record<string, unknown>[]; validators_active_count: number }
  }
  return { ...data, own: data.validator_details.find((one) => one.validator_index === INDEX) }
}

/** What the validator is at the newest epoch. */
function stateOf(status: ValidatorStatus) {
  const isPaid = status === 'withdrawal_done'
  return {
    status: VALIDATOR_STATUSES.indexOf(status),
    slashed: status.endsWith('slashed') && !status.endsWith('unslashed') ? 1 : 0,
    balance_gwei: isPaid ? 0n : STAKE + 11n,
    effective_balance_gwei: isPaid ? 0n : STAKE,
    version: version++,
  }
}

test.each(VALIDATOR_STATUSES)('a validator that is %s has the income that it has had', async (status) => {
  const row = epochRow(NEWEST_EPOCH, DAY, INDEX, { ...EARNED, ...stateOf(status) })
  await insertRows(fixture.warehouse, 'validator_epochs', [row])
  const after = await totals()
  expect(after.own).toEqual({
    ...before.own,
    ...{ status, cl_balance: status === 'withdrawal_done' ? '0' : '32.000000011' },
    effective_balance: status === 'withdrawal_done' ? '0' : '32',
  })
  expect(after.validators_active_count).toBe(status.startsWith('active_') ? 2 : 1)
})

/** As the fixture has it. */
const EARNED = { source_gwei: -4, target_gwei: -5, head_gwei: 0, inactivity_gwei: -6 }

const FLOWS = [
  ['a top-up', 'deposit', 1_000_000_000n],
  ['a consolidation into it', 'consolidation_in', STAKE],
  ['a consolidation out of it', 'consolidation_out', -STAKE],
  ['a switch to compounding', 'moved_to_queue', -500n],
  ['what comes back from the queue', 'returned_from_queue', 500n],
  ['its full withdrawal', 'withdrawal_full', -STAKE],
  ['a withdrawal that it has asked for', 'withdrawal_requested', -1_000n],
] as const

test.each(FLOWS)('%s is no income of it', async (_, kind, amount_gwei) => {
  const about = { slot: 14_404, epoch: 450, day: DAY, validator_index: INDEX, reference: 7, version: 1 }
  await insertRows(fixture.warehouse, 'ledger_entries', [{ ...about, kind, amount_gwei }])
  expect((await totals()).own?.cl_total_reward).toBe(before.own?.cl_total_reward)
})

test('both penalties of a slashing are', async () => {
  const about = { epoch: 450, day: DAY, validator_index: INDEX, reference: 7, version: 1 }
  await insertRows(fixture.warehouse, 'ledger_entries', [
    { ...about, slot: 14_405, kind: 'slashing_penalty', amount_gwei: -400 },
    { ...about, slot: 14_406, kind: 'slashing_correlation', amount_gwei: -20 },
  ])
  expect((await totals()).own?.cl_total_reward).toBe('0')
})
