import { lookUp } from '../http/lookups.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'
import type { NftStanding } from './standing.ts'

/** So many of the newest rows are looked at: those of reverted blocks are among them, and count for nobody. */
const NEWEST_ROWS = 3

/** Whatever it is, it was written by a block. */
interface OfBlock {
  readonly of_block: string
}

/** Where the rows of one key lie. */
export interface KeyPlace {
  readonly table: string
  /** The whole sort key before the block, as SQL. */
  readonly where: string
  /** As SQL; equal for all that are of one kind. */
  readonly columns: string
  readonly kind: string
  /** Up to which block; the answer's unless told. */
  readonly number?: number
}

/** The newest row of a key up to a block; undefined where there is none. */
export async function selectNewestRow<Row>(
  pin: NftPin,
  { table, where, columns, kind, number = pin.snapshot.number }: KeyPlace,
): Promise<Row | undefined> {
  const { warehouse, standing } = pin
  const select = (counting: string, rows: number) =>
    `SELECT ${columns}, block_number, hex(block_hash) AS of_block FROM ${table}
     WHERE ${foldSql(pin)} AND ${where} AND block_number <= ${number}${counting} ORDER BY block_number DESC LIMIT ${rows}`
  const rows = await lookUp<Row & OfBlock>(warehouse, kind, select('', NEWEST_ROWS))
  const counted = rows.find(({ of_block }) => !standing.isReverted(of_block))
  if (counted !== undefined || rows.length < NEWEST_ROWS) return counted
  const [newest] = await warehouse.query<Row>(select(` AND ${standing.notReverted}`, 1), { chain: pin.chain })
  return newest
}

export interface Counts {
  readonly block_number: string
  readonly first: string
  readonly second: string
}

/** What was counted while the chain stood so: all pages of a list have its total. */
const counted = new WeakMap<NftStanding, Map<string, Counts | undefined>>()
/** While a chain does not move. */
const KEPT_MAX = 10_000

/** The newest row of a table of counts up to a block; undefined where there is none. */
export async function selectCounts(
  pin: NftPin,
  {
    columns: [first, second],
    ...place
  }: Pick<KeyPlace, 'table' | 'where' | 'number'> & { readonly columns: readonly [string, string?] },
): Promise<Counts | undefined> {
  const { standing, snapshot } = pin
  const kept = counted.get(standing) ?? new Map<string, Counts | undefined>()
  counted.set(standing, kept)
  const columns = `${first} AS first, ${second ?? '0'} AS second`
  const key = [place.table, columns, place.number ?? snapshot.number, place.where].join(' ')
  if (kept.has(key)) return kept.get(key)
  const counts = await selectNewestRow<Counts>(pin, { ...place, columns, kind: 'counts' })
  if (kept.size >= KEPT_MAX) kept.clear()
  kept.set(key, counts)
  return counts
}
