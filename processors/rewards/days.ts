import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import type { DaySpan } from '../../schemas/eth/day-span.ts'
import { type ChainClock, type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { DAY_TOLD_VERSION, dayLevelSql, roundingMaxSql } from '../../schemas/tables/day-levels.ts'
import { NO_EXECUTION_BLOCK } from '../../schemas/tables/execution.ts'
import { type ChainRow, IS_START_TOLD_SQL } from '../../schemas/tables/rewards.ts'
import { validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { COMPILED_SUMS } from '../compiled-sums.ts'
import { indexSlices, isInSlice } from './index-slices.ts'
import { sumMonth } from './months.ts'

/** The clock of a chain; undefined before its first finalized epoch, and for chains without a beacon chain. */
export async function chainClock(warehouse: Warehouse, chain: string): Promise<ChainClock | undefined> {
  const [row] = await warehouse.query<ChainRow>('SELECT * FROM chains FINAL WHERE chain = {chain:String}', { chain })
  return row === undefined ? undefined : toClock(row)
}

/** The clocks of all chains that have one, by name. */
export async function chainClocks(warehouse: Warehouse): Promise<ReadonlyMap<string, ChainClock>> {
  const rows = await warehouse.query<ChainRow>('SELECT * FROM chains FINAL ORDER BY chain')
  return new Map(rows.map((row) => [row.chain, toClock(row)]))
}

function toClock(row: ChainRow): ChainClock {
  return {
    genesisTimeSec: Number(row.genesis_time_sec),
    secondsPerSlot: row.seconds_per_slot,
    slotsPerEpoch: row.slots_per_epoch,
  }
}

const EPOCHS_MISSING_SQL = `
SELECT
  ({closing_epoch:UInt32} - {first_epoch:UInt32} + 1)
    - (
      SELECT count() FROM epochs FINAL
      WHERE chain = {chain:String} AND epoch BETWEEN {first_epoch:UInt32} AND {closing_epoch:UInt32}
    ) AS missing`

// Only of proposers whose detail has no gap: for others the day is not whole anyway, and a block that nobody brings must not
// keep it open for all.
const BLOCKS_MISSING_SQL = `
SELECT count() AS missing
FROM (
  SELECT execution_block_hash FROM finalized_blocks FINAL
  WHERE chain = {chain:String} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
    AND execution_block_hash != {no_execution_block:String}
    AND proposer_index IN (
      SELECT validator_index FROM validator_epochs
      WHERE chain = {chain:String} AND epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
        AND validator_index IN (
          SELECT proposer_index FROM finalized_blocks
          WHERE chain = {chain:String} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
        )
      GROUP BY validator_index
      HAVING uniqExact(epoch) = {last_transition:UInt32} - min(epoch) + 1
    )
) AS proposed
WHERE execution_block_hash NOT IN (
  SELECT block_hash FROM execution_blocks FINAL
  WHERE chain = {chain:String} AND block_hash IN (
    SELECT execution_block_hash FROM finalized_blocks
    WHERE chain = {chain:String} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
  )
)`

// A validator's day is whole when there is a row for every transition of the day and a balance to start from - or, for one
// that joined the registry during the day, the deposit that brought it in (in a block before the day's first transition at the
// earliest), which must then explain its balance: a top-up of a validator that was only tracked late looks alike. Whoever has a part
// of the detail has a row that says so. What is published is the balance change without the flows: where the node has rounded the
// components, its rounding is a part of it. Each select uses what the one below has named: the engine works out an expression again
// wherever its alias is used.
const DAILY_SQL = `
INSERT INTO daily_rewards
  (chain, day, validator_index, is_whole, source_gwei, target_gwei, head_gwei, inactivity_gwei, sync_gwei, proposer_gwei,
   slashing_penalty_gwei, cl_reward_gwei, el_reward_wei, blocks, blocks_unexplained, unexplained_wei, deposits_gwei, withdrawals_gwei, returned_from_queue_gwei,
   moved_to_queue_gwei, consolidations_in_gwei, consolidations_out_gwei, balance_start_gwei, balance_end_gwei, residual_gwei,
   active_epochs, effective_balance_epochs_gwei, level, version)
SELECT
  {chain:String}, day, validator_index, whole, source, target, head, inactivity, sync, proposer, slashing_penalty,
  cl_reward + if(level = 'rounding', not_explained, 0),
  revenue, blocks, blocks_unexplained, unexplained, deposits, withdrawals, returned, moved, consolidated_in, consolidated_out,
  whole * balance_start, whole * balance_end, whole * not_explained,
  active_epochs, effective_balance_epochs, level, version
FROM (
  SELECT
    *,
    ${dayLevelSql({ index: 'validator_index', residual: 'not_explained', epochs: 'epochs', whole: 'whole' })} AS level
  FROM (
    SELECT
      * EXCEPT (is_start_known, is_end_known),
      is_end_known AND epochs = {last_transition:UInt32} - first_epoch + 1
        AND ((is_start_known AND first_epoch = {first_transition:UInt32})
          OR (NOT is_start_known AND deposits > 0 AND greatest(first_deposit_epoch, {first_transition:UInt32}) = first_epoch
            AND abs(not_explained) <= ${roundingMaxSql('epochs')})) AS whole
    FROM (
      SELECT
        d.* EXCEPT (validator_index, versions), d.validator_index AS validator_index,
        s.known = 1 AS is_start_known, b.known = 1 AS is_end_known, s.balance AS balance_start, b.balance AS balance_end,
        (b.balance - s.balance) - (d.cl_reward + d.flows) AS not_explained,
        d.versions + s.version + b.version + ${DAY_TOLD_VERSION} AS version
      FROM (${validatorDaysSql(isInSlice)}) AS d
      LEFT JOIN (
        SELECT validator_index, balance_gwei AS balance, version, 1 AS known FROM day_balances FINAL
        WHERE chain = {chain:String} AND day = {day:Date} AND ${isInSlice('validator_index')}
      ) AS s ON s.validator_index = d.validator_index
      LEFT JOIN (
        SELECT validator_index, balance_gwei AS balance, version, 1 AS known FROM day_balances FINAL
        WHERE chain = {chain:String} AND day = {day:Date} + 1 AND ${isInSlice('validator_index')}
      ) AS b ON b.validator_index = d.validator_index
    )
  )
)`

const NEWEST_SQL =
  'SELECT max(validator_index) AS newest FROM validator_epochs WHERE chain = {chain:String} AND epoch = {last_transition:UInt32}'

const CLOSED_SQL = `
INSERT INTO closed_days
  (chain, day, first_slot, last_slot, validators, validators_rounded, validators_unexplained, validators_unanchored, validators_incomplete,
   version)
SELECT
  {chain:String}, {day:Date}, {first_slot:UInt64}, {last_slot:UInt64}, countIf(is_whole = 1),
  countIf(level = 'rounding'), countIf(is_whole = 1 AND level = 'unexplained'), countIf(is_whole = 1 AND level = 'unanchored'), countIf(is_whole = 0), sum(version)
FROM daily_rewards FINAL
WHERE chain = {chain:String} AND day = {day:Date}`

/** Parameters of the statements about one day of a chain. */
export function dayParams(chain: string, span: DaySpan): QueryParams {
  const day = formatDay(span.day)
  return {
    chain,
    day,
    days: [day],
    first_slot: span.firstSlot,
    last_slot: span.lastSlot,
    first_epoch: span.firstEpoch,
    closing_epoch: span.closingEpoch,
    first_transition: span.firstTransition,
    last_transition: span.lastTransition,
  }
}

/** What a day lacks: epochs, and execution blocks of its tracked proposers. */
export async function missingOfDay(
  warehouse: Warehouse,
  chain: string,
  span: DaySpan,
): Promise<{ readonly epochs: number; readonly blocks: number }> {
  return { epochs: await missingEpochs(warehouse, chain, span), blocks: await missingBlocks(warehouse, chain, span) }
}

/** Whether everything is there that closes a day: it lacks nothing, and what the chain began with is told where it did so in it. */
export async function isClosable(warehouse: Warehouse, chain: string, span: DaySpan): Promise<boolean> {
  // Almost every time that is asked, epochs are still to come; to look for blocks costs ten times as much.
  if ((await missingEpochs(warehouse, chain, span)) > 0) return false
  if (span.firstSlot === 0 && !(await isGenesisTold(warehouse, chain, span.day))) return false
  return (await missingBlocks(warehouse, chain, span)) === 0
}

/** Whether the balances are told that a chain began with, given the day of it: of logs of before they were, epoch 0 lacks them. */
export async function isGenesisTold(warehouse: Warehouse, chain: string, day: DayNumber): Promise<boolean> {
  const [row] = await warehouse.query<{ told: number }>(IS_START_TOLD_SQL, { chain, day: formatDay(day) })
  return row?.told === 1
}

async function missingEpochs(warehouse: Warehouse, chain: string, span: DaySpan): Promise<number> {
  const [row] = await warehouse.query<{ missing: string }>(EPOCHS_MISSING_SQL, dayParams(chain, span))
  return Number(row?.missing ?? 0)
}

async function missingBlocks(warehouse: Warehouse, chain: string, span: DaySpan): Promise<number> {
  const params = { ...dayParams(chain, span), no_execution_block: NO_EXECUTION_BLOCK }
  const [row] = await warehouse.query<{ missing: string }>(BLOCKS_MISSING_SQL, params)
  return Number(row?.missing ?? 0)
}

/**
 * Computes and stores the rows of a day once everything of it is in the warehouse; false while something is missing.
 * Closing a day again writes equal rows: they are a function of the detail, and so are their versions (the sum of the
 * versions of what went in, which only grows).
 */
export async function closeDay(
  warehouse: Warehouse,
  chain: string,
  span: DaySpan,
  indicesAtOnce?: number,
): Promise<boolean> {
  const params = dayParams(chain, span)
  if (!(await isClosable(warehouse, chain, span))) return false
  const slices = await indexSlices(warehouse, NEWEST_SQL, params, indicesAtOnce)
  const sql = slices.length > 1 ? `${DAILY_SQL}${COMPILED_SUMS}` : DAILY_SQL
  for (const slice of slices) await warehouse.command(sql, { ...params, ...slice })
  await warehouse.command(CLOSED_SQL, params)
  await sumMonth(warehouse, chain, span.day, indicesAtOnce)
  return true
}
