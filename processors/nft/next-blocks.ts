import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { CONTRACT_BUCKETS } from '../../schemas/events/execution-logs.ts'
import type { Place } from './fold-place.ts'
import type { Block } from './fold-step.ts'

/** Blocks that were reverted. */
export interface Reverted {
  /** What they were reverted by, by hash. */
  readonly versions: ReadonlyMap<string, bigint>
  /** Up to which block they are told. */
  readonly through: number
}

/** Of the blocks behind one those that were reverted: the lowest ones where they are more than `blocksMax`, with all of the last one's height. */
export async function askReverted(
  warehouse: Warehouse,
  chain: string,
  { from, blocksMax }: { readonly from: number; readonly blocksMax: number },
): Promise<Reverted> {
  const rows = await warehouse.query<{ number: string; hash: string; version: string }>(
    `SELECT block_number AS number, concat('0x', lower(hex(block_hash))) AS hash, version FROM reverted_blocks FINAL
     WHERE chain = {chain:String} AND block_number > {from:UInt64} AND is_reverted = 1
     ORDER BY block_number LIMIT {blocksMax:UInt64} WITH TIES`,
    { chain, from, blocksMax },
  )
  const versions = new Map(rows.map(({ hash, version }) => [hash, BigInt(version)]))
  return { versions, through: rows.length < blocksMax ? Number.POSITIVE_INFINITY : Number(rows.at(-1)?.number) }
}

interface BlockRow {
  readonly number: string
  readonly hash: string
  readonly parent_hash: string
  readonly time_sec: number
  readonly log_parts: number
  readonly version: string
}

interface Following {
  /** One on the other, as many as a step may have; none where the next one is not there, or lacks logs. */
  readonly follow: readonly Block[]
  /** Whether no blocks are there behind them, of as many heights. */
  readonly isLast: boolean
  /** Whether the block before the fold's first one is there. */
  readonly isPreceded: boolean
  readonly reverted: Reverted
}

interface Asked {
  readonly place: Place
  /** Of the block that the fold's first one follows on; empty where nobody knows. */
  readonly parentHash: string
  readonly blocksMax: number
  /** Asked behind the headers: of a block that is reverted and comes back meanwhile, a list from before would know nothing. */
  readonly reverted: () => Promise<Reverted>
}

/** What a fold goes on with. A block that is announced later for the same height follows on another one, or is in doubt until one is reverted. */
export async function nextBlocks(
  warehouse: Warehouse,
  chain: string,
  { place: { start, through }, parentHash, blocksMax, reverted: askBehind }: Asked,
): Promise<Following> {
  const span = { chain, from: through.number, to: through.number + blocksMax }
  const [rows, parts] = await Promise.all([
    warehouse.query<BlockRow>(
      `SELECT block_number AS number, toString(block_hash) AS hash, parent_hash, toUnixTimestamp(time) AS time_sec, log_parts, version
       FROM execution_heights FINAL
       WHERE chain = {chain:String} AND (
         block_number > {from:UInt64} AND block_number <= {to:UInt64}
         OR block_number = {before:UInt64} AND block_hash = {parentHash:String} AND log_parts >= 0
       )
       ORDER BY block_number`,
      { ...span, before: Math.max(0, start - 1), parentHash },
    ),
    // A block that was read in two ways may have parts of both.
    warehouse.query<{ hash: string; parts: number; there: string }>(
      `SELECT toString(block_hash) AS hash, parts, count() AS there FROM execution_log_parts FINAL
       WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}
       GROUP BY block_hash, parts, bucket < ${CONTRACT_BUCKETS}`,
      span,
    ),
  ])
  const reverted = await askBehind()
  const isWhole = new Set(
    parts.filter((row) => Number(row.there) === row.parts).map((row) => `${row.hash} ${row.parts}`),
  )
  const byNumber = Map.groupBy(rows, ({ number }) => Number(number))
  const follow: Block[] = []
  const highest = Number(rows.at(-1)?.number ?? 0)
  let { number, hash } = through
  for (;;) {
    const next = (byNumber.get(number + 1) ?? []).filter((row) => hash === undefined || row.parent_hash === hash)
    const [row] = next
    if (row === undefined || next.length > 1 || number >= reverted.through) break
    if (row.log_parts !== 0 && !isWhole.has(`${row.hash} ${row.log_parts}`)) break
    const revertedVersion = reverted.versions.get(row.hash)
    if (revertedVersion !== undefined && !(await cameBack(warehouse, chain, row, revertedVersion))) break
    number = Number(row.number)
    hash = row.hash
    follow.push({ number, hash, parentHash: row.parent_hash, timeSec: row.time_sec })
  }
  const isPreceded = parentHash !== '' && byNumber.has(start - 1)
  return { follow, isLast: highest <= number, isPreceded, reverted }
}

/** Whether a block that was reverted is canonical again; then its rows count again. The log has both facts of a block in their order. */
async function cameBack(warehouse: Warehouse, chain: string, row: BlockRow, revertedVersion: bigint): Promise<boolean> {
  const version = BigInt(row.version)
  if (version <= revertedVersion) return false
  await warehouse.insert('reverted_blocks', {
    chain: [chain],
    block_number: BigUint64Array.of(BigInt(row.number)),
    block_hash: bytesOf(row.hash),
    is_reverted: Uint8Array.of(0),
    version: BigUint64Array.of(version),
  })
  return true
}
