import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { DaySpan } from '../../schemas/eth/day-span.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import { type EpochLevel, newestToldSql } from '../../schemas/tables/day-levels.ts'
import type { LedgerKind } from '../../schemas/tables/rewards.ts'
import { type ProvenEpochRow, selectValidatorEpochs } from './select-detail.ts'

/** How the figures of an epoch came about, of all validators. */
export interface EpochProofRow {
  readonly epoch: number
  readonly level: EpochLevel
  readonly formulas: number
  /** Of the state after the epoch's last slot; empty where none was read. */
  readonly state_root: string
}

export interface EffectRow {
  readonly slot: string
  readonly epoch: number
  readonly kind: LedgerKind
  readonly reference: string
  readonly amount_gwei: string
  /** Empty where the slot has no block. */
  readonly block_root: string
}

export interface BlockRow {
  readonly slot: string
  readonly block_root: string
}

/** What a day of a validator is proven by: rows by ascending epoch, and slot. */
export interface ProofRows {
  /** From the epoch before the day's first one. */
  readonly proofs: readonly EpochProofRow[]
  readonly epochs: readonly ProvenEpochRow[]
  readonly effects: readonly EffectRow[]
  /** The last block of each epoch, of the slots before the day and of those in it; by descending slot. */
  readonly blocks: readonly BlockRow[]
}

const EPOCHS = 'epoch BETWEEN {before_epoch:UInt32} AND {last_epoch:UInt32}'

const PROOFS = `
  SELECT epoch, level, formulas, state_root FROM epoch_proofs FINAL
  WHERE chain = {chain:String} AND ${EPOCHS} ORDER BY epoch`

const OF_SLOTS = 'chain = {chain:String} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}'
const EFFECTS = `
  SELECT effects.*, if(blocks.is_known = 1, toString(blocks.block_root), '') AS block_root
  FROM (
    SELECT slot, epoch, kind, reference, amount_gwei FROM ledger_entries FINAL
    WHERE ${OF_SLOTS} AND validator_index = {index:UInt32} AND version IN (${newestToldSql(EPOCHS)})
  ) AS effects
  LEFT JOIN (SELECT slot, block_root, 1 AS is_known FROM finalized_blocks FINAL WHERE ${OF_SLOTS}) AS blocks ON blocks.slot = effects.slot
  ORDER BY effects.slot, effects.kind, effects.reference`

// A day begins and ends within epochs: the last block before it, and its own last one, are told beside those of epochs.
const LAST_BLOCKS = `
  SELECT slot, block_root FROM finalized_blocks FINAL
  WHERE chain = {chain:String} AND slot BETWEEN {before_slot:UInt64} AND {last_slot:UInt64}
  ORDER BY slot DESC
  LIMIT 1 BY epoch, slot < {first_slot:UInt64}`

/** What is known of a validator's closed day. */
export async function selectProof(
  warehouse: WarehouseReader,
  {
    chain,
    index,
    span,
    slotsPerEpoch,
  }: {
    readonly chain: string
    readonly index: number
    readonly span: DaySpan
    readonly slotsPerEpoch: number
  },
): Promise<ProofRows> {
  const before = Math.max(0, span.firstEpoch - 1)
  const params = {
    ...{ chain, index, before_epoch: before, last_epoch: span.lastTransition, before_slot: before * slotsPerEpoch },
    ...{ first_slot: span.firstSlot, last_slot: span.lastSlot },
  }
  const range = { chain, indices: [index], fromEpoch: before, toEpoch: span.lastTransition + 1 }
  const [proofs, epochs, effects, blocks] = await Promise.all([
    warehouse.query<EpochProofRow>(PROOFS, params),
    selectValidatorEpochs(warehouse, { ...range, days: [formatDay(span.day - 1), formatDay(span.day)] }),
    warehouse.query<EffectRow>(EFFECTS, params),
    warehouse.query<BlockRow>(LAST_BLOCKS, params),
  ])
  return { proofs, epochs, effects, blocks }
}
