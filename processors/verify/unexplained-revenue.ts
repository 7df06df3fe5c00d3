import type { Warehouse } from '../../infra/ports/warehouse.ts'

/** Blocks of a chain's tracked proposers on closed days whose execution revenue is not proven: no figure counts it. */
export interface UnexplainedRevenue {
  readonly chain: string
  readonly blocks: string
  /** What they claim to have paid, in wei as decimal text. */
  readonly claimed_wei: string
  readonly first_day: string
  readonly last_day: string
}

/** What the figures leave out because it is doubtful whom it was paid to, or whether; one row for each chain that has some. */
export function findUnexplainedRevenue(warehouse: Warehouse, chain = ''): Promise<readonly UnexplainedRevenue[]> {
  return warehouse.query<UnexplainedRevenue>(
    `SELECT
       chain, sum(blocks_unexplained) AS blocks, toString(sum(unexplained_wei)) AS claimed_wei,
       toString(min(day)) AS first_day, toString(max(day)) AS last_day
     FROM daily_rewards FINAL
     WHERE {chain:String} IN ('', chain) AND blocks_unexplained > 0
     GROUP BY chain ORDER BY chain`,
    { chain },
  )
}
