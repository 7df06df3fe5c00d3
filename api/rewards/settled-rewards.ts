import { checksumAddress } from '../../schemas/eth/address.ts'
import { formatLocalTime } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import { type SettledReward, settledRewards } from '../../schemas/routes/rewards/settled-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { operation, type RequestScope } from '../http/operation.ts'
import { answerFigures } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'
import { type Days, spansOf, withinLife } from './kept-spans.ts'
import { type SettlementRecord, settlementsAtOnce, settlementsOf } from './select-settlements.ts'
import { completenessOfSettled } from './settled-completeness.ts'
import { settledIncome } from './tax-entries.ts'

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
