import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { type DailyReward, dailyRewards } from '../../schemas/routes/rewards/daily-rewards.ts'
import { answerPage, operation, pageOffset } from '../http/operation.ts'
import { type AccountDay, accountDays } from './account-days.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'

export const dailyRewardsOperation = operation(dailyRewards, async ({ query }, scope) => {
  const window = dayWindow(scope.nowMs, query, 'yesterday', 'any')
  if (window.status === 'refused') return window
  const horizon = await horizonOf(scope.standing)
  const days = horizon === undefined ? [] : await accountDays(scope, horizon, window)
  const offset = pageOffset(query)
  const reward = days.slice(offset, offset + query.limit).map(toDailyReward)
  return answerPage({ reward }, { page: query.page, limit: query.limit, total: days.length })
})

function toDailyReward({ date, elRewardWei, clRewardGwei, earning }: AccountDay): DailyReward {
  return {
    date,
    el_reward: formatEthFromWei(elRewardWei),
    cl_reward: formatEthFromGwei(clRewardGwei),
    total_reward: formatEthFromWei(elRewardWei + toWei(clRewardGwei)),
    validators_active_count: earning,
  }
}
