import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { formatDay } from '../../schemas/eth/time.ts'

/** A day that figures are asked of, and that does not have all. */
export interface DayGap {
  readonly chain: string
  readonly day: string
  /** Whether the day is closed; a day between closed days that is not lacks epochs or execution blocks. */
  readonly closed: number
  /** Complete epochs that begin in the day. */
  readonly epochs: string
  /** Tracked validators that were activated by the end of the day and have no whole row for it. */
  readonly validators_missing: string
}

const DAY_GAPS_SQL = `
WITH
  clocks AS (
    SELECT chain, genesis_time_sec, seconds_per_slot, slots_per_epoch FROM chains FINAL WHERE chain = {chain:String}
  ),
  closed AS (
    SELECT c.chain AS chain, c.day AS day, intDiv(c.last_slot, clocks.slots_per_epoch) AS last_epoch
    FROM closed_days AS c FINAL INNER JOIN clocks ON clocks.chain = c.chain
    WHERE c.chain = {chain:String} AND c.day BETWEEN {from:Date} AND {to:Date}
  ),
  begun AS (
    SELECT
      e.chain AS chain, toDate(toDateTime(genesis_time_sec + first_slot * seconds_per_slot, 'UTC') + 28800) AS day,
      count() AS epochs
    FROM epochs AS e FINAL INNER JOIN clocks ON clocks.chain = e.chain
    WHERE e.chain = {chain:String}
    GROUP BY chain, day
  ),
  activations AS (
    SELECT chain, validator_index, activation_epoch FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch = (SELECT max(epoch) FROM epochs WHERE chain = {chain:String})
  ),
  rows AS (
    SELECT r.chain AS chain, r.day AS day, count() AS validators
    FROM daily_rewards AS r FINAL
    INNER JOIN closed ON closed.chain = r.chain AND closed.day = r.day
    INNER JOIN activations ON activations.chain = r.chain AND activations.validator_index = r.validator_index
    WHERE r.chain = {chain:String} AND r.day BETWEEN {from:Date} AND {to:Date} AND r.is_whole = 1
      AND activations.activation_epoch <= closed.last_epoch
    GROUP BY chain, day
  ),
  wanted AS (
    SELECT closed.chain AS chain, closed.day AS day, countIf(activations.activation_epoch <= closed.last_epoch) AS validators
    FROM closed INNER JOIN activations ON activations.chain = closed.chain
    GROUP BY chain, day
  ),
  days AS (
    SELECT {chain:String} AS chain, toDate(arrayJoin(range(toUInt32({from:Date}), toUInt32({to:Date}) + 1))) AS day
  )
SELECT
  days.chain AS chain, toString(days.day) AS day,
  (days.chain, days.day) IN (SELECT chain, day FROM closed_days) AS closed, begun.epochs AS epochs,
  wanted.validators - rows.validators AS validators_missing
FROM days
LEFT JOIN begun ON begun.chain = days.chain AND begun.day = days.day
LEFT JOIN wanted ON wanted.chain = days.chain AND wanted.day = days.day
LEFT JOIN rows ON rows.chain = days.chain AND rows.day = days.day
WHERE closed = 0 OR validators_missing != 0
ORDER BY chain, day`

const SPANS_SQL = `
SELECT chain, toUInt32(min(day)) AS first, toUInt32(max(day)) AS last FROM closed_days
WHERE {chain:String} IN ('', chain) GROUP BY chain ORDER BY chain`

/** Of one statement: it joins the rows of so many days. */
const DAYS_PER_STATEMENT = 31

/**
 * Days from the first to the last closed one that are not closed, and closed days that do not cover every tracked validator; of
 * one chain if it is given. Neither is a wrong figure: detail was never ingested (tracked later, no backfill). What was ingested
 * and is not there, `findMissing` tells, and where it was lost, `proveDays` fails.
 */
export async function findDayGaps(warehouse: Warehouse, chain = ''): Promise<readonly DayGap[]> {
  const gaps: DayGap[] = []
  const spans = await warehouse.query<{ chain: string; first: number; last: number }>(SPANS_SQL, { chain })
  for (const { chain: name, first, last } of spans) {
    for (let from = first; from <= last; from += DAYS_PER_STATEMENT) {
      const to = Math.min(last, from + DAYS_PER_STATEMENT - 1)
      gaps.push(
        ...(await warehouse.query<DayGap>(DAY_GAPS_SQL, { chain: name, from: formatDay(from), to: formatDay(to) })),
      )
    }
  }
  return gaps
}
