import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei } from '../../schemas/eth/units.ts'
import type { DeriveDayInput } from '../../schemas/jobs/derive-day.ts'
import { IS_EXPLAINED } from '../../schemas/tables/day-levels.ts'

/** A closed day as the log tells it: amounts are exact ETH, summed over the validators with a whole day that is explained. */
export interface ClosedDay {
  readonly chain: string
  readonly day: string
  readonly validators: number
  readonly unexplained: number
  readonly consensusEth: string
  readonly executionEth: string
}

const CLOSED_DAY_SQL = `
SELECT
  c.validators AS validators, c.validators_unexplained AS unexplained, d.consensus_gwei AS consensus_gwei,
  d.execution_wei AS execution_wei
FROM (SELECT * FROM closed_days FINAL WHERE chain = {chain:String} AND day = {day:Date}) AS c
CROSS JOIN (
  SELECT sum(cl_reward_gwei) AS consensus_gwei, toString(sum(el_reward_wei)) AS execution_wei FROM daily_rewards FINAL
  WHERE chain = {chain:String} AND day = {day:Date} AND is_whole = 1 AND ${IS_EXPLAINED}
) AS d`

/** With how many validators the day was closed; undefined while it is open. */
export async function closedValidators(warehouse: Warehouse, input: DeriveDayInput): Promise<number | undefined> {
  const [row] = await warehouse.query<{ validators: number }>(
    'SELECT validators FROM closed_days FINAL WHERE chain = {chain:String} AND day = {day:Date}',
    { chain: input.chain, day: formatDay(input.day) },
  )
  return row?.validators
}

/** The day with its sums; undefined while it is open. */
export async function readClosedDay(warehouse: Warehouse, input: DeriveDayInput): Promise<ClosedDay | undefined> {
  const { chain } = input
  const day = formatDay(input.day)
  const [row] = await warehouse.query<{
    validators: number
    unexplained: number
    consensus_gwei: string
    execution_wei: string
  }>(CLOSED_DAY_SQL, { chain, day })
  if (row === undefined) return undefined
  const { validators, unexplained } = row
  const consensusEth = formatEthFromGwei(BigInt(row.consensus_gwei))
  return {
    chain,
    day,
    validators,
    unexplained,
    consensusEth,
    executionEth: formatEthFromWei(BigInt(row.execution_wei)),
  }
}

/** "day 2026-11-18 closed: 64 validators earned 9.8 ETH of consensus and 42.7 ETH of execution rewards" */
export function formatClosedDay(closed: ClosedDay): string {
  const { day, validators, unexplained, consensusEth, executionEth } = closed
  const doubt =
    unexplained === 0
      ? ''
      : `; ${unexplained} more are left out, whose balances changed by what nothing explains: see verify`
  return `day ${day} closed: ${validators - unexplained} validators earned ${consensusEth} ETH of consensus and ${executionEth} ETH of execution rewards${doubt}`
}
