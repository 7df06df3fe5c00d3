import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { MONTH_SUMS } from '../../schemas/tables/months.ts'
import { indexSlices, isInSlice } from '../rewards/index-slices.ts'
import { PROVE_ALL, type Proving } from './proving.ts'

/** A validator whose stored month is not the sum of its days, or is there without them, or is not there. */
export interface WrongMonth {
  readonly chain: string
  /** Its first day. */
  readonly month: string
  readonly validator_index: number
}

/** Of one month and slice of validators: enough to see what they have in common. */
const EXAMPLES_MAX = 20

// Months that are not summed as their closed days stand are read from these days: nothing is served from their rows.
const MONTHS_SQL = `
SELECT m.chain AS chain, m.month AS month, toString(m.version) AS version FROM (SELECT * FROM closed_months FINAL) AS m
INNER JOIN (
  SELECT chain, toStartOfMonth(day) AS month, sum(version) AS version FROM closed_days FINAL GROUP BY chain, month
) AS d ON d.chain = m.chain AND d.month = m.month AND d.version = m.version
WHERE {chain:String} IN ('', m.chain)
ORDER BY chain, month`

const WRONG_SQL = `
SELECT {chain:String} AS chain, toString({month:Date}) AS month, if(d.known = 1, d.validator_index, m.validator_index) AS validator_index
FROM (
  SELECT validator_index, (${MONTH_SUMS.map(({ sql }) => sql).join(', ')}) AS sums, 1 AS known FROM daily_rewards FINAL
  WHERE chain = {chain:String} AND toStartOfMonth(day) = {month:Date}
    AND day IN (SELECT day FROM closed_days FINAL WHERE chain = {chain:String}) AND ${isInSlice('validator_index')}
  GROUP BY validator_index
) AS d
FULL JOIN (
  SELECT validator_index, (${MONTH_SUMS.map(({ column }) => column).join(', ')}) AS sums, version FROM monthly_rewards FINAL
  WHERE chain = {chain:String} AND month = {month:Date} AND ${isInSlice('validator_index')}
) AS m ON m.validator_index = d.validator_index
WHERE d.sums != m.sums OR m.version != {version:UInt64}
ORDER BY validator_index
LIMIT ${EXAMPLES_MAX}`

const NEWEST_SQL = `
SELECT max(validator_index) AS newest FROM monthly_rewards WHERE chain = {chain:String} AND month = {month:Date}`

/**
 * Sums the days of each month again that totals are read from, some validators at a time, of one chain if it is given; yields what differs.
 */
export async function* proveMonths(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  indicesAtOnce?: number,
): AsyncGenerator<WrongMonth> {
  const months = await warehouse.query<{ chain: string; month: string; version: string }>(MONTHS_SQL, { chain })
  for (const { version, ...month } of months) {
    for (const slice of await indexSlices(warehouse, NEWEST_SQL, month, indicesAtOnce)) {
      const params = { ...month, version: BigInt(version), ...slice }
      let wrong = await warehouse.query<WrongMonth>(WRONG_SQL, params)
      while (wrong.length > 0 && (await again())) wrong = await warehouse.query<WrongMonth>(WRONG_SQL, params)
      yield* wrong
    }
  }
}
