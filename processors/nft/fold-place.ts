import type { Warehouse } from '../../infra/ports/warehouse.ts'
import {
  answeringFold,
  FOLD_STARTS_SQL,
  FOLD_THROUGH_SQL,
  type FoldStartRow,
  type FoldThroughRow,
} from '../../schemas/tables/block-coverage.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'

// Where the fold of a chain is, and where it goes on.

/** Blocks that were folded and reverted since are among the newest: no reorg is deeper than finality. */
const RECENT_BLOCKS = 10_000

/** What is folded: from the block `start` on, through a block; before the first step through none. */
export interface Place {
  readonly start: number
  readonly through: Through
}

export interface Through {
  readonly number: number
  readonly hash: string | undefined
  /** Of the chain from `start` on, and those of tokens that are one of a kind among them. */
  readonly transfers: number
  readonly singles: number
}

/**
 * Where the fold that answers goes on, or where the first one, or another one behind blocks that are not there, begins. Undefined where
 * nothing can be folded: there is no block, or it is not known yet which one the chain goes on from.
 */
export async function placeOf(warehouse: Warehouse, chain: string): Promise<Place | undefined> {
  const furthest = await furthestFold(warehouse, chain)
  const start =
    furthest === undefined ? await lowestOf(warehouse, chain) : await startInstead(warehouse, chain, furthest)
  return start === undefined ? undefined : await undoubted(warehouse, chain, { start, furthest })
}

/**
 * Where the fold goes on that begins with the blocks before the first one of the fold that answers, beside which it is made until it is as
 * far. Undefined where they are not there, or as `placeOf` says.
 */
export async function earlierPlaceOf(warehouse: Warehouse, chain: string): Promise<Place | undefined> {
  const furthest = await furthestFold(warehouse, chain)
  if (furthest === undefined || !(await hasBlocksBefore(warehouse, chain, furthest.start))) return undefined
  const start = await lowestOf(warehouse, chain, { below: furthest.start })
  return start === undefined ? undefined : await undoubted(warehouse, chain, { start, furthest })
}

async function undoubted(
  warehouse: Warehouse,
  chain: string,
  { start, furthest }: { readonly start: number; readonly furthest: Place | undefined },
): Promise<Place | undefined> {
  const place = start === furthest?.start ? furthest : await placeOfFold(warehouse, chain, start)
  const { number, hash } = place.through
  if (hash === undefined) return place
  // A block was reverted, and not all rows say so yet: whatever follows asks again.
  return (await isInDoubt(warehouse, chain, { start, number, hash })) ? undefined : place
}

async function placeOfFold(warehouse: Warehouse, chain: string, start: number): Promise<Place> {
  const [newest] = await warehouse.query<FoldThroughRow>(FOLD_THROUGH_SQL, { chain, start })
  if (newest === undefined) return { start, through: { number: start - 1, hash: undefined, transfers: 0, singles: 0 } }
  const { number, hash, transfers, singles } = newest
  const through = { number: Number(number), hash, transfers: Number(transfers), singles: Number(singles) }
  return { start, through }
}

/** The fold that answers: the one that has come furthest; of several, the one that has most. Undefined before the first. */
async function furthestFold(warehouse: Warehouse, chain: string): Promise<Place | undefined> {
  const starts = await warehouse.query<FoldStartRow>(FOLD_STARTS_SQL, { chain })
  const places: (Place & { readonly from: number })[] = []
  for (const { start } of starts) {
    const place = await placeOfFold(warehouse, chain, Number(start))
    if (place.through.hash !== undefined) places.push({ ...place, from: place.start })
  }
  return answeringFold(places)
}

/** Where to go on: with the furthest fold, or, behind blocks that are not there, with another one: nobody knows when they come. */
async function startInstead(
  warehouse: Warehouse,
  chain: string,
  { start, through }: Place,
): Promise<number | undefined> {
  const [next] = await warehouse.query<{ number: string }>(
    `SELECT min(block_number) AS number FROM execution_heights FINAL
     WHERE chain = {chain:String} AND block_number > {number:UInt64} AND log_parts >= 0 HAVING count() > 0`,
    { chain, number: through.number },
  )
  const follows = next === undefined || Number(next.number) === through.number + 1
  return follows ? start : await lowestOf(warehouse, chain, { above: through.number })
}

/**
 * Whether the block before a fold's first one is there. Those before it change what everybody holds afterwards, so that all that follows is
 * another fold.
 */
async function hasBlocksBefore(warehouse: Warehouse, chain: string, start: number): Promise<boolean> {
  const parentHash = await parentOfFirst(warehouse, chain, start)
  const [before] = await warehouse.query(
    `SELECT 1 FROM execution_heights FINAL
     WHERE chain = {chain:String} AND block_number = {number:UInt64} AND log_parts >= 0 AND block_hash = {parentHash:String}`,
    { chain, number: start - 1, parentHash },
  )
  return before !== undefined
}

/** The hash of the block that a fold's first one follows on; empty before its first step. */
export async function parentOfFirst(warehouse: Warehouse, chain: string, start: number): Promise<string> {
  const [first] = await warehouse.query<{ parent_hash: string }>(
    `SELECT concat('0x', lower(hex(parent_hash))) AS parent_hash FROM nft_blocks
     WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number = {start:UInt64}
       AND block_hash NOT IN (${REVERTED_SQL})`,
    { chain, start },
  )
  return first?.parent_hash ?? ''
}

/** The lowest block that the newest one is reached from without a gap; below one that is given it is that one which is reached. */
async function lowestOf(
  warehouse: Warehouse,
  chain: string,
  { below = Number.MAX_SAFE_INTEGER, above = -1 }: { readonly below?: number; readonly above?: number } = {},
): Promise<number | undefined> {
  const [lowest] = await warehouse.query<{ number: string }>(
    `SELECT min(block_number) AS number FROM (
       SELECT block_number, block_number + row_number() OVER (ORDER BY block_number DESC) AS top
       FROM (
         SELECT DISTINCT block_number FROM execution_heights FINAL
         WHERE chain = {chain:String} AND toInt64(block_number) > {above:Int64} AND block_number < {below:UInt64} AND log_parts >= 0
       )
     ) GROUP BY top ORDER BY top DESC LIMIT 1`,
    { chain, above, below },
  )
  return lowest === undefined ? undefined : Number(lowest.number)
}

interface Newest {
  readonly start: number
  readonly number: number
  readonly hash: string
}

/** Whether rows about a revert are on their way: the newest folded block is not canonical, or two are at one height. */
async function isInDoubt(warehouse: Warehouse, chain: string, { start, number, hash }: Newest): Promise<boolean> {
  const rows = await warehouse.query(
    `SELECT 1 FROM (
       SELECT block_number FROM nft_blocks
       WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number > {recent:UInt64}
         AND block_hash NOT IN (${REVERTED_SQL})
       GROUP BY block_number HAVING uniqExact(block_hash) > 1
     )
     UNION ALL
     SELECT 1 WHERE (
       SELECT count() FROM execution_heights FINAL
       WHERE chain = {chain:String} AND block_number = {number:UInt64} AND block_hash = {hash:String}
     ) = 0`,
    { chain, start, number, recent: Math.max(0, number - RECENT_BLOCKS), hash },
  )
  return rows.length > 0
}

/** Whether the fold ends there. */
export async function isStillPlace(warehouse: Warehouse, chain: string, { start, through }: Place): Promise<boolean> {
  const place = await placeOfFold(warehouse, chain, start)
  return place.through.hash === through.hash
}

/** The number of the newest block that was ever there: it may be reverted. */
export async function newestHeight(warehouse: Warehouse, chain: string): Promise<number> {
  const [newest] = await warehouse.query<{ number: string }>(
    `SELECT block_number AS number FROM execution_heights WHERE chain = {chain:String}
     ORDER BY chain DESC, block_number DESC LIMIT 1`,
    { chain },
  )
  return Number(newest?.number ?? -1)
}
