import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { IS_ANCHORED } from '../../schemas/tables/day-levels.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { SlotsOf } from './select-chain.ts'

/** A slot of the final chain without a block. */
export interface MissedRow {
  readonly proposer_index: number
  readonly slot: string
}

/** Slots `[from, to)`. */
export interface SlotRange {
  readonly from: number
  readonly to: number
}

// What a state says that the chain does not name is not known; of several events of an epoch the newest counts.
const KNOWN = (columns: string): string => `
  SELECT ${columns} FROM epoch_proofs FINAL
  WHERE chain = {chain:String} AND epoch >= {fromEpoch:UInt32} AND epoch < {toEpoch:UInt32} AND has_proposers = 1 AND ${IS_ANCHORED}`

const MISSED = `
  SELECT proposer_index, slot FROM missed_slots FINAL
  WHERE chain = {chain:String} AND slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64}
    AND proposer_index IN {indices:Array(UInt32)} AND (epoch, version) IN (${KNOWN('epoch, version')})
  ORDER BY slot`

// Epochs that follow on each other differ from their places among these by one number.
const UNKNOWN = `
  SELECT min(epoch) AS first, max(epoch) AS last FROM (
    SELECT epoch, epoch - row_number() OVER (ORDER BY epoch) AS run FROM (
      SELECT {fromEpoch:UInt32} + number AS epoch FROM numbers(toUInt64({toEpoch:UInt32} - {fromEpoch:UInt32}))
      WHERE epoch NOT IN (${KNOWN('epoch')})
    )
  )
  GROUP BY run`

/** Slots `[fromSlot, toSlot)` that these validators were to fill and that have no final block, as far as it is known whose turn they were. */
export function selectMissed(
  warehouse: WarehouseReader,
  asked: SlotsOf & { readonly indices: readonly number[] },
  clock: ChainClock,
): Promise<MissedRow[]> {
  const params = { ...asked, ...epochsOf(asked, clock) }
  return askInParts(asked.indices, NUMBERS_PER_STATEMENT, (indices) =>
    warehouse.query<MissedRow>(MISSED, { ...params, indices }),
  )
}

/** Of slots `[fromSlot, toSlot)` those of epochs of which nobody told whose turn they were. */
export async function selectUnknownTurns(
  warehouse: WarehouseReader,
  { chain, ...slots }: SlotsOf,
  clock: ChainClock,
): Promise<readonly SlotRange[]> {
  if (slots.fromSlot >= slots.toSlot) return []
  const rows = await warehouse.query<{ first: string; last: string }>(UNKNOWN, { chain, ...epochsOf(slots, clock) })
  return rows.map(({ first, last }) => ({
    from: Math.max(slots.fromSlot, firstSlotOfEpoch(clock, Number(first))),
    to: Math.min(slots.toSlot, firstSlotOfEpoch(clock, Number(last) + 1)),
  }))
}

function epochsOf({ fromSlot, toSlot }: Omit<SlotsOf, 'chain'>, clock: ChainClock) {
  return {
    fromEpoch: epochOf(clock, fromSlot),
    toEpoch: Math.max(epochOf(clock, fromSlot), epochOf(clock, toSlot - 1) + 1),
  }
}
