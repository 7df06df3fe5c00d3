import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { EpochLevel } from '../../schemas/tables/day-levels.ts'

/** Epochs of a chain that were computed of states which nothing has named. */
export interface UnanchoredEpochs {
  /** Those that have blocks, ascending: computed anew they may be anchored. */
  readonly epochs: readonly number[]
  /** How many have none. */
  readonly blockless: number
}

const UNANCHORED: EpochLevel = 'consistent'

export async function findUnanchored(warehouse: Warehouse, chain: string): Promise<UnanchoredEpochs> {
  const rows = await warehouse.query<{ epoch: number; has_blocks: number }>(
    `SELECT
       epoch, epoch IN (SELECT epoch FROM finalized_blocks WHERE chain = {chain:String}) AS has_blocks
     FROM epoch_proofs FINAL WHERE chain = {chain:String} AND level = '${UNANCHORED}' ORDER BY epoch`,
    { chain },
  )
  const epochs = rows.filter(({ has_blocks }) => has_blocks === 1).map(({ epoch }) => epoch)
  return { epochs, blockless: rows.length - epochs.length }
}
