import { DAY_SEC, dayOfInstant, dayStartSec } from '../../schemas/eth/time.ts'
import { USAGE_DAYS_MAX, usageRoute } from '../../schemas/routes/account/usage.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { openBudget } from '../http/budget.ts'
import { answerPage, pageOffset } from '../http/operation.ts'
import { accountOperation } from './account.ts'
import { notLoggedIn } from './answers.ts'
import { readUsage, STEP_SEC } from './usage-sums.ts'

/** What the table's times can say. */
const SEC_MAX = 2 ** 32 - 1

export const usage = accountOperation(usageRoute, async ({ query, session }, accounts) => {
  const found = await accounts.ask({ kind: 'look', session })
  if (found.status !== 'found') return notLoggedIn()
  const { account } = found.user
  const nowSec = Math.floor(accounts.parts.wallNow() / 1_000)
  const { page, limit, step } = query
  const fromSec = query.from === undefined ? dayStartSec(dayOfInstant(nowSec)) : minuteOf(query.from, Math.floor)
  const toSec = query.to === undefined ? nowSec + 1 : minuteOf(query.to, Math.ceil)
  const daysMax = USAGE_DAYS_MAX[step]
  // The format has leap seconds, which no clock here counts.
  if (Number.isNaN(fromSec + toSec)) return refuse('400', 'from or to is a leap second', 'period_not_valid')
  if (!(toSec > fromSec)) return refuse('400', 'to is not behind from', 'period_not_valid')
  if (toSec - fromSec > daysMax * DAY_SEC)
    return refuse('400', `from and to are more than ${daysMax} days apart`, 'period_not_valid')
  if (fromSec < 0 || toSec > SEC_MAX)
    return refuse('400', 'from or to is beyond the years that are counted, 1970 to 2106', 'period_not_valid')
  const warehouse = openBudget({ ...accounts.parts, account })
  const asked = { ...query, account, fromSec, toSec }
  const { rows, total } = await readUsage(warehouse, asked, { rows: limit, offset: pageOffset(query) })
  // A page behind the last one has no row that tells how many there are.
  const isBehind = rows.length === 0 && page > 1
  const all = isBehind ? (await readUsage(warehouse, asked, { rows: 1, offset: 0 })).total : total
  return answerPage(
    rows.map(({ item }) => item),
    { page, limit, total: all },
  )
})

/** Unix seconds of the minute that the instant lies in, or of the next one. */
function minuteOf(instant: string, round: (minutes: number) => number): number {
  return round(Date.parse(instant) / (1_000 * STEP_SEC.minute)) * STEP_SEC.minute
}
