import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { TOKEN_HASH_CHARACTERS } from '../../schemas/access-token.ts'
import { DAY_OFFSET_SEC, DAY_SEC, formatInstant } from '../../schemas/eth/time.ts'
import { USAGE_PARTS, type UsageItem, type UsageQuery } from '../../schemas/routes/account/usage.ts'
import { quantileMs, TIME_BUCKETS } from '../../schemas/usage-times.ts'

/** Seconds; `all` begins nowhere. */
export const STEP_SEC = { minute: 60, hour: 3_600, day: DAY_SEC, all: 0 } as const
const FAILED_STATUS_MIN = 400

/** What sums can be by: an account sees its own alone, operators those of all. */
const SUMMED_PARTS = ['account', ...USAGE_PARTS] as const
type SummedPart = (typeof SUMMED_PARTS)[number]

const COLUMNS: Readonly<Record<SummedPart, string>> = {
  account: 'toString(account)',
  key: `substring(token_hash, 1, ${TOKEN_HASH_CHARACTERS})`,
  blockchain: "concat(protocol, '/', network)",
  method: 'toString(method)',
  status: 'toString(status)',
}
const P99 = 0.99

/** Which calls are summed up, and by what. */
export interface AskedUsage extends Pick<UsageQuery, 'step' | 'key_id' | 'blockchain' | 'method' | 'status'> {
  /** Undefined: of all. */
  readonly account: string | undefined
  /** Unix seconds, of whole minutes. */
  readonly fromSec: number
  /** Behind the last. */
  readonly toSec: number
  readonly by: readonly SummedPart[]
}

/** A row; of the account where sums are by it. */
export interface UsageSums {
  readonly account: string | null
  readonly item: UsageItem
}

interface UsageRow {
  /** Unix seconds. */
  readonly time: string
  // Empty where rows are not by it.
  readonly of_account: string
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

/** Rows in the order of time and of what they are by, and how many there are in all, which a page behind the last one does not tell. */
export async function readUsage(
  warehouse: Pick<WarehouseReader, 'query'>,
  asked: AskedUsage,
  { rows: limit, offset }: { readonly rows: number; readonly offset: number },
): Promise<{ readonly rows: readonly UsageSums[]; readonly total: number }> {
  const { account = '', fromSec, toSec, step, key_id: keyId = '', blockchain = '', method = '', status = 0 } = asked
  const params = {
    ...{ account, fromSec, toSec, stepSec: STEP_SEC[step], offsetSec: DAY_OFFSET_SEC },
    ...{ keyId, blockchain, method, status, rows: limit, offset },
  }
  const rows = await warehouse.query<UsageRow>(usageSql(asked), params)
  return { rows: rows.map((row) => toSums(row, asked)), total: Number(rows[0]?.total ?? 0) }
}

/** One statement, whatever the rows are by: a row has nothing of what they are not by. */
function usageSql({ account, step, by, key_id, blockchain, method, status }: AskedUsage): string {
  const local = 'toUnixTimestamp(minute) + {offsetSec:UInt32}'
  const time = `intDiv(${local}, {stepSec:UInt32}) * {stepSec:UInt32} - {offsetSec:UInt32}`
  const parts = SUMMED_PARTS.map((part) => `${by.includes(part) ? COLUMNS[part] : "''"} AS of_${part}`)
  const filters = [
    'minute >= {fromSec:UInt32} AND minute < {toSec:UInt32}',
    ...(account === undefined ? [] : ['account = {account:String}']),
    ...(key_id === undefined ? [] : ['startsWith(token_hash, {keyId:String})']),
    ...(blockchain === undefined ? [] : [`${COLUMNS.blockchain} = {blockchain:String}`]),
    ...(method === undefined ? [] : ['method = {method:String}']),
    ...(status === undefined ? [] : ['status = {status:UInt16}']),
  ]
  const groups = ['time', ...SUMMED_PARTS.map((part) => `of_${part}`)].join(', ')
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

function toSums(row: UsageRow, { step }: AskedUsage): UsageSums {
  const calls = Number(row.all_calls)
  const ofCalls = (sum: number): number | null => (calls === 0 ? null : sum / calls)
  const item = {
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
  return { account: row.of_account || null, item }
}
