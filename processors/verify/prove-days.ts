import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { chainClocks, dayParams, daySpan } from '../rewards/days.ts'
import { PROVE_ALL, type Proving } from './proving.ts'

/** One validator and day, recomputed from the detail; all amounts in gwei as decimal text. */
export interface DayProof {
  readonly chain: string
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

export function isProven({ residual, stored_agrees: agrees }: DayProof): boolean {
  return residual === '0' && agrees === 1
}

/** Validators of one statement: what it returns is in memory, about 300 bytes each. */
const VALIDATORS_PER_STATEMENT = 20_000

const VALIDATORS_OF_DAY_SQL = `
  SELECT validator_index FROM validator_epochs
  WHERE chain = {chain:String} AND epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
    AND validator_index BETWEEN {first_validator:UInt32} AND {last_validator:UInt32}`

const INDICES_SQL = `
SELECT arraySort(groupUniqArray(validator_index)) AS indices FROM (
  SELECT validator_index FROM validator_epochs
  WHERE chain = {chain:String} AND epoch BETWEEN {first_transition:UInt32} AND {last_transition:UInt32}
  UNION ALL SELECT validator_index FROM daily_rewards WHERE chain = {chain:String} AND day = {day:Date}
)`

// The detail is summed again and compared with the stored row and with the balances. A validator of which all transitions and
// both balances of a day are known must have a whole row.
const DAY_PROOF_SQL = `
SELECT
  {chain:String} AS chain, toString({day:Date}) AS day, j.validator_index AS validator_index, j.cl_reward AS rewards,
  j.deposits AS deposits, j.withdrawals AS withdrawals, j.returned AS returned,
  s.balance AS balance_start, b.balance AS balance_end,
  (b.balance - s.balance) - (j.cl_reward + j.deposits + j.withdrawals + j.returned) AS residual,
  j.is_whole = 1 AND j.cl_reward_gwei = j.cl_reward
    AND j.cl_reward_gwei = j.source_gwei + j.target_gwei + j.head_gwei + j.inactivity_gwei + j.sync_gwei + j.proposer_gwei
      + j.slashing_penalty_gwei
    AND j.el_reward_wei = j.revenue AND j.stored_blocks = j.blocks
    AND j.blocks_unexplained = j.unexplained_blocks AND j.unexplained_wei = j.unexplained
    AND j.deposits_gwei = j.deposits AND j.withdrawals_gwei = j.withdrawals
    AND j.returned_from_queue_gwei = j.returned AND j.balance_start_gwei = s.balance AND j.balance_end_gwei = b.balance
    AND j.residual_gwei = residual AS stored_agrees
FROM (
  SELECT
    if(d.epochs = 0, r.validator_index, d.validator_index) AS validator_index,
    d.epochs AS epochs, d.first_epoch AS first_epoch, d.cl_reward AS cl_reward, d.deposits AS deposits,
    d.withdrawals AS withdrawals, d.returned AS returned, d.revenue AS revenue, d.blocks AS blocks,
    d.blocks_unexplained AS unexplained_blocks, d.unexplained AS unexplained, r.blocks_unexplained AS blocks_unexplained,
    r.unexplained_wei AS unexplained_wei,
    r.is_whole AS is_whole, r.cl_reward_gwei AS cl_reward_gwei, r.source_gwei AS source_gwei, r.target_gwei AS target_gwei,
    r.head_gwei AS head_gwei, r.inactivity_gwei AS inactivity_gwei, r.sync_gwei AS sync_gwei,
    r.proposer_gwei AS proposer_gwei, r.slashing_penalty_gwei AS slashing_penalty_gwei, r.el_reward_wei AS el_reward_wei,
    r.blocks AS stored_blocks, r.deposits_gwei AS deposits_gwei, r.withdrawals_gwei AS withdrawals_gwei,
    r.returned_from_queue_gwei AS returned_from_queue_gwei, r.balance_start_gwei AS balance_start_gwei,
    r.balance_end_gwei AS balance_end_gwei, r.residual_gwei AS residual_gwei
  FROM (${validatorDaysSql(VALIDATORS_OF_DAY_SQL)}) AS d
  FULL JOIN (
    SELECT * FROM daily_rewards FINAL
    WHERE chain = {chain:String} AND day = {day:Date} AND is_whole = 1
      AND validator_index BETWEEN {first_validator:UInt32} AND {last_validator:UInt32}
  ) AS r ON r.validator_index = d.validator_index
) AS j
LEFT JOIN (
  SELECT validator_index, balance_gwei AS balance, 1 AS known FROM day_balances FINAL
  WHERE chain = {chain:String} AND day = {day:Date}
) AS s ON s.validator_index = j.validator_index
LEFT JOIN (
  SELECT validator_index, balance_gwei AS balance, 1 AS known FROM day_balances FINAL
  WHERE chain = {chain:String} AND day = {day:Date} + 1
) AS b ON b.validator_index = j.validator_index
WHERE j.is_whole = 1
  OR (s.known = 1 AND b.known = 1 AND j.epochs = {last_transition:UInt32} - {first_transition:UInt32} + 1)
ORDER BY validator_index`

/**
 * Proves every closed day of every tracked validator again from the detail, one day after the other, oldest first, some
 * validators at a time; of one chain if it is given.
 */
export async function* proveDays(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  validatorsMax = VALIDATORS_PER_STATEMENT,
): AsyncGenerator<readonly DayProof[]> {
  const clocks = await chainClocks(warehouse)
  const days = await warehouse.query<{ chain: string; day: string }>(
    "SELECT chain, day FROM closed_days FINAL WHERE {chain:String} IN ('', chain) ORDER BY chain, day",
    { chain },
  )
  for (const { chain: name, day } of days) {
    const clock = clocks.get(name)
    const number = parseDay(day)
    const span = number === undefined || clock === undefined ? undefined : daySpan(clock, number)
    if (span === undefined) throw new Error(`closed day ${day} is not a day of ${name}`)
    const params = dayParams(name, span)
    const [row] = await warehouse.query<{ indices: readonly number[] }>(INDICES_SQL, params)
    const indices = row?.indices ?? []
    for (let from = 0; from < indices.length; from += validatorsMax) {
      const last = indices[Math.min(from + validatorsMax, indices.length) - 1]
      const range = { ...params, first_validator: indices[from] ?? 0, last_validator: last ?? 0 }
      let proofs = await warehouse.query<DayProof>(DAY_PROOF_SQL, range)
      while (!proofs.every(isProven) && (await again())) {
        proofs = await warehouse.query<DayProof>(DAY_PROOF_SQL, range)
      }
      yield proofs
    }
  }
}
