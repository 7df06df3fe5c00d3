import type { Warehouse } from '../infra/ports/warehouse.ts'
import { parseDay } from '../schemas/eth/time.ts'
import { chainClock, daySpan } from './rewards/days.ts'

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
  /** Whether the stored row of daily_rewards says the same. */
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

// Independent of the stored day row on purpose: balances, ledger and epochs are summed again, epoch by epoch.
const DAY_PROOF_SQL = `
SELECT
  toString({day:Date}) AS day, d.validator_index AS validator_index, e.rewards + l.rewards AS rewards,
  l.deposits AS deposits, l.withdrawals AS withdrawals, l.returned AS returned,
  s.balance AS balance_start, b.balance AS balance_end,
  (b.balance - s.balance) - (e.rewards + l.rewards + l.deposits + l.withdrawals + l.returned) AS residual,
  d.cl_reward_gwei = e.rewards + l.rewards AND d.deposits_gwei = l.deposits AND d.withdrawals_gwei = l.withdrawals
    AND d.returned_from_queue_gwei = l.returned AND d.balance_start_gwei = s.balance AND d.balance_end_gwei = b.balance
    AND d.residual_gwei = residual AS stored_agrees
FROM (SELECT * FROM daily_rewards FINAL WHERE day = {day:Date}) AS d
LEFT JOIN (
  SELECT validator_index, sum(source_gwei + target_gwei + head_gwei + inactivity_gwei) AS rewards
  FROM validator_epochs FINAL
  WHERE epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
  GROUP BY validator_index
) AS e ON e.validator_index = d.validator_index
LEFT JOIN (
  SELECT
    validator_index, sumIf(amount_gwei, kind IN ('sync', 'proposer', 'slashing_penalty')) AS rewards,
    sumIf(amount_gwei, kind = 'deposit') AS deposits, sumIf(amount_gwei, kind = 'withdrawal') AS withdrawals,
    sumIf(amount_gwei, kind = 'returned_from_queue') AS returned
  FROM ledger_entries FINAL
  WHERE slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
  GROUP BY validator_index
) AS l ON l.validator_index = d.validator_index
LEFT JOIN (SELECT validator_index, balance_gwei AS balance FROM day_balances FINAL WHERE day = {day:Date}) AS s
  ON s.validator_index = d.validator_index
LEFT JOIN (SELECT validator_index, balance_gwei AS balance FROM day_balances FINAL WHERE day = {day:Date} + 1) AS b
  ON b.validator_index = d.validator_index
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
      lagInFrame(epoch, 1, 0) OVER w AS epoch_before
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
