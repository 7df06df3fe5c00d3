import type { DayNumber } from '../../schemas/eth/time.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { IS_PUBLISHED, IS_UNANCHORED, newestToldSql } from '../../schemas/tables/day-levels.ts'
import { validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { accountDeposits } from '../http/account-deposits.ts'
import { failedFundings } from '../http/failed-fundings.ts'
import {
  type AccountScope,
  inStatements,
  isIn,
  SEEN_RELATION,
  seenParams,
  seenValidators,
} from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { type ValidatorState, validatorStates } from '../http/validator-states.ts'
import { dayOfHorizon, type Horizon } from './horizon.ts'

interface Income {
  readonly elRewardWei: bigint
  readonly clRewardGwei: bigint
}

export interface ValidatorTotals extends Income {
  readonly pubkey: string
  readonly state: ValidatorState
}

export interface AccountTotals extends Income {
  /** Validators that the account has on the horizon's day and whose deposit is on chain, in the registry or not. */
  readonly deposited: number
  /** Of those with a state at the horizon. */
  readonly active: number
  /** Of the same. */
  readonly balanceGwei: bigint
  /** Validators that it has or had, with a state at the horizon, by ascending index. */
  readonly items: readonly ValidatorTotals[]
  /** How many of its validators are not counted on a day, because their balances are not explained. */
  readonly unproven: ReadonlyMap<DayNumber, number>
}

const ACTIVE = new Set(VALIDATOR_STATUSES.flatMap((status, code) => (status.startsWith('active_') ? [code] : [])))
const NO_INCOME: Income = { elRewardWei: 0n, clRewardGwei: 0n }

const totalsMemo = new StandingMemo<AccountTotals>(({ items }) => items.length)

/** Cumulative income up to the horizon and the state at it: sums over the account and each of its validators. */
export function accountTotals(scope: AccountScope, horizon: Horizon): Promise<AccountTotals> {
  return totalsMemo.of(scope.standing, scope.account, async () => {
    const { registered } = await seenValidators(scope)
    const states = await validatorStates(scope, horizon.epoch)
    const { incomes, unproven } = await selectIncomes(scope, horizon)
    const today = dayOfHorizon(horizon)
    const items: (ValidatorTotals & { readonly isPresent: boolean })[] = registered.flatMap((validator) => {
      const state = states.get(validator.index)
      if (state === undefined || !validator.intervals.some(({ fromDay }) => fromDay <= today)) return []
      const isPresent = validator.intervals.some((days) => isIn(days, today))
      return [{ ...(incomes.get(validator.index) ?? NO_INCOME), pubkey: validator.pubkey, state, isPresent }]
    })
    const present = items.filter(({ isPresent }) => isPresent)
    return {
      ...items.reduce(addIncome, NO_INCOME),
      deposited: await countDeposited(scope, today, horizon),
      active: present.filter(({ state }) => ACTIVE.has(state.status)).length,
      balanceGwei: present.reduce((sum, { state }) => sum + BigInt(state.balance_gwei), 0n),
      items,
      unproven,
    }
  })
}

/** Validators that the account has on a day and whose deposit is on chain, in the registry or not; those that have failed are not counted. */
export async function countDeposited(
  scope: AccountScope,
  day: DayNumber,
  horizon: Pick<Horizon, 'clock' | 'epoch'> | undefined,
): Promise<number> {
  const { registered, unregistered } = await seenValidators(scope)
  const deposits = await accountDeposits(scope, horizon?.clock)
  const failed = await failedFundings(scope, horizon)
  const deposited = unregistered.filter(({ pubkey }) => deposits.has(pubkey) && !failed.has(pubkey))
  return [...registered.flatMap(({ intervals }) => intervals), ...deposited].filter((days) => isIn(days, day)).length
}

function addIncome(one: Income, other: Income): Income {
  return {
    elRewardWei: one.elRewardWei + other.elRewardWei,
    clRewardGwei: one.clRewardGwei + other.clRewardGwei,
  }
}

interface IncomeRow {
  readonly validator_index: number
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  /** Days on which what it has is not explained: they are in no sum. */
  readonly unproven: readonly DayNumber[]
}

interface Incomes {
  readonly incomes: ReadonlyMap<number, Income>
  readonly unproven: ReadonlyMap<DayNumber, number>
}

const sumsOf = (el: string, cl: string): string => `
  income.validator_index AS validator_index, sumIf(${el}, income.is_explained) AS el_reward_wei,
  sumIf(${cl}, income.is_explained) AS cl_reward_gwei, groupArrayIf(toUInt16(income.day), NOT income.is_explained) AS unproven`
const ON_ITS_DAYS = `seen.from_day <= toUInt16(income.day) AND toUInt16(income.day) < seen.to_day`

const CLOSED_INCOME = `
  SELECT ${sumsOf('income.el', 'income.cl')}
  FROM
  (
    SELECT day, validator_index, el_reward_wei AS el, cl_reward_gwei AS cl, ${IS_PUBLISHED} AS is_explained FROM daily_rewards FINAL
    WHERE chain = {chain:String} AND day BETWEEN toDate({firstDay:UInt16}) AND toDate({lastDay:UInt16})
      AND has({closedDays:Array(UInt16)}, toUInt16(day)) AND validator_index IN {indices:Array(UInt32)}
  ) AS income
  INNER JOIN ${SEEN_RELATION} AS seen ON seen.validator_index = income.validator_index
  WHERE ${ON_ITS_DAYS}
  GROUP BY income.validator_index`

// Rows of epochs between the open ones that are not complete must not count: their detail may be there in part.
const OPEN_EPOCHS = 'SELECT arrayJoin({openEpochs:Array(UInt32)})'
const OPEN_DAYS = validatorDaysSql((index) => `${index} IN (SELECT arrayJoin({indices:Array(UInt32)}))`, OPEN_EPOCHS)
// As when they are closed: an epoch that is not explained, or made of a state that no block names, leaves out the days that it lies in.
const DAYS_OF_EPOCH = `
    toDate(toDateTime({genesis:UInt64} + arrayJoin([epoch * {epoch_slots:UInt32}, (epoch + 1) * {epoch_slots:UInt32} - 1])
      * {slot_sec:UInt32}, 'UTC') + 28800) AS day`
const UNANCHORED_DAYS = `
  SELECT day FROM (
    SELECT ${DAYS_OF_EPOCH} FROM epoch_proofs FINAL
    WHERE chain = {chain:String} AND epoch IN (${OPEN_EPOCHS}) AND ${IS_UNANCHORED}
  )`
const UNEXPLAINED_DAYS = `
  SELECT ${DAYS_OF_EPOCH}, validator_index
  FROM epoch_residuals FINAL
  WHERE chain = {chain:String} AND epoch IN (${OPEN_EPOCHS}) AND residual_gwei != 0
    AND version IN (${newestToldSql(`epoch IN (${OPEN_EPOCHS})`)})`
const OPEN_INCOME = `
  SELECT ${sumsOf('income.revenue', 'income.cl_reward')}
  FROM (
    SELECT day, validator_index, revenue, cl_reward, (day, validator_index) NOT IN (${UNEXPLAINED_DAYS}) AND day NOT IN (${UNANCHORED_DAYS}) AS is_explained
    FROM (${OPEN_DAYS})
  ) AS income
  INNER JOIN ${SEEN_RELATION} AS seen ON seen.validator_index = income.validator_index
  WHERE ${ON_ITS_DAYS}
  GROUP BY income.validator_index`

/**
 * Closed days come from their rows (whole or not), open days from the detail, never both: the horizon tells which is which. A
 * validator's income counts on the days on which the account sees it.
 */
async function selectIncomes(scope: AccountScope, horizon: Horizon): Promise<Incomes> {
  const { registered } = await seenValidators(scope)
  const closedDays = horizon.closedDays.map(({ day }) => day)
  const closed = { closedDays, firstDay: closedDays[0] ?? 0, lastDay: closedDays.at(-1) ?? 0 }
  const { clock, openEpochs } = horizon
  const open = {
    days: horizon.openDays,
    openEpochs,
    first_epoch: openEpochs[0] ?? 0,
    first_transition: openEpochs[0] ?? 0,
    last_transition: openEpochs.at(-1) ?? 0,
    first_slot: horizon.openSlots.first,
    last_slot: horizon.openSlots.last,
    genesis: clock.genesisTimeSec,
    slot_sec: clock.secondsPerSlot,
    epoch_slots: clock.slotsPerEpoch,
  }
  const incomes = new Map<number, Income>()
  const unproven = new Map<DayNumber, number>()
  for (const some of inStatements(registered)) {
    const mine = { chain: horizon.chain, ...seenParams(some) }
    for (const [sql, params] of [[CLOSED_INCOME, closed] as const, [OPEN_INCOME, open] as const]) {
      for (const row of await scope.shared.query<IncomeRow>(sql, { ...mine, ...params })) {
        const income = { elRewardWei: BigInt(row.el_reward_wei), clRewardGwei: BigInt(row.cl_reward_gwei) }
        incomes.set(row.validator_index, addIncome(incomes.get(row.validator_index) ?? NO_INCOME, income))
        for (const day of row.unproven) unproven.set(day, (unproven.get(day) ?? 0) + 1)
      }
    }
  }
  return { incomes, unproven }
}
