import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import { formatEthFromGwei, formatEthFromWei } from '../../schemas/eth/units.ts'
import type { DeriveDayInput } from '../../schemas/jobs/derive-day.ts'
import { IS_PUBLISHED } from '../../schemas/tables/day-levels.ts'

/** A closed day as the log tells it: amounts are exact ETH, summed over the validators with a whole day that is explained. */
export interface ClosedDay {
  readonly chain: string
  readonly day: string
  readonly validators: number
  readonly unexplained: number
  /** Of those that were computed of a state that no block names. */
  readonly unanchored: number
  readonly consensusEth: string
  readonly executionEth: string
}

const CLOSED_DAY_SQL = `
SELECT
  c.validators AS validators, c.validators_unexplained AS unexplained,
  c.validators_unanchored AS unanchored, d.consensus_gwei AS consensus_gwei,
  d.execution_wei AS execution_wei
FROM (SELECT * FROM closed_days FINAL WHERE chain = {chain:String} AND day = {day:Date}) AS c
CROSS JOIN (
  SELECT sum(cl_reward_gwei) AS consensus_gwei, toString(sum(el_reward_wei)) AS execution_wei FROM daily_rewards FINAL
  WHERE chain = {chain:String} AND day = {day:Date} AND is_whole = 1 AND ${IS_PUBLISHED}
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
    unanchored: number
    consensus_gwei: string
    execution_wei: string
  }>(CLOSED_DAY_SQL, { chain, day })
  if (row === undefined) return undefined
  const { validators, unexplained, unanchored } = row
  const consensusEth = formatEthFromGwei(BigInt(row.consensus_gwei))
  return {
    chain,
    day,
    validators,
    unexplained,
    unanchored,
    consensusEth,
    executionEth: formatEthFromWei(BigInt(row.execution_wei)),
  }
}

/** "day 2026-11-18 closed: 64 validators earned 9.8 ETH of consensus and 42.7 ETH of execution rewards" */
export function formatClosedDay(closed: ClosedDay): string {
  const { day, validators, unexplained, unanchored, consensusEth, executionEth } = closed
  const leftOut = (count: number, why: string) =>
    count === 0 ? '' : `; ${count} more are left out, ${why}: see verify`
  const doubt =
    leftOut(unexplained, 'whose balances changed by what nothing explains') +
    leftOut(unanchored, 'computed of a state that no block names')
  return `day ${day} closed: ${validators - unexplained - unanchored} validators earned ${consensusEth} ETH of consensus and ${executionEth} ETH of execution rewards${doubt}`
}
