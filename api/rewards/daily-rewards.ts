import { DAY_OFFSET_SEC } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { parseUtcOffset } from '../../schemas/eth/utc-offset.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { type DailyReward, type DailyRewardLine, dailyRewards } from '../../schemas/routes/rewards/daily-rewards.ts'
import { pageOf } from '../http/cursor.ts'
import { operation, type RequestScope } from '../http/operation.ts'
import { type AccountDay, expectedDays } from './account-days.ts'
import { accountLocalDays } from './account-local-days.ts'
import { answerFigures, completenessOf } from './completeness.ts'
import { type DateQuery, dayWindow, nowBy, OFFSET_REFUSAL } from './day-window.ts'
import { type Horizon, horizonOf } from './horizon.ts'
import { type Days, reportSpansOf } from './kept-spans.ts'
import { horizonBy } from './local-days.ts'
import { missingOf } from './shown-days.ts'
import { incomeOfDay } from './tax-entries.ts'

export const dailyRewardsOperation = operation(
  dailyRewards,
  async ({ query }, scope) => {
    const asked = await daysAskedFor(query, scope, (window) => [window])
    if (asked.status === 'refused') return asked
    const page = pageOf(asked.expected.filter(hasFigures), {
      of: [dailyRewards.id, scope.chain, scope.account],
      query,
      keyOf: ({ date }) => [date],
      isBehind: ({ date }, [last = '']) => date > last,
    })
    if (page.status === 'refused') return page
    return answerFigures({ reward: page.items.map(toDailyReward) }, page, asked.completeness)
  },
  async ({ query }, scope) => {
    const asked = await daysAskedFor(query, scope, reportSpansOf)
    if (asked.status === 'refused') return asked
    return {
      status: 'report',
      completeness: asked.completeness,
      rows: [asked.expected.filter(hasFigures).map(toLine)],
      toTaxEntries: (row) => incomeOfDay(row as DailyRewardLine, asked.offsetSec),
    }
  },
)

type DaysQuery = DateQuery & { readonly utc_offset?: string | undefined }

/** One row of each day: no more than the horizon has. They are read by the spans that the window is made of. */
async function daysAskedFor(
  query: DaysQuery,
  scope: RequestScope,
  spansOf: (window: Days, horizon: Horizon) => readonly Days[],
) {
  const offsetSec = query.utc_offset === undefined ? DAY_OFFSET_SEC : parseUtcOffset(query.utc_offset)
  if (offsetSec === undefined) return refuse('400', OFFSET_REFUSAL)
  const window = dayWindow(nowBy(scope.nowMs, offsetSec), query, 'yesterday', 'any')
  if (window.status === 'refused') return window
  const utc8 = await horizonOf(scope.standing)
  const horizon = utc8 && horizonBy(utc8, offsetSec)
  const expected: AccountDay[] = []
  if (utc8 !== undefined && horizon !== undefined) {
    for (const days of spansOf(window, horizon)) {
      const found = await (offsetSec === DAY_OFFSET_SEC
        ? expectedDays(scope, utc8, days)
        : accountLocalDays(scope, utc8, { days, offsetSec }))
      expected.push(...found)
    }
  }
  const completeness = completenessOf(horizon, window, missingOf(expected), offsetSec)
  return { status: 'found', expected, completeness, offsetSec } as const
}

const hasFigures = ({ validators }: AccountDay): boolean => validators > 0

export function toDailyReward(day: AccountDay): DailyReward {
  const { date, elRewardWei, clRewardGwei, earning, blocksUnproven, unproven, servesUnproven } = day
  return {
    date,
    el_reward: formatEthFromWei(elRewardWei),
    cl_reward: formatEthFromGwei(clRewardGwei),
    total_reward: formatEthFromWei(elRewardWei + toWei(clRewardGwei)),
    validators_active_count: earning,
    ...(blocksUnproven > 0 ? { blocks_unproven_count: blocksUnproven } : {}),
    ...(servesUnproven === true ? { validators_unproven_count: unproven.validators } : {}),
  }
}

function toLine(day: AccountDay): DailyRewardLine {
  const none = { validators_unproven_count: 0, blocks_unproven_count: 0 }
  return { ...none, ...toDailyReward(day), validators_missing: day.missing }
}
