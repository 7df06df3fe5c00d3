import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { ChainClock } from '../../schemas/eth/time.ts'
import { WEI_PER_GWEI } from '../../schemas/eth/units.ts'
import { type BasisPoints, dutiesYield, measuredYield } from '../../schemas/eth/yield.ts'
import { IS_PUBLISHED } from '../../schemas/tables/day-levels.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'

/** Closed days that yields are measured on, the newest ones. */
export const YIELD_DAYS = 7
/** With fewer days or validators the execution part is luck: on a large chain a validator proposes every few months. */
export const YIELD_DAYS_MIN = 2
export const YIELD_VALIDATORS_MIN = 32

/** What staking yields in a year, and how that is known. */
export interface Yields {
  readonly source: 'measured' | 'formula'
  readonly consensus: BasisPoints
  readonly execution: BasisPoints
}

interface ClosedDay {
  readonly day: string
  readonly first_slot: string
  readonly version: string
}

const CLOSED_DAYS = `
  SELECT day, first_slot, version FROM closed_days FINAL WHERE chain = {chain:String} ORDER BY day DESC LIMIT {days:UInt8}`

interface ClockRow {
  readonly seconds_per_slot: number
  readonly slots_per_epoch: number
}

const CLOCK = 'SELECT seconds_per_slot, slots_per_epoch FROM chains FINAL WHERE chain = {chain:String}'

interface MeasuredRow {
  readonly validators: string
  readonly consensus_gwei: string
  readonly execution_wei: string
  readonly staked_gwei: string
}

// One row per day. The stake of a day is the effective balance at the end of the first epoch that begins in it, of the validators that
// were active then and of which the whole day is known.
const MEASURED = `
  SELECT
    count() AS validators, sum(rewards.cl_reward_gwei) AS consensus_gwei, sum(rewards.el_reward_wei) AS execution_wei,
    sum(staked.effective_balance_gwei) AS staked_gwei
  FROM
  (
    SELECT day, validator_index, cl_reward_gwei, el_reward_wei FROM daily_rewards FINAL
    WHERE chain = {chain:String} AND has({days:Array(Date)}, day) AND is_whole = 1 AND ${IS_PUBLISHED}
  ) AS rewards
  INNER JOIN
  (
    SELECT arrayElement({days:Array(Date)}, indexOf({epochs:Array(UInt32)}, epoch)) AS day, validator_index, effective_balance_gwei
    FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch IN {epochs:Array(UInt32)} AND activation_epoch <= epoch AND exit_epoch > epoch
  ) AS staked ON staked.day = rewards.day AND staked.validator_index = rewards.validator_index
  GROUP BY rewards.day`

interface VoterRow {
  readonly reward_gwei: string
  readonly effective_balance_gwei: string
}

// Whoever was paid most for his stake has voted in time for all.
const BEST_VOTER = `
  SELECT source_gwei + target_gwei + head_gwei AS reward_gwei, effective_balance_gwei
  FROM validator_epochs FINAL
  WHERE chain = {chain:String} AND effective_balance_gwei > 0
    AND epoch = (SELECT max(epoch) FROM epochs WHERE chain = {chain:String})
  ORDER BY intDiv(toInt128(reward_gwei) * 1000000000000000, effective_balance_gwei) DESC, validator_index LIMIT 1`

/** Keeps what is known of yields until the tables change, and what the newest closed days have yielded until they change. */
export class KnownYields {
  readonly #known = new StandingMemo<Yields | undefined>(() => 1)
  #last: { readonly key: string; readonly yields: Promise<Yields | undefined> } | undefined

  /** Undefined where the index knows no validator that is paid: nothing can be said then. */
  of({ standing, shared }: Pick<AccountScope, 'standing' | 'shared'>): Promise<Yields | undefined> {
    return this.#known.of(standing, 'yields', () => this.#ask(shared, standing.chain))
  }

  async #ask(warehouse: WarehouseReader, chain: string): Promise<Yields | undefined> {
    const [days, [clock]] = await Promise.all([
      warehouse.query<ClosedDay>(CLOSED_DAYS, { chain, days: YIELD_DAYS }),
      warehouse.query<ClockRow>(CLOCK, { chain }),
    ])
    if (clock === undefined) return undefined
    const { seconds_per_slot: secondsPerSlot, slots_per_epoch: slotsPerEpoch } = clock
    return (
      (await this.#measured(warehouse, { chain, days, slotsPerEpoch })) ??
      (await formulaYields(warehouse, chain, { secondsPerSlot, slotsPerEpoch }))
    )
  }

  #measured(warehouse: WarehouseReader, window: Window): Promise<Yields | undefined> {
    const key = JSON.stringify(window)
    if (this.#last?.key === key) return this.#last.yields
    const made = { key, yields: measure(warehouse, window) }
    this.#last = made
    made.yields.catch(() => {
      if (this.#last === made) this.#last = undefined // the next asker asks again
    })
    return made.yields
  }
}

interface Window {
  readonly chain: string
  readonly days: readonly ClosedDay[]
  readonly slotsPerEpoch: number
}

async function measure(
  warehouse: WarehouseReader,
  { chain, days, slotsPerEpoch }: Window,
): Promise<Yields | undefined> {
  if (days.length < YIELD_DAYS_MIN) return undefined
  const rows = await warehouse.query<MeasuredRow>(MEASURED, {
    chain,
    days: days.map(({ day }) => day),
    epochs: days.map(({ first_slot }) => Math.ceil(Number(first_slot) / slotsPerEpoch)),
  })
  if (rows.length < days.length || rows.some(({ validators }) => Number(validators) < YIELD_VALIDATORS_MIN))
    return undefined
  const sumOf = (column: Exclude<keyof MeasuredRow, 'validators'>) =>
    rows.reduce((sum, row) => sum + BigInt(row[column]), 0n)
  const stakedGwei = sumOf('staked_gwei')
  return {
    source: 'measured',
    consensus: measuredYield(sumOf('consensus_gwei'), stakedGwei),
    execution: measuredYield(sumOf('execution_wei'), stakedGwei * WEI_PER_GWEI),
  }
}

async function formulaYields(
  warehouse: WarehouseReader,
  chain: string,
  clock: Pick<ChainClock, 'secondsPerSlot' | 'slotsPerEpoch'>,
): Promise<Yields | undefined> {
  const [voter] = await warehouse.query<VoterRow>(BEST_VOTER, { chain })
  if (voter === undefined) return undefined
  const consensus = dutiesYield(clock, {
    rewardGwei: BigInt(voter.reward_gwei),
    effectiveBalanceGwei: BigInt(voter.effective_balance_gwei),
  })
  return { source: 'formula', consensus, execution: 0n }
}
