import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { blockRevenuesSql } from '../../schemas/tables/block-revenues.ts'
import { type EpochLevel, newestToldSql } from '../../schemas/tables/day-levels.ts'
import type { RevenueClass } from '../../schemas/tables/execution.ts'
import type { FinalizedBlockRow, ValidatorEpochRow } from '../../schemas/tables/rewards.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'

export interface EpochRange {
  readonly chain: string
  readonly indices: readonly number[]
  readonly fromEpoch: number
  readonly toEpoch: number
}

/** An epoch with how its figures came about, and what they leave unexplained. */
export interface ProvenEpochRow extends ValidatorEpochRow {
  /** Empty before the epoch's blocks were told. */
  readonly level: EpochLevel | ''
  readonly residual_gwei: string
}

const OF_EPOCHS = 'epoch >= {fromEpoch:UInt32} AND epoch < {toEpoch:UInt32}'

/** Epochs of `[fromEpoch, toEpoch)` of several validators on the given days, those of each by epoch. */
export function selectValidatorEpochs(
  warehouse: WarehouseReader,
  range: EpochRange & { readonly days: readonly string[] },
): Promise<ProvenEpochRow[]> {
  // The range lets the sort key skip what the days alone could not.
  const inRange = `chain = {chain:String} AND ${OF_EPOCHS}`
  const sql = `SELECT *
     FROM (
       SELECT * FROM validator_epochs FINAL
       WHERE ${inRange} AND day IN {days:Array(Date)} AND validator_index IN {indices:Array(UInt32)}
     ) AS epochs
     LEFT JOIN (SELECT epoch, level FROM epoch_proofs FINAL WHERE ${inRange}) AS proofs USING (epoch)
     LEFT JOIN (
       SELECT epoch, validator_index, residual_gwei FROM epoch_residuals FINAL
       WHERE ${inRange} AND validator_index IN {indices:Array(UInt32)} AND version IN (${newestToldSql(OF_EPOCHS)})
     ) AS residuals USING (epoch, validator_index)
     ORDER BY validator_index, epoch`
  return askInParts(range.indices, NUMBERS_PER_STATEMENT, (indices) =>
    warehouse.query<ProvenEpochRow>(sql, { ...range, indices }),
  )
}

/** What a block paid; empty while its execution block is not known. */
interface RevenueRow {
  readonly revenue_wei: string
  readonly claimed_wei: string
  readonly revenue_class: RevenueClass | ''
  readonly recipient: string
  readonly is_contradicted: number
}

const NO_REVENUE: RevenueRow = {
  revenue_wei: '0',
  claimed_wei: '0',
  revenue_class: '',
  recipient: '',
  is_contradicted: 0,
}

/** A finalized block. */
export interface ProposalRow extends FinalizedBlockRow, RevenueRow {}

interface SlotsOfProposers {
  readonly chain: string
  readonly indices: readonly number[]
  readonly fromSlot: number
  readonly toSlot: number
}

/** Finalized blocks of slots `[fromSlot, toSlot)` by several proposers, those of each by slot. */
export function selectProposals(warehouse: WarehouseReader, range: SlotsOfProposers): Promise<ProposalRow[]> {
  return askInParts(range.indices, NUMBERS_PER_STATEMENT, (indices) => proposalsOf(warehouse, { ...range, indices }))
}

async function proposalsOf(warehouse: WarehouseReader, range: SlotsOfProposers): Promise<ProposalRow[]> {
  const blocks = await warehouse.query<FinalizedBlockRow>(
    `SELECT * FROM finalized_blocks FINAL
     WHERE chain = {chain:String} AND slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64}
       AND proposer_index IN {indices:Array(UInt32)}
     ORDER BY slot`,
    { ...range },
  )
  if (blocks.length === 0) return []
  const revenues = await warehouse.query<RevenueRow & Pick<FinalizedBlockRow, 'slot'>>(
    `SELECT slot, revenue_wei, claimed_wei, revenue_class, recipient, is_contradicted
     FROM (${blockRevenuesSql('f.chain = {chain:String} AND f.proposer_index IN {indices:Array(UInt32)} AND f.day IN {days:Array(Date)}')})
     WHERE slot >= {fromSlot:UInt64} AND slot < {toSlot:UInt64}`,
    {
      ...range,
      indices: [...new Set(blocks.map(({ proposer_index }) => proposer_index))],
      days: [...new Set(blocks.map(({ day }) => day))],
    },
  )
  const revenueOf = new Map(revenues.map(({ slot, ...revenue }) => [slot, revenue]))
  return blocks.map((block) => ({ ...block, ...(revenueOf.get(block.slot) ?? NO_REVENUE) }))
}
