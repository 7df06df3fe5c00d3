import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { type DailyReward, dailyRewards } from '../../schemas/routes/rewards/daily-rewards.ts'
import { answerPage, operation, pageOffset } from '../http/operation.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'
import { type AccountDayRow, selectAccountDays } from './select-rewards.ts'

export const dailyRewardsOperation = operation(dailyRewards, async ({ query }, scope) => {
  const window = dayWindow(scope.nowMs, query, 'yesterday', 'any')
  if (window.status === 'refused') return window
  const { warehouse, account } = scope
  const horizon = await horizonOf(scope.standing)
  const { from, to } = window
  const days = horizon === undefined ? [] : await selectAccountDays(warehouse, { account, horizon, from, to })
  const offset = pageOffset(query)
  const reward = days.slice(offset, offset + query.limit).map(toDailyReward)
  return answerPage({ reward }, { page: query.page, limit: query.limit, total: days.length })
})

function toDailyReward(row: AccountDayRow): DailyReward {
  const elWei = BigInt(row.el_reward_wei)
  const clGwei = BigInt(row.cl_reward_gwei)
  return {
    date: row.day,
    el_reward: formatEthFromWei(elWei),
    cl_reward: formatEthFromGwei(clGwei),
    total_reward: formatEthFromWei(elWei + toWei(clGwei)),
    validators_active_count: Number(row.earning),
  }
}
