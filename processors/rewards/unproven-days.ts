import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { UnprovenDays } from '../../schemas/tables/day-levels.ts'

/** How many closed days of validators are not proven to the gwei: of each chain that has closed days, and by level. */
export async function unprovenDays(warehouse: WarehouseReader): Promise<readonly UnprovenDays[]> {
  const rows = await warehouse.query<{ chain: string; rounded: string; unexplained: string; unanchored: string }>(
    `SELECT chain, sum(validators_rounded) AS rounded, sum(validators_unexplained) AS unexplained,
       sum(validators_unanchored) AS unanchored
     FROM closed_days FINAL GROUP BY chain ORDER BY chain`,
  )
  return rows.flatMap(({ chain, rounded, unexplained, unanchored }): UnprovenDays[] => [
    { chain, level: 'rounding', validatorDays: Number(rounded) },
    { chain, level: 'unexplained', validatorDays: Number(unexplained) },
    { chain, level: 'unanchored', validatorDays: Number(unanchored) },
  ])
}
