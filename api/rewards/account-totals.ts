import { type DayNumber, dayOfSlot, parseDay } from '../../schemas/eth/time.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { accountDeposits } from '../http/account-deposits.ts'
import { failedFundings } from '../http/failed-fundings.ts'
import { type AccountScope, isIn, seenValidators } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { type ValidatorState, validatorStates } from '../http/validator-states.ts'
import { type DaysScope, expectedDays } from './account-days.ts'
import { addIncome, type Income, type Incomes, NO_INCOME, selectIncomes } from './account-incomes.ts'
import { type ExpectedValidator, expectedSpans, expectedValidators } from './expected-validators.ts'
import { dayOfHorizon, type Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import { lacksOfOpenDays } from './open-lacks.ts'
import { isServed } from './shown-days.ts'
import { validatorDays } from './validator-days.ts'

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
  /** How many of its validators are not counted on a day: their balances are not explained, or the log does not have them, or not at the horizon. */
  readonly missing: ReadonlyMap<DayNumber, number>
  readonly openDays: Incomes['openDays']
}

const ACTIVE = new Set(VALIDATOR_STATUSES.flatMap((status, code) => (status.startsWith('active_') ? [code] : [])))

const totalsMemo = new StandingMemo<AccountTotals>(({ items }) => items.length)

/** Cumulative income up to the horizon and the state at it: sums over the account and each of its validators. */
export function accountTotals(scope: AccountScope, horizon: Horizon): Promise<AccountTotals> {
  return totalsMemo.of(scope.standing, scope.account, async () => {
    const today = dayOfHorizon(horizon)
    const [{ registered }, states, { incomes, ...told }, deposited] = await Promise.all([
      seenValidators(scope),
      validatorStates(scope, horizon.epoch),
      selectIncomes(scope, horizon),
      countDeposited(scope, today, horizon),
    ])
    const items: (ValidatorTotals & { readonly isPresent: boolean })[] = registered.flatMap((validator) => {
      const state = states.get(validator.index)
      if (state === undefined || !validator.intervals.some(({ fromDay }) => fromDay <= today)) return []
      const isPresent = validator.intervals.some((days) => isIn(days, today))
      return [{ ...(incomes.get(validator.index) ?? NO_INCOME), pubkey: validator.pubkey, state, isPresent }]
    })
    const present = items.filter(({ isPresent }) => isPresent)
    return {
      ...items.reduce(addIncome, NO_INCOME),
      deposited,
      active: present.filter(({ state }) => ACTIVE.has(state.status)).length,
      balanceGwei: present.reduce((sum, { state }) => sum + BigInt(state.balance_gwei), 0n),
      items,
      missing: await missingOf(scope, horizon, { ...told, states }),
      openDays: told.openDays,
    }
  })
}

/**
 * How many closed days are whole is told with the incomes. Only of an account that has too few its days are read: each with the number of validators
 * that it lacks, as daily figures tell it. Neither side counts days before a validator is active. What the running day lacks is told with them too.
 */
async function missingOf(
  scope: AccountScope,
  horizon: Horizon,
  { unproven, wholeDays, openDays, states }: Omit<Incomes, 'incomes'> & { readonly states: States },
): Promise<ReadonlyMap<DayNumber, number>> {
  const { closedDays } = horizon
  const validators = await expectedValidators(scope, horizon)
  const running = lacksOfOpenDays(horizon, validators, openDays)
  const lacksDays = validators.some((validator) => {
    const expected = expectedSpans(validator, closedDays).reduce((sum, [from, to]) => sum + to - from, 0)
    const whole = validator.index === undefined ? undefined : wholeDays.get(validator.index)
    return expected > (whole ?? 0)
  })
  const reading = { ...scope, warehouse: scope.shared, servesUnproven: false }
  const all = { from: closedDays[0]?.day ?? 0, to: (closedDays.at(-1)?.day ?? -1) + 1 }
  const days = lacksDays ? await expectedDays(reading, horizon, all) : []
  const lacking = days.filter(({ missing }) => missing > 0).map(({ day, missing }) => [day, missing] as const)
  const found = new Map([...unproven, ...running, ...lacking])
  const later = validators.filter((one): one is Known => one.index !== undefined && !states.has(one.index))
  for (const day of await daysOfLater(reading, horizon, later)) found.set(day, (found.get(day) ?? 0) + 1)
  return found
}

/**
 * What is missing on some days, with those of some validators (all, where no index is given) of which the chain's first day lacks something: while it
 * is not closed it has no daily figures to tell it by.
 */
export async function withFirstDay(
  scope: AccountScope,
  horizon: Horizon,
  { days: { from, to }, indices = [] }: { readonly days: Days; readonly indices?: readonly number[] },
  missing: ReadonlyMap<DayNumber, number>,
): Promise<ReadonlyMap<DayNumber, number>> {
  const day = dayOfSlot(horizon.clock, 0)
  if (day < from || to <= day || horizon.closedDays.some((closed) => closed.day === day)) return missing
  const totals = await accountTotals(scope, horizon)
  const wanted = new Set(indices)
  const isWanted = ({ index }: ExpectedValidator) => index !== undefined && wanted.has(index)
  const lacks =
    wanted.size === 0
      ? totals.missing
      : lacksOfOpenDays(horizon, (await expectedValidators(scope, horizon)).filter(isWanted), totals.openDays)
  const lacking = lacks.get(day)
  return lacking === undefined ? missing : new Map([...missing, [day, lacking]])
}

type States = ReadonlyMap<number, ValidatorState>
type Known = ExpectedValidator & { readonly index: number }

/**
 * Closed days of validators that have no state at the horizon, as those that were tracked after its epoch: what daily figures have of them is
 * in no total yet.
 */
async function daysOfLater(scope: DaysScope, horizon: Horizon, later: readonly Known[]): Promise<readonly DayNumber[]> {
  const { closedDays } = horizon
  const [first, last] = [closedDays[0], closedDays.at(-1)]
  if (later.length === 0 || first === undefined || last === undefined) return []
  const expected = new Map(
    later.map((one) => {
      const days = expectedSpans(one, closedDays).flatMap(([from, to]) => closedDays.slice(from, to))
      return [one.index, new Set(days.map(({ day }) => day))]
    }),
  )
  const window = { indices: new Set(expected.keys()), days: { from: first.day, to: last.day + 1 } }
  const rows = (await validatorDays(scope, horizon, window)).filter(isServed(scope))
  return rows.flatMap(({ validator_index: index, day: date }) => {
    const day = parseDay(date)
    return day !== undefined && expected.get(index)?.has(day) === true ? [day] : []
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
