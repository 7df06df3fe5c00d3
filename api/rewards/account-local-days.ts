import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { type DayNumber, formatDay, parseDay } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import type { LocalDay } from '../../schemas/eth/utc-offset.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import type { AccountDay, DaysScope } from './account-days.ts'
import { activationsOf } from './activations.ts'
import { expectedValidators } from './expected-validators.ts'
import type { Horizon } from './horizon.ts'
import { closedLocalDays, hasPartOfLocalDay, type LocalWindow, localDays } from './local-days.ts'
import { addSums, NO_SUMS, type PeriodSums, sumsOfDay } from './period-sums.ts'
import type { ValidatorDayRow } from './validator-days.ts'

/** Rows, one for each validator and day, that are in memory at once. */
const ROWS_AT_ONCE = 50_000

/** An account's sums of a day by another offset than UTC+8: all of it is proven, whatever the operator has served of UTC+8 days. */
export interface AccountLocalDay extends AccountDay {
  readonly sums: PeriodSums
}

/**
 * The account's closed days of a window by an offset, ascending, those of which it should have a row and has none among them: as `expectedDays`
 * gives those of UTC+8. A validator without a row of `localDays` is missing.
 */
export async function accountLocalDays(
  scope: DaysScope,
  horizon: Horizon,
  { days, offsetSec }: LocalWindow,
): Promise<readonly AccountLocalDay[]> {
  const { registered } = await seenValidators(scope)
  const activations = await activationsOf(scope, horizon)
  const unseen = (await expectedValidators(scope, horizon)).filter(({ index }) => index === undefined)
  const closed = closedLocalDays(horizon, days, offsetSec)
  const found = new Map(
    closed.map(({ day, utc8 }) => {
      const missing = unseen.filter((validator) => hasPartOfLocalDay(validator, utc8)).length
      return [day, { ...noneOf(day), missing }]
    }),
  )
  for (const validators of inStatements(registered)) {
    const indices = new Set(validators.map(({ index }) => index))
    for (const some of inStatements(closed, Math.ceil(ROWS_AT_ONCE / validators.length))) {
      const window = { from: some[0]?.day ?? 0, to: (some.at(-1)?.day ?? 0) + 1 }
      const rows = await localDays(scope, horizon, { indices, days: window, offsetSec })
      const rowsOf = Map.groupBy(rows, ({ day }) => parseDay(day))
      for (const local of some) {
        const own = rowsOf.get(local.day) ?? []
        const missing = countMissing(local, { validators, rows: own, activations })
        found.set(local.day, addDay(found.get(local.day) ?? noneOf(local.day), own, missing))
      }
    }
  }
  return [...found.values()].filter(({ validators, missing }) => validators + missing > 0)
}

/** Those that the account has on the day or a part of it, activated by its end, and of which there is no row. */
function countMissing(
  { utc8, lastEpoch }: LocalDay,
  {
    validators,
    rows,
    activations,
  }: {
    readonly validators: readonly SeenValidator[]
    readonly rows: readonly ValidatorDayRow[]
    readonly activations: ReadonlyMap<number, bigint>
  },
): number {
  const isFound = new Set(rows.map((row) => row.validator_index))
  return validators.filter((validator) => {
    const isActivated = (activations.get(validator.index) ?? FAR_FUTURE_EPOCH) <= BigInt(lastEpoch)
    return isActivated && !isFound.has(validator.index) && hasPartOfLocalDay(validator, utc8)
  }).length
}

function noneOf(day: DayNumber): AccountLocalDay {
  const none = { elRewardWei: 0n, clRewardGwei: 0n, earning: 0, validators: 0, blocksUnproven: 0, versions: 0n }
  return { ...none, date: formatDay(day), day, missing: 0, unproven: { ...none, activated: 0 }, sums: NO_SUMS }
}

function addDay(known: AccountLocalDay, rows: readonly ValidatorDayRow[], missing: number): AccountLocalDay {
  const own = rows.map(sumsOfDay)
  const earning = own.filter((one) => one.el_reward_wei + toWei(one.cl_reward_gwei) > 0n).length
  const sums = own.reduce(addSums, known.sums)
  return {
    ...known,
    elRewardWei: sums.el_reward_wei,
    clRewardGwei: sums.cl_reward_gwei,
    earning: known.earning + earning,
    validators: known.validators + rows.length,
    blocksUnproven: rows.reduce((count, row) => count + row.blocks_unexplained, known.blocksUnproven),
    missing: known.missing + missing,
    sums,
  }
}
