import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import {
  answeringFold,
  FOLD_STARTS_SQL,
  FOLD_THROUGH_SQL,
  type FoldStartRow,
  type FoldThroughRow,
} from '../../schemas/tables/block-coverage.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { NAMED_REVERTED_MAX, notRevertedSql, REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { constantColumn, textColumn } from '../loop/rows.ts'
import { type Block, foldStep } from './fold-step.ts'
import { FoldedRows } from './folded-rows.ts'

/** Headers of so many blocks are read at once. */
const STEP_BLOCKS_MAX = 5_500
/** What a step touches is in memory at once; one block may have more. */
const STEP_TRANSFERS_MAX = 300_000
/** Blocks that were folded and reverted since are among the newest: no reorg is deeper than finality. */
const RECENT_BLOCKS = 10_000

/** What is folded: from the block `start` on, through a block; before the first step through none. */
interface Place {
  readonly start: number
  readonly through: { readonly number: number; readonly hash: string | undefined }
}

/** Where a fold of this process has ended, and what follows from nothing having been reverted since. */
interface Known {
  readonly place: Place
  /** A condition on `block_hash`. */
  readonly notReverted: string
  readonly isOnlyFold: boolean
  /** Writes of reverts before it was looked up. */
  readonly reverts: number
  /** With memory for many rows, where months are folded. */
  readonly folded: FoldedRows | undefined
}
const KNOWN = new WeakMap<Warehouse, Map<string, Known>>()

const revertsOf = (warehouse: Warehouse): number | undefined => warehouse.writesOf?.(['reverted_blocks'])

/**
 * Folds all blocks of a chain that follow on what is folded, are canonical, and are there with all their logs when it begins; ends early
 * when the signal aborts. Returns the number of blocks. Two that fold the same chain side by side write the same rows.
 */
export async function foldChain(warehouse: Warehouse, chain: string, signal: AbortSignal): Promise<number> {
  const ofWarehouse = KNOWN.get(warehouse) ?? new Map<string, Known>()
  KNOWN.set(warehouse, ofWarehouse)
  let blocks = 0
  let folded: FoldedRows | undefined
  while (!signal.aborted) {
    const reverts = revertsOf(warehouse)
    const kept = ofWarehouse.get(chain)
    ofWarehouse.delete(chain)
    folded ??= kept?.folded
    const known = kept !== undefined && kept.reverts === reverts ? kept : undefined
    const place = known?.place ?? (await placeOf(warehouse, chain))
    if (place === undefined) break
    const [follow, isAsKnown] = await Promise.all([
      nextStep(warehouse, chain, place),
      known === undefined || isStillPlace(warehouse, chain, known.place),
    ])
    if (!isAsKnown) continue
    if (known !== undefined && follow.length === 0) {
      // Only behind blocks that are not there something else may be folded.
      if ((await newestHeight(warehouse, chain)) > place.through.number + 1) continue
      ofWarehouse.set(chain, { ...known, folded: undefined })
      break
    }
    const [{ step, hasTransfers }, notReverted] = await Promise.all([
      withTransfers(warehouse, chain, follow),
      known?.notReverted ?? notRevertedOf(warehouse, chain),
    ])
    const last = step.at(-1)
    if (last === undefined) break
    const { start } = place
    const span = { chain, start, from: place.through.number, to: last.number }
    if (hasTransfers) {
      folded ??= new FoldedRows(warehouse)
      await foldStep(warehouse, { span, blocks: step, notReverted, folded })
    }
    await note(warehouse, { chain, start }, step)
    blocks += step.length
    const isOnlyFold = known?.isOnlyFold || (await dropOvertaken(warehouse, chain, { start, number: last.number }))
    if (reverts !== undefined) {
      const now = { place: { start, through: last }, notReverted, isOnlyFold, reverts }
      ofWarehouse.set(chain, { ...now, folded: step.length > 1 ? folded : undefined })
    }
    // What comes meanwhile is asked for when it is there; of blocks that come in numbers that is many at once.
    const isCut = step.length < follow.length || follow.length === STEP_BLOCKS_MAX
    if (!isCut) break
  }
  return blocks
}

/** Whether the fold ends there, and begins with the first block that is there. */
async function isStillPlace(warehouse: Warehouse, chain: string, { start, through }: Place): Promise<boolean> {
  const [place, before] = await Promise.all([
    placeOfFold(warehouse, chain, start),
    hasBlocksBefore(warehouse, chain, start),
  ])
  return !before && place.through.hash === through.hash
}

/** The number of the newest block that was ever there: it may be reverted. */
async function newestHeight(warehouse: Warehouse, chain: string): Promise<number> {
  const [newest] = await warehouse.query<{ number: string }>(
    `SELECT block_number AS number FROM execution_heights WHERE chain = {chain:String}
     ORDER BY chain DESC, block_number DESC LIMIT 1`,
    { chain },
  )
  return Number(newest?.number ?? -1)
}

/**
 * Drops folds that begin later than `start` and have come no further than `number`: nobody is answered from them any more. Whether there
 * is no other left.
 */
async function dropOvertaken(
  warehouse: Warehouse,
  chain: string,
  { start, number }: { readonly start: number; readonly number: number },
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
  }
  return overtaken.length === others.length
}

/** As many blocks of a step as have so many transfers. Most blocks of most chains move no token. */
async function withTransfers(
  warehouse: Warehouse,
  chain: string,
  step: readonly Block[],
): Promise<{ readonly step: readonly Block[]; readonly hasTransfers: boolean }> {
  const [first, last] = [step.at(0), step.at(-1)]
  if (first === undefined || last === undefined) return { step, hasTransfers: false }
  const counts = await warehouse.query<{ number: string; transfers: string }>(
    `SELECT block_number AS number, count() AS transfers FROM nft_transfers
     WHERE chain = {chain:String} AND block_number >= {first:UInt64} AND block_number <= {last:UInt64}
     GROUP BY block_number ORDER BY block_number`,
    { chain, first: first.number, last: last.number },
  )
  let transfers = 0
  const beyond = counts.find(({ number, transfers: more }) => {
    transfers += Number(more)
    return transfers > STEP_TRANSFERS_MAX && Number(number) > first.number
  })
  if (beyond === undefined) return { step, hasTransfers: counts.length > 0 }
  return { step: step.slice(0, Number(beyond.number) - first.number), hasTransfers: true }
}

/** A condition on `block_hash`: rows of other blocks count for nobody. */
async function notRevertedOf(warehouse: Warehouse, chain: string): Promise<string> {
  const rows = await warehouse.query<{ hash: string }>(
    `SELECT hex(block_hash) AS hash FROM (${REVERTED_SQL} LIMIT ${NAMED_REVERTED_MAX + 1})`,
    { chain },
  )
  return notRevertedSql(rows.map(({ hash }) => hash))
}

/** Undefined where nothing can be folded: there is no block, or it is not known yet which one the chain goes on from. */
async function placeOf(warehouse: Warehouse, chain: string): Promise<Place | undefined> {
  const furthest = await furthestFold(warehouse, chain)
  const start =
    furthest === undefined ? await lowestOf(warehouse, chain) : await startInstead(warehouse, chain, furthest)
  if (start === undefined) return undefined
  const place = start === furthest?.start ? furthest : await placeOfFold(warehouse, chain, start)
  const { number, hash } = place.through
  if (hash === undefined) return place
  // A block was reverted, and not all rows say so yet: whatever follows asks again.
  return (await isInDoubt(warehouse, chain, { start, number, hash })) ? undefined : place
}

async function placeOfFold(warehouse: Warehouse, chain: string, start: number): Promise<Place> {
  const [newest] = await warehouse.query<FoldThroughRow>(FOLD_THROUGH_SQL, { chain, start })
  if (newest === undefined) return { start, through: { number: start - 1, hash: undefined } }
  return { start, through: { number: Number(newest.number), hash: newest.hash } }
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

/**
 * Where to go on: with the furthest fold, or with one that begins elsewhere. Blocks before the first one change what everybody holds
 * afterwards, so where they are there now the fold begins with them, beside the one that answers until it is as far. Behind blocks
 * that are not there another one begins: nobody knows when they come.
 */
async function startInstead(
  warehouse: Warehouse,
  chain: string,
  { start, through }: Place,
): Promise<number | undefined> {
  if (await hasBlocksBefore(warehouse, chain, start)) return await lowestOf(warehouse, chain, { below: start })
  const [next] = await warehouse.query<{ number: string }>(
    `SELECT min(block_number) AS number FROM execution_heights FINAL
     WHERE chain = {chain:String} AND block_number > {number:UInt64} AND log_parts >= 0 HAVING count() > 0`,
    { chain, number: through.number },
  )
  const follows = next === undefined || Number(next.number) === through.number + 1
  return follows ? start : await lowestOf(warehouse, chain, { above: through.number })
}

/** Whether the block before a fold's first one is there. */
async function hasBlocksBefore(warehouse: Warehouse, chain: string, start: number): Promise<boolean> {
  const [before] = await warehouse.query(
    `SELECT 1 FROM execution_heights FINAL
     WHERE chain = {chain:String} AND block_number = {number:UInt64} AND log_parts >= 0 AND block_hash IN (
       SELECT concat('0x', lower(hex(parent_hash))) FROM nft_blocks
       WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number = {start:UInt64}
         AND block_hash NOT IN (${REVERTED_SQL})
     )`,
    { chain, number: start - 1, start },
  )
  return before !== undefined
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

interface BlockRow {
  readonly number: string
  readonly hash: string
  readonly parent_hash: string
  readonly time_sec: number
  readonly log_parts: number
  readonly version: string
  readonly reverted_version: string
  readonly parts: string
}

/** The blocks that follow one on the other, as many as a step may have; none where the next one is not there, or lacks logs. */
async function nextStep(warehouse: Warehouse, chain: string, { through }: Place): Promise<readonly Block[]> {
  const rows = await warehouse.query<BlockRow>(
    `SELECT block_number AS number, toString(block_hash) AS hash, parent_hash, toUnixTimestamp(time) AS time_sec, log_parts,
       version, reverted_version, parts
     FROM (SELECT * FROM execution_heights FINAL WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}) AS h
     LEFT JOIN (
       SELECT block_hash, count() AS parts FROM execution_log_parts FINAL
       WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64} GROUP BY block_hash
     ) AS l USING (block_hash)
     LEFT JOIN (
       SELECT toFixedString(concat('0x', lower(hex(block_hash))), 66) AS block_hash, version AS reverted_version
       FROM reverted_blocks FINAL WHERE chain = {chain:String} AND is_reverted = 1
     ) AS r USING (block_hash)
     ORDER BY block_number`,
    { chain, from: through.number, to: through.number + STEP_BLOCKS_MAX },
  )
  const byNumber = Map.groupBy(rows, ({ number }) => Number(number))
  const step: Block[] = []
  let { number, hash } = through
  for (;;) {
    const next = (byNumber.get(number + 1) ?? []).filter((row) => hash === undefined || row.parent_hash === hash)
    const [row] = next
    if (row === undefined || next.length > 1 || Number(row.parts) !== row.log_parts) return step
    if (row.reverted_version !== '0' && !(await cameBack(warehouse, chain, row))) return step
    number = Number(row.number)
    hash = row.hash
    step.push({ number, hash, parentHash: row.parent_hash, timeSec: row.time_sec })
  }
}

/** Whether a block that was reverted is canonical again; then its rows count again. The log has both facts of a block in their order. */
async function cameBack(warehouse: Warehouse, chain: string, row: BlockRow): Promise<boolean> {
  const version = BigInt(row.version)
  if (version <= BigInt(row.reverted_version)) return false
  await warehouse.insert('reverted_blocks', {
    chain: [chain],
    block_number: BigUint64Array.of(BigInt(row.number)),
    block_hash: bytesOf(row.hash),
    is_reverted: Uint8Array.of(0),
    version: BigUint64Array.of(version),
  })
  return true
}

/** Notes that blocks are folded: last, so that a step that was interrupted is made again. */
async function note(
  warehouse: Warehouse,
  { chain, start }: { readonly chain: string; readonly start: number },
  step: readonly Block[],
): Promise<void> {
  const bytes = (hashes: readonly string[]) => new Uint8Array(Buffer.concat(hashes.map(bytesOf)))
  await warehouse.insert('nft_blocks', {
    chain: textColumn(step.length, chain),
    start: constantColumn(step.length, BigInt(start)),
    block_number: BigUint64Array.from(step, ({ number }) => BigInt(number)),
    block_hash: bytes(step.map(({ hash }) => hash)),
    parent_hash: bytes(step.map(({ parentHash }) => parentHash)),
    time: Uint32Array.from(step, ({ timeSec }) => timeSec),
  })
}
