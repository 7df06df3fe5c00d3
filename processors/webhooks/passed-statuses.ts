import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import type { StatusSince } from './decide-statuses.ts'

/** After the program was stopped for longer, what a validator was in between is left out: four weeks of mainnet. */
const LOOKED_BACK_EPOCHS_MAX = 6_750

// The first of them counts, so it does not matter that a row may be there twice.
const PASSED = `
  SELECT validator_index, status, min(epoch) AS first FROM validator_epochs
  WHERE chain = {chain:String} AND epoch BETWEEN {from:UInt32} AND {to:UInt32} AND validator_index IN {indices:Array(UInt32)}
  GROUP BY validator_index, status ORDER BY first, status`

/** Statuses of the registry that validators were in at the ends of the epochs `[from, to]`, by index, each with its first epoch. */
export async function passedStatuses(
  warehouse: WarehouseReader,
  { chain, from, to }: { readonly chain: string; readonly from: number; readonly to: number },
  indices: readonly number[],
): Promise<ReadonlyMap<number, readonly StatusSince[]>> {
  const passed = new Map<number, StatusSince[]>()
  const epochs = { from: Math.max(from, to - LOOKED_BACK_EPOCHS_MAX), to }
  for (const some of inStatements(indices)) {
    const rows = await warehouse.query<{ validator_index: number; status: number; first: number }>(PASSED, {
      chain,
      ...epochs,
      indices: some,
    })
    for (const { validator_index: index, status, first } of rows) {
      const name = VALIDATOR_STATUSES[status]
      const own = passed.get(index) ?? []
      passed.set(index, own)
      if (name !== undefined) own.push({ status: name, epoch: first })
    }
  }
  return passed
}
