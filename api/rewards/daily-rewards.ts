import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { type DailyReward, type DailyRewardLine, dailyRewards } from '../../schemas/routes/rewards/daily-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { operation } from '../http/operation.ts'
import { type AccountDay, expectedDays } from './account-days.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { dayWindow } from './day-window.ts'
import { horizonOf } from './horizon.ts'
import { reportSpansOf } from './kept-spans.ts'
import { incomeOfDay } from './tax-entries.ts'

export const dailyRewardsOperation = operation(
  dailyRewards,
  async ({ query }, scope) => {
    const window = dayWindow(scope.nowMs, query, 'yesterday', 'any')
    if (window.status === 'refused') return window
    const horizon = await horizonOf(scope.standing)
    const expected = horizon === undefined ? [] : await expectedDays(scope, horizon, window)
    const page = pageOf(expected.filter(hasFigures), {
      of: [dailyRewards.id, scope.chain, scope.account],
      query,
      keyOf: ({ date }) => [date],
      isBehind: ({ date }, [last = '']) => date > last,
    })
    if (page.status === 'refused') return page
    const completeness = completenessOf(horizon, window, missingOf(expected))
    return answerFigures({ reward: page.items.map(toDailyReward) }, page, completeness)
  },
  async ({ query }, scope) => {
    const window = dayWindow(scope.nowMs, query, 'yesterday', 'any')
    if (window.status === 'refused') return window
    const horizon = await horizonOf(scope.standing)
    const expected: AccountDay[] = []
    // One row of each day: no more than the horizon has. What they cover is told before them.
    for (const span of horizon === undefined ? [] : reportSpansOf(window, horizon))
      if (horizon !== undefined) expected.push(...(await expectedDays(scope, horizon, span)))
    return {
      status: 'report',
      completeness: completenessOf(horizon, window, missingOf(expected)),
      rows: [expected.filter(hasFigures).map(toLine)],
      toTaxEntries: (row) => incomeOfDay(row as DailyRewardLine),
    }
  },
)

const hasFigures = ({ validators }: AccountDay): boolean => validators > 0

/** How many validators each of the days lacks. */
export function missingOf(days: readonly AccountDay[]): ReadonlyMap<number, number> {
  return new Map(days.map((row) => [row.day, row.missing]))
}

export function toDailyReward(day: AccountDay): DailyReward {
  const { date, elRewardWei, clRewardGwei, earning, unproven, servesUnproven } = day
  return {
    date,
    el_reward: formatEthFromWei(elRewardWei),
    cl_reward: formatEthFromGwei(clRewardGwei),
    total_reward: formatEthFromWei(elRewardWei + toWei(clRewardGwei)),
    validators_active_count: earning,
    ...(servesUnproven === true ? { validators_unproven_count: unproven.validators } : {}),
  }
}

function toLine(day: AccountDay): DailyRewardLine {
  return { validators_unproven_count: 0, ...toDailyReward(day), validators_missing: day.missing }
}
