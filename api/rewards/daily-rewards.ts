import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { type DailyReward, dailyRewards } from '../../schemas/routes/rewards/daily-rewards.ts'
import { operation, pageOffset } from '../http/operation.ts'
import { type AccountDay, expectedDays } from './account-days.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'

export const dailyRewardsOperation = operation(dailyRewards, async ({ query }, scope) => {
  const window = dayWindow(scope.nowMs, query, 'yesterday', 'any')
  if (window.status === 'refused') return window
  const horizon = await horizonOf(scope.standing)
  const expected = horizon === undefined ? [] : await expectedDays(scope, horizon, window)
  const days = expected.filter(({ validators }) => validators > 0)
  const missing = new Map(expected.map((row) => [row.day, row.missing]))
  const offset = pageOffset(query)
  const reward = days.slice(offset, offset + query.limit).map(toDailyReward)
  const completeness = completenessOf(horizon, window, missing)
  return answerFigures({ reward }, { page: query.page, limit: query.limit, total: days.length }, completeness)
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
