import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { TimeSlices } from '../loop/time-slices.ts'
import { type BlockCounts, BlockFold } from './block-fold.ts'
import { type FoldState, numberAt } from './fold-state.ts'
import type { FoldedRows } from './folded-rows.ts'
import { lookUp } from './look-up.ts'
import { isEqual, isOfSameBlock, readStep, type Span, TRANSFER } from './read-step.ts'
import { readTogether } from './read-together.ts'
import { Senders } from './senders.ts'
import { TransferParts } from './transfer-parts.ts'

/** A block, with hashes as text. */
export interface Block {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timeSec: number
}

/** In 32-bit words. */
const WORD = 8
export const NO_TRANSFERS: BlockCounts = { transfers: 0, singles: 0 }

export interface Step {
  readonly span: Span
  /** They follow one on the other. */
  readonly blocks: readonly Block[]
  /** A condition on `block_hash`: rows of other blocks count for nobody. */
  readonly notReverted: string
  /** As it stands before the step; afterwards it stands behind it, or is good for nobody where the step has failed. */
  readonly state: FoldState
  /** Of all steps: its memory is used again. */
  readonly folded: FoldedRows
}

/**
 * Folds the blocks of a step: writes what accounts, contracts and tokens have after each of them, and the transfers, with what is odd about
 * them. What it writes is a function of the chain up to each block, wherever steps begin and end. Returns how many transfers each block has.
 */
export async function foldStep(
  warehouse: Warehouse,
  { span, blocks, notReverted, state, folded }: Step,
): Promise<readonly BlockCounts[]> {
  const counts = new Array<BlockCounts>(blocks.length).fill(NO_TRANSFERS)
  const rows = await readStep(warehouse, span)
  const slices = new TimeSlices()
  const transfers = await readTogether(rows.transfers, slices)
  if (transfers.length === 0) return counts
  const since = state.sizes()
  const parts = await TransferParts.of(transfers, state, slices)
  if (!state.isWhole) await lookUp(warehouse, span, { state, since, notReverted, slices })
  const senders = await Senders.of(rows.senders, slices)
  const fold = new BlockFold({ state, folded, span, transfers, parts, senders, slices })
  const hashes = wordsOf(Buffer.concat(blocks.map(({ hash }) => bytesOf(hash))))
  for (const { place, first, end } of transfersByBlock(transfers, { blocks, hashes })) {
    counts[place] = await fold.foldBlock(blocks[place] as Block, first, end)
    await folded.writeIfMany(span)
  }
  return counts
}

interface BlockTransfers {
  /** Of the block, among the step's. */
  readonly place: number
  /** Places among the words. */
  readonly first: number
  readonly end: number
}

/** The transfers of each of the blocks that has some; those of blocks in their places are left out. */
function* transfersByBlock(
  transfers: Uint32Array,
  { blocks, hashes }: { readonly blocks: readonly Block[]; readonly hashes: Uint32Array },
): Generator<BlockTransfers> {
  const [lowest] = blocks
  for (let first = 0; first < transfers.length; ) {
    let end = first + TRANSFER.row
    while (end < transfers.length && isOfSameBlock(transfers, first, end)) end += TRANSFER.row
    const place = numberAt(transfers, first + TRANSFER.blockNumber) - (lowest?.number ?? 0)
    if (blocks[place] !== undefined && isEqual(transfers, first + TRANSFER.blockHash, hashes, place * WORD))
      yield { place, first, end }
    first = end
  }
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(bytes.length / 4)
  new Uint8Array(words.buffer).set(bytes)
  return words
}
