import { expect, test } from 'vitest'
import { dailyRow, insertRows } from './api-fixture.ts'
import { epochsFrom, FIRST_EPOCH, LAST_EPOCH, networkOfFile } from './given-network.ts'

const ETH = 1_000_000_000n

const { fixture, ask, proofs } = networkOfFile()

const FIELDS = `daysCount averagedDaysCount averageReason average { activeValidatorsCount consensusReward { gwei } consensusApr }
  execution { reason reward { wei } executionApr apr }`
const performance = async (from: string, to: string) =>
  (await ask(`{ networkPerformance(from: "${from}", to: "${to}") { ${FIELDS} } }`)).networkPerformance
// 18 November begins the chain's first closed day with epoch 0: epochs 0 to 224 begin in it or before.
const credited = (epoch: number, gwei: number, active: number, version: number) => ({
  ...{ epoch, day: epoch < FIRST_EPOCH ? '2026-11-18' : '2026-11-19', active_validators: active, version },
  ...{ effective_balance_gwei: 32n * ETH * BigInt(active), source_gwei: gwei * active, target_gwei: 0, head_gwei: 0 },
  ...{ inactivity_gwei: 0, sync_gwei: 0, proposer_gwei: 0, slashing_penalty_gwei: 0, ideal_attestations_gwei: 1 },
})
const ofDay = async (first: number, last: number, gwei: number, active: number) => {
  const epochs = epochsFrom(first, last)
  await insertRows(
    fixture().warehouse,
    'network_epochs',
    epochs.map((epoch) => credited(epoch, gwei, active, 50)),
  )
  await proofs(epochs, 50)
}
const ratePerYear = (gwei: number) => (gwei / 32e9) * (31_557_600 / 384)
const NOTHING = { reward: null, executionApr: null, apr: null }

test('averages over a window say how many days they are of, and leave out those of which epochs are not known', async () => {
  await proofs(epochsFrom(0, 449), 49, { level: 'reported' })
  expect(await performance('2026-11-01', '2026-11-20')).toEqual({
    ...{ daysCount: 2, averagedDaysCount: 0, averageReason: 'NOT_COMPUTED_OF_STATES', average: null },
    execution: { reason: 'NO_DAYS', ...NOTHING },
  })
  await ofDay(FIRST_EPOCH, LAST_EPOCH, 10, 1_000)
  expect(await performance('2020-01-01', '2026-11-20')).toMatchObject({
    ...{ daysCount: 2, averagedDaysCount: 1, averageReason: 'NOT_COMPUTED_OF_STATES' },
    average: { activeValidatorsCount: 1_000, consensusReward: { gwei: '2250' } },
  })
  expect(await performance('2020-01-01', '2020-02-01')).toEqual({
    ...{ daysCount: 0, averagedDaysCount: 0, averageReason: 'NO_DAYS', average: null },
    execution: { reason: 'NO_DAYS', ...NOTHING },
  })
})

test('averages over a window weigh days by the validators that were active in their epochs', async () => {
  await ofDay(0, FIRST_EPOCH - 1, 40, 3_000)
  const { average, ...more } = await performance('2026-11-18', '2026-11-20')
  expect(more).toMatchObject({ daysCount: 2, averagedDaysCount: 2, averageReason: null })
  const epochs = FIRST_EPOCH
  const [earned, active] = [epochs * 40 * 3_000 + 225 * 10 * 1_000, epochs * 3_000 + 225 * 1_000]
  expect(Math.abs(Number(average.consensusApr) - ratePerYear(earned / active))).toBeLessThan(1e-8)
  expect(average.activeValidatorsCount).toBe(Math.floor(active / (epochs + 225)))
  expect(average.consensusReward.gwei).toBe(`${Math.floor((earned * (epochs + 225)) / active)}`)
})

test('averages over a window have what blocks paid only where every proposer is tracked and every block is proven', async () => {
  const window = ['2026-11-19', '2026-11-20'] as const
  const executionOf = async () => (await performance(...window)).execution
  const { warehouse } = fixture()
  const told = (elWei: bigint, unexplained: number, version: number) =>
    insertRows(warehouse, 'daily_rewards', [
      { ...dailyRow('2026-11-19', 10, -2_000n, elWei, version), blocks: 1, blocks_unexplained: unexplained },
    ])
  await told(0n, 1, 60)
  expect(await executionOf()).toEqual({ reason: 'BLOCKS_NOT_PROVEN', ...NOTHING })
  const paid = 10n ** 18n
  await told(paid, 0, 61)
  const { apr, executionApr, ...known } = await executionOf()
  expect(known).toEqual({ reason: null, reward: { wei: String(paid / 1_000n) } })
  const perEpoch = Number(paid) / 1e9 / (225 * 1_000)
  expect(Math.abs(Number(executionApr) - ratePerYear(perEpoch))).toBeLessThan(1e-8)
  expect(Math.abs(Number(apr) - ratePerYear(perEpoch + 10))).toBeLessThan(1e-8)
  await insertRows(warehouse, 'finalized_blocks', [
    {
      ...{ slot: 9_123, epoch: 285, day: '2026-11-19', proposer_index: 77, version: 60 },
      ...{
        block_root: `0x${'b1'.repeat(32)}`,
        execution_block_hash: `0x${'b2'.repeat(32)}`,
        execution_block_number: 9_123,
      },
    },
  ])
  expect(await executionOf()).toEqual({ reason: 'PROPOSERS_NOT_TRACKED', ...NOTHING })
})
