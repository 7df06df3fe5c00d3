import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { chainClock, daySpan } from '../rewards/days.ts'

/** One validator and day, recomputed from the detail; all amounts in gwei as decimal text. */
export interface DayProof {
  readonly day: string
  readonly validator_index: number
  readonly rewards: string
  readonly deposits: string
  readonly withdrawals: string
  readonly returned: string
  readonly balance_start: string
  readonly balance_end: string
  /** Balance change that rewards and flows do not explain. */
  readonly residual: string
  /** Whether there is a stored row of daily_rewards, and it says the same, execution revenue included. */
  readonly stored_agrees: number
}

/** An epoch in which a validator's balance change is not explained: narrows a wrong day down to one transition or block. */
export interface EpochResidual {
  readonly epoch: number
  readonly validator_index: number
  readonly residual: string
}

export interface EpochProof {
  readonly checked: number
  readonly unexplained: number
  /** The first of them. */
  readonly examples: readonly EpochResidual[]
}

const EXAMPLES_MAX = 20

// Independent of the stored day row on purpose: balances, ledger, epochs and blocks are summed again. A validator of
// which all transitions and both balances of a day are known must have a whole row.
const DAY_PROOF_SQL = `
SELECT
  toString({day:Date}) AS day, v.validator_index AS validator_index, e.rewards + l.rewards AS rewards,
  l.deposits AS deposits, l.withdrawals AS withdrawals, l.returned AS returned,
  s.balance AS balance_start, b.balance AS balance_end,
  (b.balance - s.balance) - (e.rewards + l.rewards + l.deposits + l.withdrawals + l.returned) AS residual,
  d.is_whole = 1 AND d.cl_reward_gwei = e.rewards + l.rewards
    AND d.cl_reward_gwei = d.source_gwei + d.target_gwei + d.head_gwei + d.inactivity_gwei + d.sync_gwei + d.proposer_gwei
      + d.slashing_penalty_gwei
    AND d.el_reward_wei = x.revenue AND d.blocks = x.blocks
    AND d.deposits_gwei = l.deposits AND d.withdrawals_gwei = l.withdrawals
    AND d.returned_from_queue_gwei = l.returned AND d.balance_start_gwei = s.balance AND d.balance_end_gwei = b.balance
    AND d.residual_gwei = residual AS stored_agrees
FROM (
  SELECT validator_index FROM daily_rewards FINAL WHERE day = {day:Date} AND is_whole = 1
  UNION DISTINCT
  SELECT validator_index FROM validator_epochs
  WHERE epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
    AND validator_index IN (SELECT validator_index FROM day_balances WHERE day = {day:Date})
    AND validator_index IN (SELECT validator_index FROM day_balances WHERE day = {day:Date} + 1)
  GROUP BY validator_index
  HAVING uniqExact(epoch) = {last_transition:UInt32} - {first_transition:UInt32} + 1
) AS v
LEFT JOIN (SELECT * FROM daily_rewards FINAL WHERE day = {day:Date} AND is_whole = 1) AS d
  ON d.validator_index = v.validator_index
LEFT JOIN (
  SELECT validator_index, sum(source_gwei + target_gwei + head_gwei + inactivity_gwei) AS rewards
  FROM validator_epochs FINAL
  WHERE epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
  GROUP BY validator_index
) AS e ON e.validator_index = v.validator_index
LEFT JOIN (
  SELECT
    validator_index, sumIf(amount_gwei, kind IN ('sync', 'proposer', 'slashing_penalty')) AS rewards,
    sumIf(amount_gwei, kind = 'deposit') AS deposits, sumIf(amount_gwei, kind = 'withdrawal') AS withdrawals,
    sumIf(amount_gwei, kind = 'returned_from_queue') AS returned
  FROM ledger_entries FINAL
  WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
  GROUP BY validator_index
) AS l ON l.validator_index = v.validator_index
LEFT JOIN (
  SELECT f.proposer_index AS validator_index, sum(t.revenue_wei) AS revenue, count() AS blocks
  FROM (SELECT * FROM finalized_blocks FINAL WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}) AS f
  LEFT JOIN (
    SELECT block_hash, revenue_wei FROM execution_blocks FINAL WHERE block_hash IN (
      SELECT execution_block_hash FROM finalized_blocks WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
    )
  ) AS t ON t.block_hash = f.execution_block_hash
  GROUP BY f.proposer_index
) AS x ON x.validator_index = v.validator_index
LEFT JOIN (SELECT validator_index, balance_gwei AS balance FROM day_balances FINAL WHERE day = {day:Date}) AS s
  ON s.validator_index = v.validator_index
LEFT JOIN (SELECT validator_index, balance_gwei AS balance FROM day_balances FINAL WHERE day = {day:Date} + 1) AS b
  ON b.validator_index = v.validator_index
ORDER BY validator_index`

const EPOCH_RESIDUALS_SQL = `
SELECT epoch, validator_index, residual
FROM (
  SELECT
    e.epoch AS epoch, e.validator_index AS validator_index,
    e.balance_gwei - e.before
      - (e.source_gwei + e.target_gwei + e.head_gwei + e.inactivity_gwei + l.amount) AS residual
  FROM (
    SELECT *,
      lagInFrame(balance_gwei, 1, 0) OVER w AS before,
      -- Not 0: a first row of epoch 1 has no epoch before it.
      lagInFrame(epoch, 1, 4294967295) OVER w AS epoch_before
    FROM validator_epochs FINAL
    WINDOW w AS (PARTITION BY validator_index ORDER BY epoch ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
  ) AS e
  LEFT JOIN (
    SELECT epoch, validator_index, sum(amount_gwei) AS amount FROM ledger_entries FINAL GROUP BY epoch, validator_index
  ) AS l ON l.epoch = e.epoch AND l.validator_index = e.validator_index
  WHERE e.epoch_before + 1 = e.epoch
)`

/** Proves every closed day of every tracked validator again from the detail, one day after the other, oldest first. */
export async function* proveDays(warehouse: Warehouse): AsyncGenerator<readonly DayProof[]> {
  const clock = await chainClock(warehouse)
  if (clock === undefined) return
  const days = await warehouse.query<{ day: string }>('SELECT day FROM closed_days FINAL ORDER BY day')
  for (const { day } of days) {
    const number = parseDay(day)
    const span = number === undefined ? undefined : daySpan(clock, number)
    if (span === undefined) throw new Error(`closed day ${day} is not a day of this chain`)
    yield await warehouse.query<DayProof>(DAY_PROOF_SQL, {
      day,
      first_slot: span.firstSlot,
      last_slot: span.lastSlot,
      first_transition: span.firstTransition,
      last_transition: span.lastTransition,
    })
  }
}

/** Checks every pair of neighbouring epochs of every tracked validator, closed days or not. */
export async function proveEpochs(warehouse: Warehouse): Promise<EpochProof> {
  const [counts] = await warehouse.query<{ checked: string; unexplained: string }>(
    `SELECT count() AS checked, countIf(residual != 0) AS unexplained FROM (${EPOCH_RESIDUALS_SQL})`,
  )
  const unexplained = Number(counts?.unexplained ?? 0)
  const examples =
    unexplained === 0
      ? []
      : await warehouse.query<EpochResidual>(
          `SELECT * FROM (${EPOCH_RESIDUALS_SQL}) WHERE residual != 0 ORDER BY epoch, validator_index LIMIT ${EXAMPLES_MAX}`,
        )
  return { checked: Number(counts?.checked ?? 0), unexplained, examples }
}

/** A day that figures are asked of, and that does not have all. */
export interface DayGap {
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
  (SELECT any(slots_per_epoch) FROM chain) AS epoch_slots,
  closed AS (SELECT day, intDiv(last_slot, greatest(1, ifNull(epoch_slots, 1))) AS last_epoch FROM closed_days FINAL),
  begun AS (
    SELECT toDate(toDateTime(genesis_time_sec + first_slot * seconds_per_slot, 'UTC') + 28800) AS day, count() AS epochs
    FROM epochs FINAL CROSS JOIN (SELECT * FROM chain FINAL LIMIT 1) AS clock
    GROUP BY day
  ),
  activations AS (
    SELECT validator_index, activation_epoch FROM validator_epochs FINAL WHERE epoch = (SELECT max(epoch) FROM epochs)
  ),
  rows AS (
    SELECT r.day AS day, count() AS validators
    FROM daily_rewards AS r FINAL
    INNER JOIN closed ON closed.day = r.day
    INNER JOIN activations ON activations.validator_index = r.validator_index
    WHERE r.is_whole = 1 AND activations.activation_epoch <= closed.last_epoch
    GROUP BY r.day
  ),
  wanted AS (
    SELECT closed.day AS day, countIf(activations.activation_epoch <= closed.last_epoch) AS validators
    FROM closed CROSS JOIN activations
    GROUP BY closed.day
  ),
  days AS (
    SELECT toDate(arrayJoin(range(first, last + 1))) AS day
    FROM (SELECT toUInt32(min(day)) AS first, toUInt32(max(day)) AS last FROM closed_days HAVING count() > 0)
  )
SELECT
  toString(days.day) AS day, days.day IN (SELECT day FROM closed_days) AS closed, begun.epochs AS epochs,
  wanted.validators - rows.validators AS validators_missing
FROM days
LEFT JOIN begun ON begun.day = days.day
LEFT JOIN wanted ON wanted.day = days.day
LEFT JOIN rows ON rows.day = days.day
WHERE closed = 0 OR validators_missing != 0
ORDER BY day`

/**
 * Days from the first to the last closed one that are not closed, and closed days that do not cover every tracked validator.
 * Neither is a wrong figure: detail was never ingested (tracked later, no backfill), or has not arrived. Where it was
 * ingested and lost, `proveDays` fails.
 */
export async function findDayGaps(warehouse: Warehouse): Promise<readonly DayGap[]> {
  return warehouse.query<DayGap>(DAY_GAPS_SQL)
}

export interface SettlementFault {
  readonly account: string
  readonly slot: string
  readonly reason: string
}

export interface SettlementProof {
  readonly checked: number
  readonly wrong: number
  /** The first of them. */
  readonly examples: readonly SettlementFault[]
}

/** Rates have at most 18 decimal places: times this they are integers. */
const RATE_UNIT = "toUInt256('1000000000000000000')"

// From the accounts to the blocks, where settling goes from the blocks to the accounts.
const SETTLEMENTS_SQL = `
SELECT
  if(p.account = '', s.account, p.account) AS account, if(p.account = '', s.slot, p.slot) AS slot,
  multiIf(
    p.account = '', 'settled without proven revenue',
    s.account = '', 'proven revenue is not settled',
    s.revenue_wei != p.revenue_wei, 'settled revenue differs from the block',
    s.service_fee_wei + s.user_reward_wei != s.revenue_wei, 'fee and share do not sum to the revenue',
    s.service_fee_wei != intDiv(s.revenue_wei * toUInt256(toDecimal256(s.fee_rate, 18) * ${RATE_UNIT}), ${RATE_UNIT}),
      'the fee is not the revenue times the rate, rounded down',
    '') AS reason
FROM (
  SELECT a.account AS account, f.slot AS slot, t.revenue_wei AS revenue_wei
  FROM (SELECT account, pubkey FROM account_validators FINAL) AS a
  INNER JOIN (SELECT pubkey, validator_index FROM validators FINAL) AS v ON v.pubkey = a.pubkey
  INNER JOIN (SELECT slot, proposer_index, execution_block_hash FROM finalized_blocks FINAL) AS f
    ON f.proposer_index = v.validator_index
  INNER JOIN (SELECT block_hash, revenue_wei FROM execution_blocks FINAL WHERE revenue_class != 'unexplained') AS t
    ON t.block_hash = f.execution_block_hash
) AS p
FULL JOIN (SELECT * FROM settlements FINAL) AS s ON s.account = p.account AND s.slot = p.slot`

/** Checks that every proven block of every account is settled once, whole, and nothing else is. */
export async function proveSettlements(warehouse: Warehouse): Promise<SettlementProof> {
  const [counts] = await warehouse.query<{ checked: string; wrong: string }>(
    `SELECT count() AS checked, countIf(reason != '') AS wrong FROM (${SETTLEMENTS_SQL})`,
  )
  const wrong = Number(counts?.wrong ?? 0)
  const examples =
    wrong === 0
      ? []
      : await warehouse.query<SettlementFault>(
          `SELECT * FROM (${SETTLEMENTS_SQL}) WHERE reason != '' ORDER BY account, slot LIMIT ${EXAMPLES_MAX}`,
        )
  return { checked: Number(counts?.checked ?? 0), wrong, examples }
}
