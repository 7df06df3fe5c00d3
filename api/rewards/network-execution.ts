import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type ChainClock, type DayNumber, firstSlotOfDay, formatDay } from '../../schemas/eth/time.ts'
import { NO_EXECUTION_BLOCK } from '../../schemas/tables/execution.ts'

/** What blocks of all the days have paid, wei; or why that is not known here: what strangers' blocks paid is not. */
export type NetworkExecution =
  | { readonly status: 'known'; readonly wei: bigint }
  | { readonly status: 'unknown'; readonly reason: 'PROPOSERS_NOT_TRACKED' | 'BLOCKS_NOT_PROVEN' }

interface AskedDays {
  readonly chain: string
  readonly clock: ChainClock
  /** Closed ones, ascending, one at least. */
  readonly days: readonly DayNumber[]
}

const WITH_PAYLOAD = `chain = {chain:String} AND slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64} AND has({days:Array(Date)}, day)
      AND execution_block_hash != {noExecutionBlock:String}`

/** Of most networks it is one: all others are asked no more. */
const STRANGERS_SQL = `
SELECT proposer_index FROM finalized_blocks
WHERE ${WITH_PAYLOAD} AND proposer_index NOT IN (SELECT validator_index FROM validators WHERE chain = {chain:String})
LIMIT 1`

const PAID_SQL = `
SELECT toString(sum(paid.wei)) AS wei, countIf(made.blocks != paid.proven) AS days_unproven
FROM (SELECT day, count() AS blocks FROM finalized_blocks FINAL WHERE ${WITH_PAYLOAD} GROUP BY day) AS made
FULL JOIN (
  SELECT day, sum(el_reward_wei) AS wei, sum(blocks) - sum(blocks_unexplained) AS proven FROM daily_rewards FINAL
  WHERE chain = {chain:String} AND has({days:Array(Date)}, day) AND blocks > 0
  GROUP BY day
) AS paid ON paid.day = made.day`

/**
 * What the blocks of closed days have paid their proposers, if every one of these is tracked here and every block's revenue is proven: sums
 * over some of them would be those of this instance's accounts, which tell each account what the others earn.
 */
export async function networkExecution(
  warehouse: WarehouseReader,
  { chain, clock, days }: AskedDays,
): Promise<NetworkExecution> {
  const [first = 0, last = 0] = [days[0], days.at(-1)]
  const params = {
    chain,
    days: days.map(formatDay),
    fromSlot: firstSlotOfDay(clock, first),
    toSlot: firstSlotOfDay(clock, last + 1),
    noExecutionBlock: NO_EXECUTION_BLOCK,
  }
  const strangers = await warehouse.query(STRANGERS_SQL, params)
  if (strangers.length > 0) return { status: 'unknown', reason: 'PROPOSERS_NOT_TRACKED' }
  const [paid] = await warehouse.query<{ wei: string; days_unproven: string }>(PAID_SQL, params)
  if (paid === undefined || paid.days_unproven !== '0') return { status: 'unknown', reason: 'BLOCKS_NOT_PROVEN' }
  return { status: 'known', wei: BigInt(paid.wei) }
}
