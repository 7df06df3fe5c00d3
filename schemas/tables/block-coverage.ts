import { LOGS_CHECKS, type LogsCheck } from '../events/execution-block.ts'
import { REVERTED_SQL } from './reverted-blocks.ts'

// Of which blocks of a chain transfers are known. Statements take the parameter `chain`; hashes are lower-case hex with 0x.

/** First blocks of the chain's folds: few, and found without reading their blocks. */
export const FOLD_STARTS_SQL = 'SELECT start FROM nft_blocks WHERE chain = {chain:String} GROUP BY start ORDER BY start'
export interface FoldStartRow {
  readonly start: string
}

/** The newest block of the fold that begins at `start`; no row before its first step. Of the fold's table it reads the end. */
export const FOLD_THROUGH_SQL = `
SELECT block_number AS number, concat('0x', lower(hex(block_hash))) AS hash, toUnixTimestamp(time) AS time_sec, transfers, singles
FROM nft_blocks
WHERE chain = {chain:String} AND start = {start:UInt64} AND block_hash NOT IN (${REVERTED_SQL})
ORDER BY block_number DESC LIMIT 1`
export interface FoldThroughRow {
  readonly number: string
  readonly hash: string
  readonly time_sec: number
  /** Of the fold up to the block, and those of ERC-721 among them. */
  readonly transfers: string
  readonly singles: string
}

const WEAK_CHECKS = LOGS_CHECKS.filter((check) => check !== 'receipts')

/** By what less than the receipts root some block from `from` through `through` was checked; no row where none was. */
export const WEAK_CHECKS_SQL = WEAK_CHECKS.map(
  (check) => `
SELECT '${check}' AS logs_check WHERE EXISTS (
  SELECT 1 FROM weak_blocks
  WHERE chain = {chain:String} AND logs_check = '${check}' AND is_deleted = 0
    AND block_number >= {from:UInt64} AND block_number <= {through:UInt64} AND block_hash NOT IN (${REVERTED_SQL})
  LIMIT 1
)`,
).join('\nUNION ALL')
export interface WeakCheckRow {
  readonly logs_check: Exclude<LogsCheck, 'receipts'>
}

/** A fold, as far as it has come: who holds what is known from `from` on, through a block. */
export interface Fold {
  readonly from: number
  readonly through: { readonly number: number; readonly hash: string; readonly timeSec: number }
}

interface Begun {
  readonly from: number
  readonly through: { readonly number: number }
}

/** Which fold answers: the one that has come furthest; of several, the one that has most. */
export function answeringFold<Some extends Begun>(folds: readonly Some[]): Some | undefined {
  return folds.reduce<Some | undefined>((best, fold) => {
    if (best === undefined) return fold
    const further = fold.through.number - best.through.number
    return further > 0 || (further === 0 && fold.from < best.from) ? fold : best
  }, undefined)
}

/** What is known of a chain's transfers. */
export interface BlockCoverage extends Fold {
  /** Whether `from` is the first block after genesis: of a later one, who held what before it is not known. */
  readonly sinceGenesis: boolean
  /** The weakest check that any block of it has passed. */
  readonly check: LogsCheck
}

/** The weakest of the checks that blocks have passed. */
export function weakestCheck(rows: readonly WeakCheckRow[]): LogsCheck {
  const found = new Set(rows.map(({ logs_check: check }) => check))
  return WEAK_CHECKS.findLast((check) => found.has(check)) ?? 'receipts'
}

/** Nothing happens in the genesis block itself. */
const FIRST_BLOCK = 1

interface Asking {
  query<Row>(sql: string, params: Readonly<Record<string, string | number>>): Promise<readonly Row[]>
}

/** Asks the warehouse for a chain's coverage; undefined before anything is folded. */
export async function askCoverage(warehouse: Asking, chain: string): Promise<BlockCoverage | undefined> {
  const starts = await warehouse.query<FoldStartRow>(FOLD_STARTS_SQL, { chain })
  const folds = await Promise.all(starts.map(({ start }) => askFold(warehouse, chain, Number(start))))
  const fold = answeringFold(folds.filter((one) => one !== undefined))
  if (fold === undefined) return undefined
  const weak = await warehouse.query<WeakCheckRow>(WEAK_CHECKS_SQL, {
    chain,
    from: fold.from,
    through: fold.through.number,
  })
  return { ...fold, sinceGenesis: fold.from <= FIRST_BLOCK, check: weakestCheck(weak) }
}

async function askFold(warehouse: Asking, chain: string, start: number): Promise<Fold | undefined> {
  const [newest] = await warehouse.query<FoldThroughRow>(FOLD_THROUGH_SQL, { chain, start })
  if (newest === undefined) return undefined
  return { from: start, through: { number: Number(newest.number), hash: newest.hash, timeSec: newest.time_sec } }
}
