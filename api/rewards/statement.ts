import { hash } from 'node:crypto'
import { type CanonicalValue, canonicalJson } from '../../schemas/canonical-json.ts'
import { type DayNumber, dayOfInstant, parseDay } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei, toWei } from '../../schemas/eth/units.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { statement } from '../../schemas/routes/rewards/statement.ts'
import { answer, operation, type RequestScope } from '../http/operation.ts'
import { type AccountDay, expectedDays } from './account-days.ts'
import { withFirstDay } from './account-totals.ts'
import { completenessOf } from './completeness.ts'
import { toDailyReward } from './daily-rewards.ts'
import { horizonOf } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import { settlementsOf } from './select-settlements.ts'
import { sumsOf, toSettledReward } from './settled-rewards.ts'
import { missingOf } from './shown-days.ts'

/** Some 460 bytes each. A third of all blocks of mainnet in a month are 75,000. */
const SETTLEMENTS_MAX = 100_000

export const statementOperation = operation(statement, async ({ query: { month } }, scope) => {
  const { statementSigner } = scope
  if (statementSigner === undefined) return refuse('503', 'nothing is signed here')
  const days = daysOfMonth(month)
  if (days.from > dayOfInstant(scope.nowMs / 1_000)) return refuse('4002', 'month')
  const horizon = await horizonOf(scope.standing)
  const expected = horizon === undefined ? [] : await expectedDays(scope, horizon, days)
  const found = missingOf(expected)
  const missing = horizon === undefined ? found : await withFirstDay(scope, horizon, { days }, found)
  const settled = await settlementsOf(scope, days)
  if (settled.length > SETTLEMENTS_MAX) return refuse('400', `the month has more than ${SETTLEMENTS_MAX} settlements`)
  const figures = expected.filter(({ validators }) => validators > 0)
  const text = canonicalJson({
    account: scope.account,
    protocol: scope.protocol,
    network: scope.network,
    month,
    as_of: { epoch: horizon?.epoch ?? null, log: await logName(scope) },
    completeness: completenessOf(horizon, days, missing),
    days: figures.map(toStatedDay),
    ...sumsOfDays(figures),
    settlements: settled.toReversed().map((record) => ({ ...toSettledReward(record), version: record.version })),
    ...sumsOf(settled),
  })
  return answer({
    statement: text,
    signature: statementSigner.sign(text).toString('base64'),
    key_id: statementSigner.keyId(),
  })
})

function daysOfMonth(month: string): Days {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const next = number === 12 ? `${year + 1}`.padStart(4, '0') : month.slice(0, 4)
  return { from: firstOf(month), to: firstOf(`${next}-${`${(number % 12) + 1}`.padStart(2, '0')}`) }
}

/** Tables begin in 1970. */
function firstOf(month: string): DayNumber {
  return Math.max(0, parseDay(`${month}-01`) ?? 0)
}

function toStatedDay(day: AccountDay): CanonicalValue {
  const { validators, missing, versions } = day
  return { ...toDailyReward(day), validators, validators_missing: missing, versions: String(versions) }
}

function sumsOfDays(days: readonly AccountDay[]) {
  const elWei = days.reduce((sum, { elRewardWei }) => sum + elRewardWei, 0n)
  const clGwei = days.reduce((sum, { clRewardGwei }) => sum + clRewardGwei, 0n)
  return {
    sum_el_reward: formatEthFromWei(elWei),
    sum_cl_reward: formatEthFromGwei(clGwei),
    sum_total_reward: formatEthFromWei(elWei + toWei(clGwei)),
  }
}

const LOG_NAME_CHARACTERS = 16

/** Tells logs apart whose identities nobody is told: cursors of NFTs are signed with them. */
async function logName({ shared }: RequestScope): Promise<string | null> {
  const [row] = await shared.query<{ log_id: string }>('SELECT log_id FROM filled_from ORDER BY since DESC LIMIT 1')
  return row === undefined ? null : hash('sha256', `statement ${row.log_id}`, 'hex').slice(0, LOG_NAME_CHARACTERS)
}
