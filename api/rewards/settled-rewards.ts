import { checksumAddress } from '../../schemas/eth/address.ts'
import { DAY_OFFSET_SEC, type DayNumber, formatLocalTime } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import { type SettledReward, settledRewards } from '../../schemas/routes/rewards/settled-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { operation, type RequestScope } from '../http/operation.ts'
import { expectedDays } from './account-days.ts'
import { withFirstDay } from './account-totals.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { expectedValidators } from './expected-validators.ts'
import { type Horizon, horizonOf } from './horizon.ts'
import { type Days, reportSpansOf, spansOf, withinLife } from './kept-spans.ts'
import { type SettlementRecord, settlementsAtOnce, settlementsOf } from './select-settlements.ts'
import { missingDays, missingOf } from './shown-days.ts'
import { settledIncome } from './tax-entries.ts'
import { validatorDays } from './validator-days.ts'

export const settledRewardsOperation = operation(
  settledRewards,
  async ({ query }, scope) => {
    const window = dayWindow(scope.nowMs, query, 'month')
    if (window.status === 'refused') return window
    const isWanted = wantedBy(query.validator_indexes)
    const records = (await settlementsOf(scope, window)).filter(isWanted)
    const page = pageOf(records, {
      of: [settledRewards.id, scope.chain, scope.account],
      query,
      keyOf: ({ time_sec, id }) => [String(time_sec), id],
      isBehind: ({ time_sec, id }, [lastSec, lastId]) =>
        time_sec < Number(lastSec) || (time_sec === Number(lastSec) && Number(id) < Number(lastId)),
    })
    if (page.status === 'refused') return page
    const data = { rewards: page.items.map(toSettledReward), ...sumsOf(records) }
    const horizon = await horizonOf(scope.standing)
    const completeness = await completenessOfSettled(scope, horizon, { days: window, indices: query.validator_indexes })
    return answerFigures(data, page, completeness)
  },
  async ({ query }, scope) => {
    const window = dayWindow(scope.nowMs, query, 'month', 'any')
    if (window.status === 'refused') return window
    const horizon = await horizonOf(scope.standing)
    const isWanted = wantedBy(query.validator_indexes)
    return {
      status: 'report',
      completeness: await completenessOfSettled(scope, horizon, { days: window, indices: query.validator_indexes }),
      // Of a chain that was removed, locked records and corrections stay: there is no horizon, and they are all that there is.
      rows:
        horizon === undefined
          ? [(await settlementsAtOnce(scope, window)).filter(isWanted).map(toSettledReward)]
          : readBySpans(scope, withinLife(window, horizon), isWanted),
      toTaxEntries: (row) => settledIncome(row as SettledReward),
    }
  },
)

interface SettledWindow {
  readonly days: Days
  /** None mean all validators. */
  readonly indices: readonly number[]
}

/** Whose day is whole lacks no block of it, whether or not its balances are explained. */
async function completenessOfSettled(
  scope: RequestScope,
  horizon: Horizon | undefined,
  window: SettledWindow,
): Promise<Completeness> {
  const { days } = window
  if (horizon === undefined) return completenessOf(horizon, days)
  const missing = await missingOfSettled(scope, horizon, window)
  return completenessOf(horizon, days, await withFirstDay(scope, horizon, days, missing))
}

async function missingOfSettled(
  scope: RequestScope,
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

/** Newest first, as the list: a month of them is in memory. */
async function* readBySpans(scope: RequestScope, { from, to }: Days, isWanted: (record: SettlementRecord) => boolean) {
  for (const span of spansOf({ from, to })) {
    const days = { from: Math.max(span.from, from), to: Math.min(span.to, to) }
    yield (await settlementsOf(scope, days)).filter(isWanted).map(toSettledReward)
  }
}

/** No indices mean all validators. */
function wantedBy(indices: readonly number[]): (record: SettlementRecord) => boolean {
  const wanted = new Set(indices)
  return ({ validator_index }) => wanted.size === 0 || wanted.has(validator_index)
}

export function sumsOf(records: readonly SettlementRecord[]) {
  return {
    sum_reward: formatEthFromWei(records.reduce((sum, { user_reward_wei }) => sum + BigInt(user_reward_wei), 0n)),
    sum_service_fee: formatEthFromWei(records.reduce((sum, { service_fee_wei }) => sum + BigInt(service_fee_wei), 0n)),
  }
}

export function toSettledReward(row: SettlementRecord): SettledReward {
  return {
    id: Number(row.id),
    kind: row.kind,
    pubkey: row.pubkey,
    validator_index: row.validator_index,
    fee_address: checksumAddress(row.fee_address),
    el_reward: formatEthFromWei(BigInt(row.revenue_wei)),
    fee_rate: row.fee_rate,
    user_reward: formatEthFromWei(BigInt(row.user_reward_wei)),
    service_fee: formatEthFromWei(BigInt(row.service_fee_wei)),
    reward_time: formatLocalTime(row.time_sec),
    block_number: Number(row.block_number),
    reason: row.kind === 'correction' ? row.reason : null,
  }
}
