import type { QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { DAY_OFFSET_SEC, DAY_SEC } from '../../schemas/eth/time.ts'
import { type Checked, checkRanges, PROVE_ALL, type Proving } from './proving.ts'

export interface MissedFault {
  readonly chain: string
  readonly slot: string
  readonly reason: string
}

/** Epochs of one statement, a month of mainnet. */
const EPOCHS_PER_STATEMENT = 6_750

// Of several events of an epoch the newest counts, which tells all its blocks and whose turn the other slots were.
const KNOWN = `SELECT epoch, version FROM epoch_proofs FINAL
  WHERE chain = {chain:String} AND epoch BETWEEN {first:UInt32} AND {last:UInt32} AND has_proposers = 1`
const IN_KNOWN = `chain = {chain:String} AND epoch BETWEEN {first:UInt32} AND {last:UInt32} AND (epoch, version) IN (${KNOWN})`
const CLOCK = (column: string): string => `(SELECT any(${column}) FROM chains FINAL WHERE chain = {chain:String})`
const DAY_OF_SLOT = `toDate(intDiv(${CLOCK('genesis_time_sec')} + slot * ${CLOCK('seconds_per_slot')} + ${DAY_OFFSET_SEC}, ${DAY_SEC}))`

const SLOTS_SQL = `
SELECT {chain:String} AS chain, slot,
  multiIf(
    blocks + missed = 0, 'it has no block, and is not among the missed slots',
    blocks > 0 AND missed > 0, 'it has a block, and is among the missed slots',
    expected = 0, 'it is told of another epoch than its own',
    wrong_days > 0, 'it is a missed slot of another day than its own',
    '') AS reason
FROM (
  SELECT slot, sum(is_expected) AS expected, sum(is_block) AS blocks, sum(is_missed) AS missed, sum(is_wrong_day) AS wrong_days
  FROM (
    SELECT toUInt64(epoch) * ${CLOCK('slots_per_epoch')} + arrayJoin(range(toUInt64(${CLOCK('slots_per_epoch')}))) AS slot,
      1 AS is_expected, 0 AS is_block, 0 AS is_missed, 0 AS is_wrong_day
    FROM (${KNOWN})
    UNION ALL SELECT slot, 0, 1, 0, 0 FROM finalized_blocks FINAL WHERE ${IN_KNOWN}
    UNION ALL SELECT slot, 0, 0, 1, day != ${DAY_OF_SLOT} FROM missed_slots FINAL WHERE ${IN_KNOWN}
  )
  -- Slot 0 is the genesis state's own.
  WHERE slot > 0
  GROUP BY slot
)`

const EPOCHS_SQL = `
SELECT toString(chain) AS chain, min(epoch) AS first, max(epoch) AS last FROM epoch_proofs
WHERE {chain:String} IN ('', chain) AND has_proposers = 1 GROUP BY chain ORDER BY chain`

/**
 * Checks that each slot of final epochs of which it is known whose turn it was has a block, or is a missed slot of its day, and not both; of one chain if
 * it is given. Some epochs at a time.
 */
export async function proveMissedSlots(
  warehouse: WarehouseReader,
  { chain, again }: Proving = PROVE_ALL,
  epochsMax = EPOCHS_PER_STATEMENT,
): Promise<Checked<MissedFault>> {
  const spans = await warehouse.query<{ chain: string; first: number; last: number }>(EPOCHS_SQL, { chain })
  const ranges = spans.flatMap(({ chain: name, first, last }): readonly QueryParams[] =>
    Array.from({ length: Math.ceil((last - first + 1) / epochsMax) }, (_, i) => {
      const from = first + i * epochsMax
      return { chain: name, first: from, last: Math.min(last, from + epochsMax - 1) }
    }),
  )
  return await checkRanges(warehouse, FAULTS, { ranges, again })
}

const FAULTS = { sql: SLOTS_SQL, isWrong: "reason != ''", order: 'chain, slot' }
