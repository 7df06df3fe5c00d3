import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type ChainClock, type DayNumber, epochOf, firstSlotOfDay, formatDay } from '../../schemas/eth/time.ts'
import type { ChainRow } from '../../schemas/tables/tables.ts'

/** What a day spans, and the epochs that must be complete before it can be closed. */
export interface DaySpan {
  readonly day: DayNumber
  readonly firstSlot: number
  readonly lastSlot: number
  readonly firstEpoch: number
  /** Epoch of the slot after the day: it brings the balances that the day ends with. */
  readonly closingEpoch: number
  /** First epoch whose transition belongs to the day. */
  readonly firstTransition: number
  readonly lastTransition: number
}

/** The day's slots and epochs; undefined for the day in which the chain began, which has no balances to start from. */
export function daySpan(clock: ChainClock, day: DayNumber): DaySpan | undefined {
  const firstSlot = firstSlotOfDay(clock, day)
  const nextSlot = firstSlotOfDay(clock, day + 1)
  if (firstSlot === 0) return undefined
  return {
    day,
    firstSlot,
    lastSlot: nextSlot - 1,
    firstEpoch: epochOf(clock, firstSlot),
    closingEpoch: epochOf(clock, nextSlot),
    firstTransition: Math.ceil(firstSlot / clock.slotsPerEpoch),
    lastTransition: epochOf(clock, nextSlot - 1),
  }
}

/** The clock of the chain that the log tells of; undefined before the first finalized epoch. */
export async function chainClock(warehouse: Warehouse): Promise<ChainClock | undefined> {
  const [row] = await warehouse.query<ChainRow>('SELECT * FROM chain FINAL LIMIT 1')
  return row === undefined
    ? undefined
    : {
        genesisTimeSec: Number(row.genesis_time_sec),
        secondsPerSlot: row.seconds_per_slot,
        slotsPerEpoch: row.slots_per_epoch,
      }
}

const EPOCHS_MISSING_SQL = `
SELECT
  ({closing_epoch:UInt32} - {first_epoch:UInt32} + 1)
    - (SELECT count() FROM epochs FINAL WHERE epoch BETWEEN {first_epoch:UInt32} AND {closing_epoch:UInt32}) AS missing`

/** Before the merge, blocks have a payload of zeros: there is no execution block to wait for. */
const NO_EXECUTION_BLOCK = `0x${'00'.repeat(32)}`

// Only of proposers whose detail has no gap: for others the day is not whole anyway, and a block that nobody brings must not
// keep it open for all.
const BLOCKS_MISSING_SQL = `
SELECT count() AS missing
FROM (
  SELECT execution_block_hash FROM finalized_blocks FINAL
  WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64} AND execution_block_hash != {no_execution_block:String}
    AND proposer_index IN (
      SELECT validator_index FROM validator_epochs
      WHERE epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32} AND validator_index IN (
        SELECT proposer_index FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
      )
      GROUP BY validator_index
      HAVING uniqExact(epoch) = {last_transition:UInt32} - min(epoch) + 1
    )
) AS proposed
WHERE execution_block_hash NOT IN (
  SELECT block_hash FROM execution_blocks FINAL
  WHERE block_number BETWEEN
    (SELECT min(execution_block_number) FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}) AND
    (SELECT max(execution_block_number) FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64})
)`

// A validator's day is whole when there is a row for every transition of the day and a balance to start from - or, for one
// that joined the registry during the day, the deposit that brought it in, which must then explain its balance: a top-up of
// a validator that was only tracked late looks alike. Whoever has a part of the detail has a row that says so.
const DAILY_SQL = `
INSERT INTO daily_rewards
  (day, validator_index, is_whole, source_gwei, target_gwei, head_gwei, inactivity_gwei, sync_gwei, proposer_gwei,
   slashing_penalty_gwei, cl_reward_gwei, el_reward_wei, blocks, deposits_gwei, withdrawals_gwei, returned_from_queue_gwei,
   balance_start_gwei, balance_end_gwei, residual_gwei, version)
SELECT
  {day:Date}, e.validator_index,
  b.known = 1 AND e.epochs = {last_transition:UInt32} - e.first_epoch + 1
    AND ((s.known = 1 AND e.first_epoch = {first_transition:UInt32})
      OR (s.known = 0 AND l.deposits > 0 AND l.first_deposit_epoch = e.first_epoch AND unexplained = 0)) AS whole,
  e.source, e.target, e.head, e.inactivity, l.sync, l.proposer, l.slashing_penalty,
  e.source + e.target + e.head + e.inactivity + l.sync + l.proposer + l.slashing_penalty AS cl_reward,
  x.revenue, x.blocks, l.deposits, l.withdrawals, l.returned,
  whole * s.balance, whole * b.balance,
  whole * ((b.balance - s.balance) - (cl_reward + l.deposits + l.withdrawals + l.returned) AS unexplained),
  e.versions + l.versions + x.versions + s.version + b.version
FROM (
  SELECT
    validator_index, sum(source_gwei) AS source, sum(target_gwei) AS target, sum(head_gwei) AS head,
    sum(inactivity_gwei) AS inactivity, min(epoch) AS first_epoch, count() AS epochs, sum(version) AS versions
  FROM validator_epochs FINAL
  WHERE epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
  GROUP BY validator_index
) AS e
LEFT JOIN (
  SELECT
    validator_index,
    sumIf(amount_gwei, kind = 'sync') AS sync, sumIf(amount_gwei, kind = 'proposer') AS proposer,
    sumIf(amount_gwei, kind = 'slashing_penalty') AS slashing_penalty, sumIf(amount_gwei, kind = 'deposit') AS deposits,
    sumIf(amount_gwei, kind = 'withdrawal') AS withdrawals,
    sumIf(amount_gwei, kind = 'returned_from_queue') AS returned,
    minIf(epoch, kind = 'deposit') AS first_deposit_epoch, sum(version) AS versions
  FROM ledger_entries FINAL
  WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
  GROUP BY validator_index
) AS l ON l.validator_index = e.validator_index
LEFT JOIN (
  SELECT f.proposer_index AS validator_index, sum(t.revenue_wei) AS revenue, toUInt32(count()) AS blocks,
    sum(f.version + t.version) AS versions
  FROM (SELECT * FROM finalized_blocks FINAL WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}) AS f
  LEFT JOIN (
    SELECT * FROM execution_blocks FINAL
    WHERE block_number BETWEEN
      (SELECT min(execution_block_number) FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}) AND
      (SELECT max(execution_block_number) FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64})
  ) AS t ON t.block_hash = f.execution_block_hash
  GROUP BY f.proposer_index
) AS x ON x.validator_index = e.validator_index
LEFT JOIN (
  SELECT validator_index, balance_gwei AS balance, version, 1 AS known FROM day_balances FINAL WHERE day = {day:Date}
) AS s ON s.validator_index = e.validator_index
LEFT JOIN (
  SELECT validator_index, balance_gwei AS balance, version, 1 AS known FROM day_balances FINAL WHERE day = {next_day:Date}
) AS b ON b.validator_index = e.validator_index`

const CLOSED_SQL = `
INSERT INTO closed_days (day, first_slot, last_slot, validators, validators_unexplained, validators_incomplete, version)
SELECT
  {day:Date}, {first_slot:UInt64}, {last_slot:UInt64}, countIf(is_whole = 1), countIf(residual_gwei != 0),
  countIf(is_whole = 0), sum(version)
FROM daily_rewards FINAL
WHERE day = {day:Date}`

/**
 * Computes and stores the rows of a day once everything of it is in the warehouse; false while something is missing.
 * Closing a day again writes equal rows: they are a function of the detail, and so are their versions (the sum of the
 * versions of what went in, which only grows).
 */
export async function closeDay(warehouse: Warehouse, span: DaySpan): Promise<boolean> {
  const params = {
    day: formatDay(span.day),
    next_day: formatDay(span.day + 1),
    first_slot: span.firstSlot,
    last_slot: span.lastSlot,
    first_epoch: span.firstEpoch,
    closing_epoch: span.closingEpoch,
    first_transition: span.firstTransition,
    last_transition: span.lastTransition,
    no_execution_block: NO_EXECUTION_BLOCK,
  }
  for (const sql of [EPOCHS_MISSING_SQL, BLOCKS_MISSING_SQL]) {
    const [row] = await warehouse.query<{ missing: string }>(sql, params)
    if (row?.missing !== '0') return false
  }
  await warehouse.command(DAILY_SQL, params)
  await warehouse.command(CLOSED_SQL, params)
  return true
}
