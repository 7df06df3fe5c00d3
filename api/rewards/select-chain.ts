import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { DifferenceKind } from '../../schemas/events/beacon-epoch.ts'
import { type EpochLevel, newestToldSql } from '../../schemas/tables/day-levels.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'

/** A complete epoch of the chain. */
export interface ChainEpochRow {
  readonly epoch: number
  readonly first_slot: string
  readonly last_slot: string
  readonly blocks: number
  readonly level: EpochLevel | ''
  readonly state_root: string
  /** 1: nodes were asked whether they tell the same. */
  readonly is_compared: number
}

/** Epochs before one of them, the newest first. */
export function selectEpochs(
  warehouse: WarehouseReader,
  range: { readonly chain: string; readonly before: number; readonly limit: number },
): Promise<ChainEpochRow[]> {
  return warehouse.query<ChainEpochRow>(
    `SELECT epoch, first_slot, last_slot, blocks, level, state_root, is_compared
     FROM (
       SELECT epoch, first_slot, last_slot, blocks FROM epochs FINAL
       WHERE chain = {chain:String} AND epoch < {before:UInt64} ORDER BY epoch DESC LIMIT {limit:UInt32}
     ) AS complete
     LEFT JOIN (
       SELECT epoch, level, state_root, is_compared FROM epoch_proofs FINAL WHERE chain = {chain:String} AND epoch < {before:UInt64}
     ) AS proofs USING (epoch)
     ORDER BY epoch DESC`,
    { ...range },
  )
}

/** A node that told something of an epoch otherwise than figures go by. */
export interface DifferenceRow {
  readonly epoch: number
  readonly node: string
  readonly client: string
  readonly what: DifferenceKind
}

/** Of these epochs, by their newest events. */
export function selectDifferences(
  warehouse: WarehouseReader,
  asked: { readonly chain: string; readonly epochs: readonly number[] },
): Promise<DifferenceRow[]> {
  const sql = `SELECT epoch, node, client, what FROM epoch_differences FINAL
     WHERE chain = {chain:String} AND has({epochs:Array(UInt32)}, epoch)
       AND version IN (${newestToldSql('has({epochs:Array(UInt32)}, epoch)')})
     ORDER BY epoch, node, what`
  return askInParts(asked.epochs, NUMBERS_PER_STATEMENT, (epochs) =>
    warehouse.query<DifferenceRow>(sql, { ...asked, epochs }),
  )
}

export interface SlotsOf {
  readonly chain: string
  readonly fromSlot: number
  readonly toSlot: number
}

const IN_SLOTS = 'chain = {chain:String} AND slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64}'

export interface OrphanRow {
  readonly proposer_index: number
  readonly slot: string
}

/** Blocks of slots `[fromSlot, toSlot)` that the head has shown of these proposers, and that are not in the final chain. */
export function selectOrphans(
  warehouse: WarehouseReader,
  asked: SlotsOf & { readonly indices: readonly number[] },
): Promise<OrphanRow[]> {
  // A reverted block is a deleted row, which FINAL leaves out.
  const sql = `SELECT proposer_index, slot FROM beacon_blocks
     WHERE ${IN_SLOTS} AND proposer_index IN {indices:Array(UInt32)}
       AND (slot, toString(block_root)) NOT IN (SELECT slot, toString(block_root) FROM finalized_blocks WHERE ${IN_SLOTS})
     GROUP BY proposer_index, slot, block_root
     ORDER BY slot`
  return askInParts(asked.indices, NUMBERS_PER_STATEMENT, (indices) =>
    warehouse.query<OrphanRow>(sql, { ...asked, indices }),
  )
}

export interface NetworkDayRow {
  readonly day: string
  readonly slots: string
  readonly blocks: string
  readonly proposers: string
}

/** Closed days that lie in slots `[fromSlot, toSlot)`, ascending. */
export function selectNetworkDays(
  warehouse: WarehouseReader,
  asked: SlotsOf & { readonly from: string; readonly to: string },
): Promise<NetworkDayRow[]> {
  return warehouse.query<NetworkDayRow>(
    `SELECT closed.day AS day, closed.last_slot - closed.first_slot + 1 AS slots, made.blocks AS blocks, made.proposers AS proposers
     FROM (
       SELECT day, first_slot, last_slot FROM closed_days FINAL
       WHERE chain = {chain:String} AND day >= {from:Date} AND day < {to:Date}
     ) AS closed
     LEFT JOIN (
       SELECT day, count() AS blocks, uniqExact(proposer_index) AS proposers FROM finalized_blocks FINAL WHERE ${IN_SLOTS} GROUP BY day
     ) AS made ON made.day = closed.day
     ORDER BY day`,
    { ...asked },
  )
}
