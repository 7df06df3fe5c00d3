import { checksumAddress } from '../../schemas/eth/hex.ts'
import { dayStartSec, formatLocalTime } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import { type SettledReward, settledRewards } from '../../schemas/routes/rewards/settled-rewards.ts'
import { operation, pageOffset } from '../http/operation.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'
import { type SettlementRecord, selectSettlements, sumSettlements } from './select-settlements.ts'

export const settledRewardsOperation = operation(settledRewards, async ({ query }, scope) => {
  const window = dayWindow(scope.nowMs, query, 'month')
  if (window.status === 'refused') return window
  const filter = {
    chain: scope.chain,
    account: scope.account,
    fromSec: dayStartSec(window.from),
    toSec: dayStartSec(window.to),
    indices: query.validator_indexes,
  }
  const [sums, rows] = await Promise.all([
    sumSettlements(scope.warehouse, filter),
    selectSettlements(scope.warehouse, filter, { offset: pageOffset(query), limit: query.limit }),
  ])
  const data = {
    rewards: rows.map(toSettledReward),
    sum_reward: formatEthFromWei(BigInt(sums.user_reward_wei)),
    sum_service_fee: formatEthFromWei(BigInt(sums.service_fee_wei)),
  }
  const completeness = completenessOf(await horizonOf(scope.standing), window)
  return answerFigures(data, { page: query.page, limit: query.limit, total: Number(sums.records) }, completeness)
})

function toSettledReward(row: SettlementRecord): SettledReward {
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
  }
}
