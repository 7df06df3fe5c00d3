import { describe, expect, it } from 'vitest'
import { formatApr } from '../../api/rewards/apr.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { completeEpochs } from '../../processors/rewards/complete-epochs.ts'
import { closeDay } from '../../processors/rewards/days.ts'
import { projectFinalized } from '../../processors/rewards/finalized.ts'
import { holds, proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import { chainKey } from '../../schemas/chains.ts'
import { daySpan } from '../../schemas/eth/day-span.ts'
import { type ChainClock, dayOfSlot, formatInstant } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import type { BalanceEffect, BalanceEffectKind } from '../../schemas/events/balance-effects.ts'
import {
  dayBalances,
  type EpochBlocksHeader,
  epochBlocks,
  epochValidators,
  VALIDATOR_STATUSES,
} from '../../schemas/events/beacon-epoch.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { IS_PUBLISHED } from '../../schemas/tables/day-levels.ts'
import type { DailyRewardRow } from '../../schemas/tables/rewards.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// A day of 24 slots that begins with the second slot of epoch 4: six transitions, into the epochs 5 to 10. Each of them credits every
// validator with 10 gwei, so the components of a day are 60.

const CHAIN = 'mainnet'
const CLOCK: ChainClock = { genesisTimeSec: 1_767_196_800 - 17 * 3_600, secondsPerSlot: 3_600, slotsPerEpoch: 4 }
const DAY_FIRST_SLOT = 17
const DAY = dayOfSlot(CLOCK, DAY_FIRST_SLOT)
const [FIRST_EPOCH, CLOSING_EPOCH] = [4, 10]
const EPOCHS = Array.from({ length: CLOSING_EPOCH - FIRST_EPOCH + 1 }, (_, i) => FIRST_EPOCH + i)
const STAKE = 32_000_000_000n
const FAR = 2n ** 64n - 1n
const ANCHORED: NonNullable<EpochBlocksHeader['proof']> = {
  formulas: 1,
  stateRoot: `0x${'5a'.repeat(32)}`,
  level: 'anchored',
}

interface Validator {
  /** What its balance is at the end of the day beside 32 ETH. */
  readonly end: bigint
  readonly effects?: readonly (readonly [kind: BalanceEffectKind, slot: number, gwei: bigint])[]
  /** Its first epoch, where it joins the registry. */
  readonly from?: number
}

/** By name, so that a test says which of them it means. */
const VALIDATORS = {
  plain: { end: 60n },
  consolidated: { end: 16_000_000_060n, effects: [['consolidation_in', 20, 16_000_000_000n]] },
  emptied: { end: -15_999_999_940n, effects: [['consolidation_out', 20, -16_000_000_000n]] },
  queued: {
    end: -240n,
    effects: [
      ['moved_to_queue', 22, -500n],
      ['returned_from_queue', 28, 200n],
    ],
  },
  paid: {
    end: 50n,
    effects: [
      ['withdrawal', 17, -1n],
      ['withdrawal_requested', 18, -2n],
      ['withdrawal_partial', 19, -3n],
      ['withdrawal_full', 40, -4n],
    ],
  },
  slashed: {
    end: -1_240n,
    effects: [
      ['slashing_penalty', 19, -1_000n],
      ['slashing_correlation', 36, -300n],
    ],
  },
  /** Four gwei of each of six epochs, and one more. */
  rounded: { end: 84n },
  odd: { end: 85n },
  /** The deposit is credited in a block of epoch 4, behind the day's beginning; its first row of the day is that of epoch 5. */
  joined: { end: 59n, effects: [['deposit', 18, STAKE]], from: 4 },
} as const satisfies Record<string, Validator>
type Name = keyof typeof VALIDATORS
const NAMES = Object.keys(VALIDATORS) as Name[]

interface Told {
  readonly proof: (epoch: number) => EpochBlocksHeader['proof']
  readonly residuals?: (epoch: number) => EpochBlocksHeader['residuals']
  readonly effects?: (effects: readonly BalanceEffect[]) => readonly BalanceEffect[]
}

const stores = storesOfFile()

/** Each event has a version of its own, later ones higher ones. */
let offset = 0n

async function project(warehouse: Warehouse, event: EncodedEvent): Promise<void> {
  const { rows } = projectFinalized({ position: { partition: 0, offset: offset++ }, event }, '')
  for (const { table, columns } of rows) await warehouse.insert(table, columns)
}

const validatorsOf = (epoch: number): readonly Validator[] =>
  Object.values<Validator>(VALIDATORS).filter(({ from = 0 }) => from <= epoch)

function blocksEvent(epoch: number, { proof, residuals, effects = (all) => all }: Told): EncodedEvent {
  const all = NAMES.flatMap((name, validatorIndex) => {
    const { effects: own = [] }: Validator = VALIDATORS[name]
    return own.map(([kind, slot, gwei]) => ({ slot, validatorIndex, kind, reference: 0, amountGwei: String(gwei) }))
  })
  const header: EpochBlocksHeader = {
    ...{ chain: CHAIN, clock: CLOCK, epoch, blocks: [], proof: proof(epoch), residuals: residuals?.(epoch) ?? [] },
    effects: [...effects(all.filter(({ slot }) => Math.floor(slot / CLOCK.slotsPerEpoch) === epoch))],
    parts: [{ kind: 'validators', range: 0, rows: validatorsOf(epoch).length }],
    ...{ proposers: null, network: null, differences: null },
  }
  const columns = { slotOffset: new Uint8Array(), validatorIndex: new Uint32Array(), syncGwei: new BigInt64Array() }
  const about = { id: `blocks:${epoch}`, key: chainKey(CHAIN), time: formatInstant(0) }
  return encodeEvent(epochBlocks, { ...about, data: { header, columns } })
}

function validatorsEvent(epoch: number): EncodedEvent {
  const rows = validatorsOf(epoch).length
  const amounts = (gwei: bigint) => new BigInt64Array(rows).fill(gwei)
  const columns = {
    validatorIndex: Uint32Array.from({ length: rows }, (_, i) => i),
    ...{ sourceGwei: amounts(10n), targetGwei: amounts(0n), headGwei: amounts(0n), inactivityGwei: amounts(0n) },
    balanceGwei: amounts(STAKE),
    effectiveBalanceEth: new Uint32Array(rows).fill(32),
    status: new Uint8Array(rows).fill(VALIDATOR_STATUSES.indexOf('active_ongoing')),
    slashed: new Uint8Array(rows),
    activationEpoch: new BigUint64Array(rows),
    exitEpoch: new BigUint64Array(rows).fill(FAR),
    withdrawableEpoch: new BigUint64Array(rows).fill(FAR),
  }
  const about = { id: `validators:${epoch}`, key: chainKey(CHAIN, 0), time: formatInstant(0) }
  return encodeEvent(epochValidators, {
    ...about,
    data: { header: { chain: CHAIN, clock: CLOCK, epoch, range: 0 }, columns },
  })
}

function balancesEvent(day: number, epoch: number, gwei: readonly bigint[]): EncodedEvent {
  const columns = { validatorIndex: Uint32Array.from(gwei, (_, i) => i), balanceGwei: BigInt64Array.from(gwei) }
  const header = { chain: CHAIN, epoch, day, slot: 0, range: 0 }
  const about = { id: `balances:${day}`, key: chainKey(CHAIN, 0), time: formatInstant(0) }
  return encodeEvent(dayBalances, { ...about, data: { header, columns } })
}

async function close(warehouse: Warehouse): Promise<ReadonlyMap<Name, DailyRewardRow>> {
  const span = daySpan(CLOCK, DAY)
  if (span === undefined) throw new Error('the chain began earlier')
  expect(span).toMatchObject({ firstEpoch: FIRST_EPOCH, closingEpoch: CLOSING_EPOCH, firstTransition: 5 })
  await completeEpochs(warehouse, CHAIN, EPOCHS)
  expect(await closeDay(warehouse, CHAIN, span)).toBe(true)
  const rows = await warehouse.query<DailyRewardRow>('SELECT * FROM daily_rewards FINAL ORDER BY validator_index')
  return new Map(rows.map((row) => [NAMES[row.validator_index] as Name, row]))
}

async function given(told: Told): Promise<Warehouse> {
  const { warehouse, empty } = stores()
  await empty()
  for (const epoch of EPOCHS) {
    await project(warehouse, validatorsEvent(epoch))
    await project(warehouse, blocksEvent(epoch, told))
  }
  const ends = NAMES.map((name) => STAKE + VALIDATORS[name].end)
  const starts = NAMES.flatMap((name) => ((VALIDATORS[name] as Validator).from === undefined ? [STAKE] : []))
  await project(warehouse, balancesEvent(DAY, FIRST_EPOCH, starts))
  await project(warehouse, balancesEvent(DAY + 1, CLOSING_EPOCH, ends))
  return warehouse
}

const REPORTED: Told = { proof: () => null }
const COMPUTED: Told = { proof: () => ANCHORED }

async function levels(told: Told): Promise<Record<string, string>> {
  const rows = await close(await given(told))
  return Object.fromEntries([...rows].map(([name, { level }]) => [name, level]))
}

describe('a day', () => {
  it('tells capital from income: what goes in and out of balances beside rewards is a flow of its own', async () => {
    const rows = await close(await given(REPORTED))
    const flows = (name: Name) => {
      const row = rows.get(name)
      return [
        ...[row?.cl_reward_gwei, row?.deposits_gwei, row?.withdrawals_gwei, row?.returned_from_queue_gwei],
        ...[row?.moved_to_queue_gwei, row?.consolidations_in_gwei, row?.consolidations_out_gwei, row?.residual_gwei],
      ].map(Number)
    }
    expect(flows('plain')).toEqual([60, 0, 0, 0, 0, 0, 0, 0])
    expect(flows('consolidated')).toEqual([60, 0, 0, 0, 0, 16_000_000_000, 0, 0])
    expect(flows('emptied')).toEqual([60, 0, 0, 0, 0, 0, -16_000_000_000, 0])
    expect(flows('queued')).toEqual([60, 0, 0, 200, -500, 0, 0, 0])
    expect(flows('paid')).toEqual([60, 0, -10, 0, 0, 0, 0, 0])
    expect(flows('slashed')).toEqual([60 - 1_300, 0, 0, 0, 0, 0, 0, 0])
    expect(rows.get('slashed')?.slashing_penalty_gwei).toBe('-1300')
  })

  it('has no higher rate of a year where a consolidation has moved the stake', async () => {
    const rows = await close(await given(COMPUTED))
    const rate = (name: Name) => {
      const { cl_reward_gwei: reward, effective_balance_epochs_gwei: capital } = rows.get(name) as DailyRewardRow
      return formatApr(toWei(BigInt(reward)), BigInt(capital), CLOCK)
    }
    expect(rate('plain')).toMatch(/^0\.0000/)
    expect([rate('emptied'), rate('consolidated')]).toEqual([rate('plain'), rate('plain')])
  })

  it('has what nodes round in its reward, 4 gwei an epoch at most; more is unexplained', async () => {
    const warehouse = await given(REPORTED)
    const rows = await close(warehouse)
    const of = (name: Name) => {
      const { level, is_whole, cl_reward_gwei: reward, residual_gwei: residual } = rows.get(name) as DailyRewardRow
      return { level, is_whole, reward, residual }
    }
    expect(of('plain')).toEqual({ level: 'consistent', is_whole: 1, reward: '60', residual: '0' })
    expect(of('rounded')).toEqual({ level: 'rounding', is_whole: 1, reward: '84', residual: '24' })
    expect(of('odd')).toEqual({ level: 'unexplained', is_whole: 1, reward: '60', residual: '25' })
    expect(of('joined')).toEqual({ level: 'rounding', is_whole: 1, reward: '59', residual: '-1' })
    expect(await warehouse.query('SELECT * EXCEPT version FROM closed_days FINAL')).toMatchObject([
      { validators: 9, validators_rounded: 2, validators_unexplained: 1, validators_incomplete: 0 },
    ])
  })

  it('is to be explained to the gwei where its epochs were computed of states', async () => {
    expect(await levels(COMPUTED)).toMatchObject({
      ...{ plain: 'anchored', consolidated: 'anchored', slashed: 'anchored' },
      ...{ rounded: 'unexplained', odd: 'unexplained' },
    })
    // One epoch of the day was reported, and nobody rounds 24 gwei in one.
    const mixed = await levels({ proof: (epoch) => (epoch === 7 ? null : ANCHORED) })
    expect(mixed).toMatchObject({ plain: 'consistent', rounded: 'unexplained', joined: 'rounding' })
  })

  it('is in no figure where one of its epochs was computed of a state that no block names', async () => {
    const unanchored: Told = { proof: (epoch) => (epoch === 7 ? { ...ANCHORED, level: 'consistent' } : ANCHORED) }
    const warehouse = await given(unanchored)
    const rows = await close(warehouse)
    expect(rows.get('plain')).toMatchObject({ level: 'unanchored', is_whole: 1, residual_gwei: '0' })
    expect(rows.get('odd')?.level).toBe('unexplained')
    expect(await warehouse.query('SELECT * FROM closed_days FINAL')).toMatchObject([
      { validators: 8, validators_unanchored: 6, validators_unexplained: 2 },
    ])
    const served = `SELECT count() AS served FROM daily_rewards FINAL WHERE ${IS_PUBLISHED}`
    expect(await warehouse.query(served)).toEqual([{ served: '0' }])
    // No figure of it is wrong, and verify says so; but none is served either.
    const proofs = (await Array.fromAsync(proveDays(warehouse))).flat()
    expect(proofs.filter(holds)).toHaveLength(6)
    // Told again by a state that is named it is served.
    await project(warehouse, blocksEvent(7, COMPUTED))
    expect((await close(warehouse)).get('plain')?.level).toBe('anchored')
    // Beside epochs that endpoints told it counts all the same.
    const mixed = { proof: (epoch: number) => (epoch === 5 ? null : unanchored.proof(epoch)) }
    expect(await levels(mixed)).toMatchObject({ plain: 'unanchored', joined: 'unanchored' })
  })

  it('is agreed where another node has the states of all its epochs', async () => {
    const agreed = { ...ANCHORED, level: 'agreed' } as const
    expect((await levels({ proof: () => agreed })).plain).toBe('agreed')
    expect((await levels({ proof: (epoch) => (epoch === 7 ? ANCHORED : agreed) })).plain).toBe('anchored')
    expect((await levels({ proof: (epoch) => (epoch === 7 ? null : agreed) })).plain).toBe('consistent')
  })

  it('is unexplained where two epochs are, and make up for each other', async () => {
    const index = NAMES.indexOf('plain')
    const gwei: Readonly<Record<number, string>> = { 6: '1', 7: '-1' }
    const residuals = (epoch: number) =>
      gwei[epoch] === undefined ? [] : [{ validatorIndex: index, gwei: gwei[epoch] }]
    const warehouse = await given({ ...COMPUTED, residuals })
    const rows = await close(warehouse)
    expect(rows.get('plain')).toMatchObject({ level: 'unexplained', residual_gwei: '0' })
    expect(rows.get('paid')?.level).toBe('anchored')
    // Told again, without a residual: what was told before is no more.
    for (const epoch of [6, 7]) await project(warehouse, blocksEvent(epoch, COMPUTED))
    expect((await close(warehouse)).get('plain')?.level).toBe('anchored')
  })

  it('has no more what was told of an epoch before, and is told otherwise now', async () => {
    // A node's endpoints told of a withdrawal without its kind; states tell the same one as a partial withdrawal.
    const untold = (effects: readonly BalanceEffect[]) =>
      effects.map((effect) =>
        effect.kind === 'withdrawal_partial' ? { ...effect, kind: 'withdrawal' as const } : effect,
      )
    const warehouse = await given({ ...REPORTED, effects: untold })
    expect((await close(warehouse)).get('paid')).toMatchObject({ withdrawals_gwei: '-10', level: 'consistent' })
    await project(warehouse, blocksEvent(4, COMPUTED))
    expect((await close(warehouse)).get('paid')).toMatchObject({ withdrawals_gwei: '-10', level: 'consistent' })
    // Fewer of them: the row of the day is newer all the same.
    await project(warehouse, blocksEvent(4, { ...COMPUTED, effects: () => [] }))
    expect((await close(warehouse)).get('paid')).toMatchObject({ withdrawals_gwei: '-4', residual_gwei: '-6' })
  })

  it('is named by its proof where it is unexplained, and no other is', async () => {
    const warehouse = await given(REPORTED)
    await close(warehouse)
    const proofs = (await Array.fromAsync(proveDays(warehouse))).flat()
    expect(proofs.filter((proof) => !holds(proof))).toMatchObject([
      { validator_index: NAMES.indexOf('odd'), residual: '25', stored_agrees: 1 },
    ])
    expect(proofs).toHaveLength(NAMES.length)
    await warehouse.command(
      "INSERT INTO daily_rewards SELECT * REPLACE ('anchored' AS level, version + 1 AS version) FROM daily_rewards FINAL",
    )
    expect((await Array.fromAsync(proveDays(warehouse))).flat().every(({ stored_agrees }) => stored_agrees === 0)).toBe(
      true,
    )
  })
})

it('an epoch is named by its proof: by 5 gwei where a node told it, by 1 where it was computed', async () => {
  // Balances stay as they are, so each epoch leaves its 10 gwei unexplained.
  const told = async (proof: Told, gwei: bigint) => {
    const warehouse = await given({ ...proof, effects: () => [] })
    await warehouse.command(
      `INSERT INTO validator_epochs SELECT * REPLACE (toInt64(${gwei}) AS source_gwei, version + 1 AS version) FROM validator_epochs FINAL`,
    )
    return (await proveEpochs(warehouse)).unexplained
  }
  const all = NAMES.length * 6
  expect(await told(REPORTED, 4n)).toBe(0)
  expect(await told(REPORTED, 5n)).toBe(all)
  expect(await told(COMPUTED, 1n)).toBe(all)
})
