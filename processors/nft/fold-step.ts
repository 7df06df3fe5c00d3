import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { TimeSlices } from '../loop/time-slices.ts'
import { type BlockCounts, BlockFold } from './block-fold.ts'
import type { FoldedRows } from './folded-rows.ts'
import { HOLDING, readStep, readUnnamed, type Span, TRANSFER } from './read-step.ts'
import { Senders } from './senders.ts'
import { numberAt, StepState } from './step-state.ts'

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
  /** Of all steps: its memory is used again. */
  readonly folded: FoldedRows
}

/**
 * Folds the blocks of a step: writes what accounts, contracts and tokens have after each of them, and the transfers, with what is odd about
 * them. What it writes is a function of the chain up to each block, wherever steps begin and end. Returns how many transfers each block has.
 */
export async function foldStep(
  warehouse: Warehouse,
  { span, blocks, notReverted, folded }: Step,
): Promise<readonly BlockCounts[]> {
  const counts = new Array<BlockCounts>(blocks.length).fill(NO_TRANSFERS)
  const rows = await readStep(warehouse, span, notReverted)
  const { transfers, holdings } = rows
  if (transfers.length === 0) return counts
  const state = new StepState()
  const slices = new TimeSlices()
  await namePairs(transfers, state, slices)
  await state.loadHoldings(holdings, slices)
  await state.loadTotals(rows.totals, slices)
  const unnamed = { notReverted, holdings, places: await placesOfUnnamed(holdings, state, slices) }
  for (const totals of await readUnnamed(warehouse, span, unnamed)) await state.loadTotals(totals, slices)
  const senders = await Senders.of(rows.senders, slices)
  const fold = new BlockFold({ state, folded, span, transfers, senders, slices })
  const hashes = wordsOf(Buffer.concat(blocks.map(({ hash }) => bytesOf(hash))))
  for (const { place, first, end } of transfersByBlock(transfers, { blocks, hashes })) {
    counts[place] = await fold.foldBlock(blocks[place] as Block, first, end)
    await folded.writeIfMany(span)
  }
  await folded.end(span)
  return counts
}

/** The pairs that what was read is about: those of accounts that transfers name. */
async function namePairs(transfers: Uint32Array, state: StepState, slices: TimeSlices): Promise<void> {
  for (let at = 0; at < transfers.length; at += TRANSFER.row) {
    const contract = state.contractAt(transfers, at + TRANSFER.contract)
    state.pairOf(contract, state.accountAt(transfers, at + TRANSFER.from))
    state.pairOf(contract, state.accountAt(transfers, at + TRANSFER.to))
    if (slices.isOver()) await slices.next()
  }
}

/** Who has a token that is moved, and is not named: its log says that somebody else has sent it. Places among the words. */
async function placesOfUnnamed(
  holdings: Uint32Array,
  state: StepState,
  slices: TimeSlices,
): Promise<readonly number[]> {
  const places: number[] = []
  for (let at = 0; at < holdings.length; at += HOLDING.row) {
    if (slices.isOver()) await slices.next()
    if (holdings[at + HOLDING.isMany] === 1 || holdings[at + HOLDING.amount] !== 1) continue
    const contract = state.contractAt(holdings, at)
    if (!state.hasPair(contract, state.accountAt(holdings, at + HOLDING.holder))) places.push(at)
  }
  return places
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

function isOfSameBlock(transfers: Uint32Array, one: number, other: number): boolean {
  return (
    transfers[one + TRANSFER.blockNumber] === transfers[other + TRANSFER.blockNumber] &&
    isEqual(transfers, one + TRANSFER.blockHash, transfers, other + TRANSFER.blockHash)
  )
}

function isEqual(words: Uint32Array, at: number, others: Uint32Array, othersAt: number): boolean {
  for (let i = 0; i < WORD; i++) if (words[at + i] !== others[othersAt + i]) return false
  return true
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(bytes.length / 4)
  new Uint8Array(words.buffer).set(bytes)
  return words
}
