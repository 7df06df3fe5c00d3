import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { DAY_OFFSET_SEC, type DayNumber } from '../../schemas/eth/time.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { expectedDays } from './account-days.ts'
import { withFirstDay } from './account-totals.ts'
import { completenessOf } from './completeness.ts'
import { expectedValidators } from './expected-validators.ts'
import type { Horizon } from './horizon.ts'
import { type Days, reportSpansOf } from './kept-spans.ts'
import { missingDays, missingOf } from './shown-days.ts'
import { validatorDays } from './validator-days.ts'

type SettledScope = AccountScope & { readonly warehouse: WarehouseReader }

interface SettledWindow {
  readonly days: Days
  /** None mean all validators. */
  readonly indices: readonly number[]
}

/** What settlements of some days cover. Whose day is whole lacks no block of it, whether or not its balances are explained. */
export async function completenessOfSettled(
  scope: SettledScope,
  horizon: Horizon | undefined,
  window: SettledWindow,
): Promise<Completeness> {
  const { days } = window
  if (horizon === undefined) return completenessOf(horizon, days)
  const missing = await missingOfSettled(scope, horizon, window)
  return completenessOf(horizon, days, await withFirstDay(scope, horizon, window, missing))
}

async function missingOfSettled(
  scope: SettledScope,
  horizon: Horizon,
  { days, indices }: SettledWindow,
): Promise<ReadonlyMap<DayNumber, number>> {
  const spans = reportSpansOf(days, horizon)
  if (indices.length === 0) {
    const reading = { ...scope, servesUnproven: true }
    return missingOf((await Array.fromAsync(spans, (span) => expectedDays(reading, horizon, span))).flat())
  }
  const wanted = new Set(indices)
  const rows = await Array.fromAsync(spans, (span) => validatorDays(scope, horizon, { indices: wanted, days: span }))
  const rowsOf = Map.groupBy(rows.flat(), ({ validator_index }) => validator_index)
  const missing = new Map<DayNumber, number>()
  for (const one of await expectedValidators(scope, horizon)) {
    if (one.index === undefined || !wanted.has(one.index)) continue
    const own = missingDays(horizon, [one], { days, offsetSec: DAY_OFFSET_SEC }, rowsOf.get(one.index) ?? [])
    for (const [day, count] of own) missing.set(day, (missing.get(day) ?? 0) + count)
  }
  return missing
}
