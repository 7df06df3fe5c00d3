import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { BlockFold } from './block-fold.ts'
import type { FoldedRows } from './folded-rows.ts'
import { OWNER, readStep, readUnnamed, type Span, TRANSFER } from './read-step.ts'
import { Senders } from './senders.ts'
import { numberAt, StepState } from './step-state.ts'
import { Turns } from './turns.ts'

/** A block, with hashes as text. */
export interface Block {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  readonly timeSec: number
}

/** In 32-bit words. */
const WORD = 8

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
 * them. What it writes is a function of the chain up to each block, wherever steps begin and end.
 */
export async function foldStep(warehouse: Warehouse, { span, blocks, notReverted, folded }: Step): Promise<void> {
  const rows = await readStep(warehouse, span, notReverted)
  const state = new StepState()
  const turns = new Turns()
  await namePairs(rows.transfers, state, turns)
  await state.load(rows, turns)
  const unnamed = { notReverted, owners: rows.owners, places: await placesOfUnnamed(rows.owners, state, turns) }
  for (const holders of await readUnnamed(warehouse, span, unnamed)) await state.loadHolders(holders, turns)
  const senders = await Senders.of(rows.senders, turns)
  const fold = new BlockFold({ state, folded, span, transfers: rows.transfers, senders, turns })
  const hashes = wordsOf(Buffer.concat(blocks.map(({ hash }) => bytesOf(hash))))
  for (const { block, first, end } of transfersByBlock(rows.transfers, { blocks, hashes })) {
    await fold.foldBlock(block, first, end)
    await folded.writeIfMany(span)
  }
  await folded.end(span)
}

/** The pairs that what was read is about: those of accounts that transfers name. */
async function namePairs(transfers: Uint32Array, state: StepState, turns: Turns): Promise<void> {
  for (let at = 0; at < transfers.length; at += TRANSFER.row) {
    const contract = state.contractAt(transfers, at + TRANSFER.contract)
    state.pairOf(contract, state.accountAt(transfers, at + TRANSFER.from))
    state.pairOf(contract, state.accountAt(transfers, at + TRANSFER.to))
    if (turns.isOver()) await turns.next()
  }
}

/** Who has a token that is moved, and is not named: its log says that somebody else has sent it. Places among the words. */
async function placesOfUnnamed(owners: Uint32Array, state: StepState, turns: Turns): Promise<readonly number[]> {
  const places: number[] = []
  for (let at = 0; at < owners.length; at += OWNER.row) {
    if (turns.isOver()) await turns.next()
    if (owners[at + OWNER.isHeld] !== 1) continue
    const contract = state.contractAt(owners, at)
    if (!state.hasPair(contract, state.accountAt(owners, at + OWNER.holder))) places.push(at)
  }
  return places
}

interface BlockTransfers {
  readonly block: Block
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
    const block = blocks[place]
    if (block !== undefined && isEqual(transfers, first + TRANSFER.blockHash, hashes, place * WORD))
      yield { block, first, end }
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
