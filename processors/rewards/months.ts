import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { MONTH_SUMS } from '../../schemas/tables/months.ts'
import { indexSlices, isInSlice } from './index-slices.ts'

const CLOSED_SQL = `
SELECT groupArray(day) AS days, sum(version) AS version FROM closed_days FINAL
WHERE chain = {chain:String} AND toStartOfMonth(day) = toStartOfMonth({day:Date})`

const MONTH_SQL = `
INSERT INTO monthly_rewards (chain, month, validator_index, ${MONTH_SUMS.map(({ column }) => column).join(', ')}, version)
SELECT
  {chain:String}, toStartOfMonth({day:Date}), validator_index, ${MONTH_SUMS.map(({ sql }) => sql).join(', ')}, {version:UInt64}
FROM daily_rewards FINAL
WHERE chain = {chain:String} AND day BETWEEN toStartOfMonth({day:Date}) AND toLastDayOfMonth({day:Date})
  AND has({days:Array(Date)}, day) AND ${isInSlice('validator_index')}
GROUP BY validator_index`

const NEWEST_SQL = `
SELECT max(validator_index) AS newest FROM daily_rewards WHERE chain = {chain:String} AND day = {day:Date}`

const CLOSED_MONTH_SQL = `
INSERT INTO closed_months (chain, month, days, version)
SELECT {chain:String}, toStartOfMonth({day:Date}), {count:UInt8}, {version:UInt64}`

const UNSUMMED_SQL = `
SELECT toUInt16(max(day)) AS last FROM closed_days FINAL
WHERE chain = {chain:String}
GROUP BY toStartOfMonth(day) AS month
HAVING (month, sum(version)) NOT IN (SELECT month, version FROM closed_months FINAL WHERE chain = {chain:String})
ORDER BY last`

/** The last closed day of each month whose sums are not those of all its closed days, or not there: to close it again sums the month. */
export async function daysOfUnsummedMonths(warehouse: Warehouse, chain: string): Promise<readonly DayNumber[]> {
  const rows = await warehouse.query<{ last: DayNumber }>(UNSUMMED_SQL, { chain })
  return rows.map(({ last }) => last)
}

/**
 * Sums the closed days of the month that a day lies in: to be called when the day is closed. Whoever closes the last day of several finds
 * all of them closed; rows of fewer days have a smaller version.
 */
export async function sumMonth(
  warehouse: Warehouse,
  chain: string,
  day: DayNumber,
  indicesAtOnce?: number,
): Promise<void> {
  const params = { chain, day: formatDay(day) }
  const [closed] = await warehouse.query<{ days: readonly string[]; version: string }>(CLOSED_SQL, params)
  if (closed === undefined || closed.days.length === 0) return
  const { days, version } = closed
  const month = { ...params, days, version: BigInt(version) }
  for (const slice of await indexSlices(warehouse, NEWEST_SQL, params, indicesAtOnce))
    await warehouse.command(MONTH_SQL, { ...month, ...slice })
  await warehouse.command(CLOSED_MONTH_SQL, { ...params, count: days.length, version: BigInt(version) })
}
