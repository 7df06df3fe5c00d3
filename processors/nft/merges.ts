import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { FOLDED_TABLES, NFT_TABLES } from '../../schemas/tables/nft.ts'
import { memoryOf } from './fold-memory.ts'

// When parts of tables of tokens are merged. A row is written anew with each merge that it is in, and a page reads a few rows of each part:
// while months are folded merges are put off, and once they are folded each partition becomes one part. What comes behind it is merged among
// itself, small parts with small ones.

/** Blocks of a step of months; those of a head come one by one, or some at once behind a rest. */
export const FILLING_BLOCKS_MIN = 32
/** How many parts the engine waits for until it merges them: what months bring is written anew once at most while they are folded. */
const LATER = 'min_parts_to_merge_at_once = 100, max_parts_to_merge_at_once = 200'
/** What is smaller the engine merges in no time. */
const BYTES_MIN = 8 * 1024 * 1024
/** Small parts are merged among themselves where a partition has so many: of two, one may be large. */
const SMALL_PARTS_MIN = 3
/** Of the largest part what the others have together: a table that doubles is written anew three times. */
const OTHERS_SHARE_MIN = 0.25

/** Lets the engine merge folded rows later, until `mergeFolded`. */
export async function mergeLater(warehouse: Warehouse): Promise<void> {
  const memory = memoryOf(warehouse)
  if (memory.mergesLater === true) return
  for (const table of FOLDED_TABLES) await warehouse.command(`ALTER TABLE ${table} MODIFY SETTING ${LATER}`)
  memory.mergesLater = true
}

/**
 * Makes one part of each partition of several that are no small beside the largest, and lets the engine merge as it does by itself again. To be called when no months are
 * folded; ends soon when the signal aborts. Returns how many partitions were merged.
 */
export async function mergeFolded(
  warehouse: Warehouse,
  signal: AbortSignal,
  { bytesMin = BYTES_MIN } = {},
): Promise<number> {
  const partitions = await partitionsInParts(warehouse, bytesMin)
  for (const { table, id } of partitions) await warehouse.merge(table, id, signal)
  if (signal.aborted) return 0
  // Behind those merges, which the engine's own would keep from their parts. Another process may have put merges off, or one before this.
  const late = await warehouse.query<{ name: string }>(
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND name IN {tables:Array(String)} AND engine_full LIKE '%min_parts_to_merge_at_once%'`,
    { tables: FOLDED_TABLES },
  )
  for (const { name } of late)
    await warehouse.command(`ALTER TABLE ${name} RESET SETTING min_parts_to_merge_at_once, max_parts_to_merge_at_once`)
  memoryOf(warehouse).mergesLater = false
  return partitions.length
}

/** Of one table that are asked for at a time: one makes one part of several. */
const SMALL_MERGES_MAX = 3

/**
 * Merges small parts of partitions that have many. The engine, which waits until there are ten of a size, leaves a page some twenty parts to
 * read behind a head. To be called every now and then; ends soon when the signal aborts.
 */
export async function mergeSmall(warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  for (let merges = 0; merges < SMALL_MERGES_MAX && !signal.aborted; merges++) {
    const tables = await warehouse.query<{ table: string }>(
      `SELECT DISTINCT table FROM system.parts
       WHERE active AND database = currentDatabase() AND table IN {tables:Array(String)}
       GROUP BY table, partition_id HAVING count() >= {partsMin:UInt64} ORDER BY table`,
      { tables: Object.keys(NFT_TABLES), partsMin: SMALL_PARTS_MIN },
    )
    for (const { table } of tables) await warehouse.merge(table, undefined, signal)
  }
}

interface Partition {
  readonly table: string
  readonly id: string
}

function partitionsInParts(warehouse: Warehouse, bytesMin: number): Promise<readonly Partition[]> {
  return warehouse.query<Partition>(
    `SELECT table, partition_id AS id FROM system.parts
     WHERE active AND database = currentDatabase() AND table IN {tables:Array(String)}
     GROUP BY table, partition_id
     HAVING count() > 1 AND sum(bytes_on_disk) >= {bytesMin:UInt64}
       AND sum(bytes_on_disk) - max(bytes_on_disk) >= {shareMin:Float64} * max(bytes_on_disk)
     ORDER BY table, partition_id`,
    { tables: Object.keys(NFT_TABLES), bytesMin, shareMin: OTHERS_SHARE_MIN },
  )
}
