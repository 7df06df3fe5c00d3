import { TOKEN_HASH_CHARACTERS } from '../../schemas/access-token.ts'
import { DAY_OFFSET_SEC, DAY_SEC, dayOfInstant, dayStartSec, formatInstant } from '../../schemas/eth/time.ts'
import {
  USAGE_DAYS_MAX,
  USAGE_PARTS,
  type UsageItem,
  type UsagePart,
  type UsageQuery,
  usageRoute,
} from '../../schemas/routes/account/usage.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { quantileMs, TIME_BUCKETS } from '../../schemas/usage-times.ts'
import { openBudget } from '../http/budget.ts'
import { answerPage, pageOffset } from '../http/operation.ts'
import { accountOperation } from './account.ts'
import { notLoggedIn } from './answers.ts'

/** Seconds; `all` begins nowhere. */
const STEP_SEC = { minute: 60, hour: 3_600, day: DAY_SEC, all: 0 } as const
const FAILED_STATUS_MIN = 400

const COLUMNS: Readonly<Record<UsagePart, string>> = {
  key: `substring(token_hash, 1, ${TOKEN_HASH_CHARACTERS})`,
  blockchain: "concat(protocol, '/', network)",
  method: 'toString(method)',
  status: 'toString(status)',
}
/** What the table's times can say. */
const SEC_MAX = 2 ** 32 - 1
const P99 = 0.99

interface UsageRow {
  /** Unix seconds. */
  readonly time: string
  // Empty where rows are not by it.
  readonly of_key: string
  readonly of_blockchain: string
  readonly of_method: string
  readonly of_status: string
  readonly all_calls: string
  readonly succeeded: string
  readonly all_billed: string
  readonly all_time_us: string
  readonly all_times: readonly (number | string)[]
  readonly all_request_bytes: string
  readonly all_answer_bytes: string
  readonly all_pushes: string
  readonly total: string
}

export const usage = accountOperation(usageRoute, async ({ query, session }, accounts) => {
  const found = await accounts.ask({ kind: 'look', session })
  if (found.status !== 'found') return notLoggedIn()
  const { account } = found.user
  const nowSec = Math.floor(accounts.parts.wallNow() / 1_000)
  const { page, limit, step } = query
  const fromSec = query.from === undefined ? dayStartSec(dayOfInstant(nowSec)) : minuteOf(query.from, Math.floor)
  const toSec = query.to === undefined ? nowSec + 1 : minuteOf(query.to, Math.ceil)
  const daysMax = USAGE_DAYS_MAX[step]
  if (!(toSec > fromSec)) return refuse('400', 'to is not behind from', 'period_not_valid')
  if (toSec - fromSec > daysMax * DAY_SEC)
    return refuse('400', `from and to are more than ${daysMax} days apart`, 'period_not_valid')
  if (fromSec < 0 || toSec > SEC_MAX)
    return refuse('400', 'from or to is beyond the years that are counted, 1970 to 2106', 'period_not_valid')
  const { key_id: keyId = '', blockchain = '', method = '', status = 0 } = query
  const params = {
    account,
    fromSec,
    toSec,
    stepSec: STEP_SEC[step],
    offsetSec: DAY_OFFSET_SEC,
    keyId,
    blockchain,
    method,
    status,
  }
  const warehouse = openBudget({ ...accounts.parts, account })
  const select = (rows: number, offset: number) =>
    warehouse.query<UsageRow>(usageSql(query), { ...params, rows, offset })
  const rows = await select(limit, pageOffset(query))
  // A page behind the last one has no row that tells how many there are.
  const [first] = rows.length === 0 && page > 1 ? await select(1, 0) : rows
  return answerPage(
    rows.map((row) => toItem(row, query)),
    { page, limit, total: Number(first?.total ?? 0) },
  )
})

/** Unix seconds of the minute that the instant lies in, or of the next one. */
function minuteOf(instant: string, round: (minutes: number) => number): number {
  return round(Date.parse(instant) / (1_000 * STEP_SEC.minute)) * STEP_SEC.minute
}

/** One statement, whatever the rows are by: a row has nothing of what they are not by. */
function usageSql({ step, by, key_id, blockchain, method, status }: UsageQuery): string {
  const local = 'toUnixTimestamp(minute) + {offsetSec:UInt32}'
  const time = `intDiv(${local}, {stepSec:UInt32}) * {stepSec:UInt32} - {offsetSec:UInt32}`
  const parts = USAGE_PARTS.map((part) => `${by.includes(part) ? COLUMNS[part] : "''"} AS of_${part}`)
  const filters = [
    'account = {account:String} AND minute >= {fromSec:UInt32} AND minute < {toSec:UInt32}',
    ...(key_id === undefined ? [] : ['startsWith(token_hash, {keyId:String})']),
    ...(blockchain === undefined ? [] : [`${COLUMNS.blockchain} = {blockchain:String}`]),
    ...(method === undefined ? [] : ['method = {method:String}']),
    ...(status === undefined ? [] : ['status = {status:UInt16}']),
  ]
  const groups = ['time', ...USAGE_PARTS.map((part) => `of_${part}`)].join(', ')
  return `
    SELECT
      ${step === 'all' ? '0' : time} AS time,
      ${parts.join(', ')},
      sum(calls) AS all_calls,
      sumIf(calls, status < ${FAILED_STATUS_MIN}) AS succeeded,
      sum(billed) AS all_billed,
      sum(time_us) AS all_time_us,
      sumForEach(arrayMap(i -> reinterpretAsUInt32(substring(times, 4 * i + 1, 4)), range(${TIME_BUCKETS}))) AS all_times,
      sum(request_bytes) AS all_request_bytes,
      sum(answer_bytes) AS all_answer_bytes,
      sum(pushes) AS all_pushes,
      count() OVER () AS total
    FROM usage_minutes FINAL
    WHERE ${filters.join(' AND ')}
    GROUP BY ${groups}
    ORDER BY ${groups}
    LIMIT {rows:UInt32} OFFSET {offset:UInt64}`
}

function toItem(row: UsageRow, { step }: UsageQuery): UsageItem {
  const calls = Number(row.all_calls)
  const ofCalls = (sum: number): number | null => (calls === 0 ? null : sum / calls)
  return {
    time: step === 'all' ? null : formatInstant(Number(row.time)),
    key_id: row.of_key || null,
    blockchain: row.of_blockchain || null,
    method: row.of_method || null,
    status: row.of_status === '' ? null : Number(row.of_status),
    calls,
    billed: Number(row.all_billed),
    success_rate: ofCalls(Number(row.succeeded)),
    average_ms: ofCalls(Number(row.all_time_us) / 1_000),
    p99_ms: quantileMs(row.all_times.map(Number), P99) ?? null,
    request_bytes: Number(row.all_request_bytes),
    answer_bytes: Number(row.all_answer_bytes),
    pushes: Number(row.all_pushes),
  }
}
