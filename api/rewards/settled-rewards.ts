import { checksumAddress } from '../../schemas/eth/address.ts'
import { formatLocalTime } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import { type SettledReward, settledRewards } from '../../schemas/routes/rewards/settled-rewards.ts'
import { operation, pageOffset } from '../http/operation.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'
import { type SettlementRecord, settlementsOf } from './select-settlements.ts'

export const settledRewardsOperation = operation(settledRewards, async ({ query }, scope) => {
  const window = dayWindow(scope.nowMs, query, 'month')
  if (window.status === 'refused') return window
  const wanted = new Set(query.validator_indexes)
  const settled = await settlementsOf(scope, window)
  const records = wanted.size === 0 ? settled : settled.filter(({ validator_index }) => wanted.has(validator_index))
  const offset = pageOffset(query)
  const data = {
    rewards: records.slice(offset, offset + query.limit).map(toSettledReward),
    sum_reward: formatEthFromWei(records.reduce((sum, { user_reward_wei }) => sum + BigInt(user_reward_wei), 0n)),
    sum_service_fee: formatEthFromWei(records.reduce((sum, { service_fee_wei }) => sum + BigInt(service_fee_wei), 0n)),
  }
  const completeness = completenessOf(await horizonOf(scope.standing), window)
  return answerFigures(data, { page: query.page, limit: query.limit, total: records.length }, completeness)
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
