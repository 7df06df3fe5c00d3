import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { askNotReverted } from '../../schemas/tables/reverted-blocks.ts'
import {
  exchangesOf,
  forgetState,
  keepState,
  memoryOf,
  notesOf,
  revertsOf,
  sourceWritesOf,
  takeState,
  untilSourcesWritten,
} from './fold-memory.ts'
import { earlierPlaceOf, isStillPlace, newestHeight, type Place, parentOfFirst, placeOf } from './fold-place.ts'
import { type Block, foldStep, NO_TRANSFERS } from './fold-step.ts'
import { FoldedRows } from './folded-rows.ts'
import { FILLING_BLOCKS_MIN, mergeLater } from './merges.ts'
import { askReverted, nextBlocks } from './next-blocks.ts'
import { UnnotedSteps } from './unnoted-steps.ts'

/** How much is folded at a time. */
export interface FoldLimits {
  /** Of a step: headers of so many are read at once. */
  readonly stepBlocks: number
  /** What a step touches is in memory at once; one block may have more. */
  readonly stepTransfers: number
  /** The same of a fold beside the one that answers, which waits for the step: some seconds. */
  readonly besideTransfers: number
  /** Steps are noted together up to so many: nothing is made while the last rows of what is noted are written. */
  readonly notedTransfers: number
  /** Likewise: of a chain whose blocks hardly move a token, they are in memory until then. */
  readonly notedBlocks: number
  /** Reverted blocks that are in memory at once, to tell those of a step. */
  readonly revertedBlocks: number
}

export const FOLD_LIMITS: FoldLimits = {
  stepBlocks: 5_500,
  stepTransfers: 240_000,
  besideTransfers: 60_000,
  notedTransfers: 1_000_000,
  notedBlocks: 20_000,
  revertedBlocks: 10_000,
}

/**
 * Folds all blocks of a chain that follow on what is folded, are canonical, and are there with all their logs when it begins; ends early
 * when the signal aborts. Returns the number of blocks. Two that fold the same chain side by side write the same rows.
 *
 * Blocks before the first one change what everybody holds afterwards: where they are there, all that follows is another fold, made beside
 * the one that answers until it is as far. Before each of its steps the one that answers is folded to the newest block.
 */
export async function foldChain(
  warehouse: Warehouse,
  chain: string,
  signal: AbortSignal,
  limits = FOLD_LIMITS,
): Promise<number> {
  let blocks = 0
  await untilSourcesWritten(warehouse, signal)
  while (!signal.aborted) {
    const { isPreceded, blocks: following } = await goOn(warehouse, { chain, signal, limits, isBeside: false })
    blocks += following
    if (!isPreceded) break
    const { blocks: earlier } = await goOn(warehouse, { chain, signal, limits, isBeside: true })
    if (earlier === 0) break
    blocks += earlier
  }
  return blocks
}

interface Going {
  readonly chain: string
  readonly signal: AbortSignal
  readonly limits: FoldLimits
  /** Whether it is the fold beside the one that answers: it goes on by one step. */
  readonly isBeside: boolean
}

interface Gone {
  readonly blocks: number
  /** Whether the block before the fold's first one is there. */
  readonly isPreceded: boolean
}

async function goOn(warehouse: Warehouse, { chain, signal, limits, isBeside }: Going): Promise<Gone> {
  const memory = memoryOf(warehouse)
  const knownFolds = isBeside ? memory.earlier : memory.known
  let known = knownFolds.get(chain)
  // All of it was seen last time: a block is asked for with its header and with its logs, whichever comes last.
  if (known?.seen !== undefined && known.seen === sourceWritesOf(warehouse)) {
    knownFolds.set(chain, { ...known, folded: undefined })
    return { blocks: 0, isPreceded: false }
  }
  // Who fails knows nothing.
  knownFolds.delete(chain)
  let { folded, notes, isOnlyFold = false } = known ?? {}
  let [blocks, isPreceded] = [0, false]
  let seen: number | undefined
  const unnoted = new UnnotedSteps(warehouse, chain)
  const note = async (): Promise<void> => {
    const place = await unnoted.note(folded)
    if (place === undefined) return
    isOnlyFold ||= await dropOvertaken(warehouse, chain, place)
    notes = notesOf(warehouse)
  }
  while (!signal.aborted) {
    seen = sourceWritesOf(warehouse)
    const reverts = await revertsOf(warehouse, chain)
    if (known?.reverts !== reverts) known = undefined
    if (known === undefined) {
      await note()
      isOnlyFold = false
    }
    const place = known?.place ?? (await (isBeside ? earlierPlaceOf : placeOf)(warehouse, chain))
    if (place === undefined) break
    const isNoted = unnoted.blocks > 0 || (notes !== undefined && notes === notesOf(warehouse))
    const parentHash = known?.parentHash ?? (await parentOfFirst(warehouse, chain, place.start))
    const remembered = known?.reverted
    const reverted = async () =>
      remembered !== undefined && reverts === (await revertsOf(warehouse, chain))
        ? remembered
        : await askReverted(warehouse, chain, { from: place.through.number, blocksMax: limits.revertedBlocks })
    const [exchanges, next, isAsKnown, newest] = await Promise.all([
      exchangesOf(warehouse, memory),
      nextBlocks(warehouse, chain, { place, parentHash, blocksMax: limits.stepBlocks, reverted }),
      known === undefined || isNoted || isStillPlace(warehouse, chain, known.place),
      newestHeight(warehouse, chain),
    ])
    const { follow, isLast } = next
    // A fold that begins with yet earlier ones takes the place of one beside the one that answers. Only behind blocks that are not there
    // something else may be folded.
    const isOther =
      !isAsKnown ||
      (known !== undefined &&
        ((isBeside && next.isPreceded) || (follow.length === 0 && newest > place.through.number + 1)))
    if (isOther) {
      known = undefined
      continue
    }
    isPreceded = next.isPreceded
    if (known !== undefined && follow.length === 0) {
      known = { ...known, folded: undefined }
      break
    }
    const [{ step, hasTransfers }, notReverted] = await Promise.all([
      withTransfers(warehouse, chain, {
        follow,
        transfersMax: isBeside ? limits.besideTransfers : limits.stepTransfers,
      }),
      known?.notReverted ?? askNotReverted(warehouse, chain),
    ])
    const last = step.at(-1)
    if (last === undefined) break
    const { start } = place
    const span = { chain, start, from: place.through.number, to: last.number }
    const taken = takeState(memory, chain, { place, exchanges })
    // What it does not know is looked up in the tables.
    if (!taken.state.isWhole) await note()
    if (hasTransfers) folded ??= new FoldedRows(warehouse)
    if (hasTransfers && step.length >= FILLING_BLOCKS_MIN) await mergeLater(warehouse)
    const counts =
      folded === undefined || !hasTransfers
        ? step.map(() => NO_TRANSFERS)
        : await foldStep(warehouse, { span, blocks: step, notReverted, state: taken.state, folded })
    const through = unnoted.add(place, step, counts)
    keepState(memory, chain, taken, step)
    blocks += step.length
    if (unnoted.transfers >= limits.notedTransfers || unnoted.blocks >= limits.notedBlocks) await note()
    const kept = step.length > 1 ? folded : undefined
    known =
      reverts === undefined
        ? undefined
        : {
            ...{ place: { start, through }, parentHash: parentHash || parentIn(step, start) },
            ...{ notReverted, reverts, folded: kept, notes, isOnlyFold },
            reverted: next.reverted.through === Number.POSITIVE_INFINITY ? next.reverted : undefined,
          }
    // What comes meanwhile is asked for when it is there; of blocks that come in numbers that is many at once.
    const isCut = step.length < follow.length || follow.length === limits.stepBlocks
    if (isBeside || (!isCut && isLast && newest <= last.number)) break
    seen = undefined
  }
  await note()
  if (isPreceded || isBeside) seen = undefined
  if (known !== undefined) knownFolds.set(chain, { ...known, notes, isOnlyFold, seen })
  return { blocks, isPreceded }
}

/**
 * Drops folds that begin later than `start` and have come no further than `number`: nobody is answered from them any more. Whether there
 * is no other left.
 */
async function dropOvertaken(
  warehouse: Warehouse,
  chain: string,
  { start, through: { number } }: Place,
): Promise<boolean> {
  const others = await warehouse.query<{ start: string; is_overtaken: number }>(
    `SELECT start, start > {start:UInt64} AND max(block_number) <= {number:UInt64} AS is_overtaken FROM nft_blocks
     WHERE chain = {chain:String} AND start != {start:UInt64} GROUP BY start`,
    { chain, start, number },
  )
  const overtaken = others.filter(({ is_overtaken }) => is_overtaken === 1)
  for (const later of overtaken) {
    // The table that tells of a fold is the last one: a run that is interrupted is made again.
    for (const table of FOLDED_TABLES.toReversed()) {
      const parts = await warehouse.query<{ id: string }>(
        `SELECT DISTINCT _partition_id AS id FROM ${table} WHERE chain = {chain:String} AND start = {start:UInt64}`,
        { chain, start: later.start },
      )
      for (const { id } of parts) await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
    forgetState(memoryOf(warehouse), chain, Number(later.start))
  }
  return overtaken.length === others.length
}

/** As many blocks of a step as have so many transfers. Most blocks of most chains move no token. */
async function withTransfers(
  warehouse: Warehouse,
  chain: string,
  { follow: step, transfersMax }: { readonly follow: readonly Block[]; readonly transfersMax: number },
): Promise<{ readonly step: readonly Block[]; readonly hasTransfers: boolean }> {
  const [first, last] = [step.at(0), step.at(-1)]
  if (first === undefined || last === undefined) return { step, hasTransfers: false }
  // At the head reading its transfers takes no longer than counting them.
  if (first === last) return { step, hasTransfers: true }
  const counts = await warehouse.query<{ number: string; transfers: string }>(
    `SELECT block_number AS number, count() AS transfers FROM nft_transfers
     WHERE chain = {chain:String} AND block_number >= {first:UInt64} AND block_number <= {last:UInt64}
     GROUP BY block_number ORDER BY block_number`,
    { chain, first: first.number, last: last.number },
  )
  let transfers = 0
  const beyond = counts.find(({ number, transfers: more }) => {
    transfers += Number(more)
    return transfers > transfersMax && Number(number) > first.number
  })
  if (beyond === undefined) return { step, hasTransfers: counts.length > 0 }
  return { step: step.slice(0, Number(beyond.number) - first.number), hasTransfers: true }
}

/** The hash of the block that the fold's first one follows on, where that is in the step. */
function parentIn([first]: readonly Block[], start: number): string {
  return first?.number === start ? first.parentHash : ''
}
