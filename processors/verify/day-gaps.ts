import type { Warehouse } from '../../infra/ports/warehouse.ts'

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
  clocks AS (SELECT chain, genesis_time_sec, seconds_per_slot, slots_per_epoch FROM chains FINAL),
  closed AS (
    SELECT c.chain AS chain, c.day AS day, intDiv(c.last_slot, clocks.slots_per_epoch) AS last_epoch
    FROM closed_days AS c FINAL INNER JOIN clocks ON clocks.chain = c.chain
  ),
  begun AS (
    SELECT
      e.chain AS chain, toDate(toDateTime(genesis_time_sec + first_slot * seconds_per_slot, 'UTC') + 28800) AS day,
      count() AS epochs
    FROM epochs AS e FINAL INNER JOIN clocks ON clocks.chain = e.chain
    GROUP BY chain, day
  ),
  activations AS (
    SELECT chain, validator_index, activation_epoch FROM validator_epochs FINAL
    WHERE (chain, epoch) IN (SELECT chain, max(epoch) FROM epochs GROUP BY chain)
  ),
  rows AS (
    SELECT r.chain AS chain, r.day AS day, count() AS validators
    FROM daily_rewards AS r FINAL
    INNER JOIN closed ON closed.chain = r.chain AND closed.day = r.day
    INNER JOIN activations ON activations.chain = r.chain AND activations.validator_index = r.validator_index
    WHERE r.is_whole = 1 AND activations.activation_epoch <= closed.last_epoch
    GROUP BY chain, day
  ),
  wanted AS (
    SELECT closed.chain AS chain, closed.day AS day, countIf(activations.activation_epoch <= closed.last_epoch) AS validators
    FROM closed INNER JOIN activations ON activations.chain = closed.chain
    GROUP BY chain, day
  ),
  days AS (
    SELECT chain, toDate(arrayJoin(range(first, last + 1))) AS day
    FROM (SELECT chain, toUInt32(min(day)) AS first, toUInt32(max(day)) AS last FROM closed_days GROUP BY chain)
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

/**
 * Days from the first to the last closed one that are not closed, and closed days that do not cover every tracked validator.
 * Neither is a wrong figure: detail was never ingested (tracked later, no backfill), or has not arrived. Where it was
 * ingested and lost, `proveDays` fails.
 */
export async function findDayGaps(warehouse: Warehouse): Promise<readonly DayGap[]> {
  return warehouse.query<DayGap>(DAY_GAPS_SQL)
}
