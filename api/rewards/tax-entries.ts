import { dayStartSec, parseDay } from '../../schemas/eth/time.ts'
import { utcOffsetName } from '../../schemas/eth/utc-offset.ts'
import type { SettledReward } from '../../schemas/routes/rewards/settled-rewards.ts'
import type { TaxEntry } from '../http/csv.ts'

interface DayOfIncome {
  readonly date: string
  readonly el_reward: string
  readonly cl_reward: string
}

/** Income of both layers apart: they are paid at different addresses. At the end of the day by its offset from UTC, seconds. */
export function incomeOfDay(
  { date, el_reward, cl_reward }: DayOfIncome,
  offsetSec: number,
  whose = '',
): readonly TaxEntry[] {
  const day = parseDay(date)
  if (day === undefined) throw new Error(`${date} is no day.`)
  const timeSec = dayStartSec(day + 1, offsetSec) - 1
  const of = `of ${date} (${utcOffsetName(offsetSec)})${whose}`
  return [
    { timeSec, amountEth: cl_reward, description: `Consensus rewards ${of}` },
    { timeSec, amountEth: el_reward, description: `Execution rewards ${of}` },
  ]
}

/** What the user is paid of a block, the fee subtracted, or what a correction gives or takes back, and why. */
export function settledIncome({
  kind,
  id,
  validator_index,
  user_reward,
  reward_time,
  reason,
}: SettledReward): readonly TaxEntry[] {
  const description =
    kind === 'block'
      ? `Block ${id} of validator ${validator_index}, less the fee`
      : `Correction ${id} of validator ${validator_index}: ${reason}`
  return [
    {
      timeSec: Date.parse(`${reward_time.replace(' ', 'T')}+08:00`) / 1_000,
      amountEth: user_reward,
      description,
    },
  ]
}
