import { lookUp, lookUpMany } from '../http/lookups.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'

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
  const rows = await lookUp<Row & OfBlock>(pin.warehouse, kind, newestSql(pin, { table, where, columns, number }))
  return await newestOf<Row>(pin, { table, where, columns, number }, rows)
}

/** The same of several places, in their order: in one statement. Their rows have equal columns. */
export async function selectNewestRows<Row>(
  pin: NftPin,
  places: readonly NewestOf[],
): Promise<readonly (Row | undefined)[]> {
  const found = await lookUpMany<Row & OfBlock>(
    pin.warehouse,
    places.map((place) => newestSql(pin, place)),
  )
  return await Promise.all(places.map((place, i) => newestOf<Row>(pin, place, found[i] ?? [])))
}

type NewestOf = Pick<KeyPlace, 'table' | 'where' | 'columns'> & { readonly number: number }

function newestSql(
  pin: NftPin,
  { table, where, columns, number }: NewestOf,
  { counting, rows }: { readonly counting: string; readonly rows: number } = { counting: '', rows: NEWEST_ROWS },
): string {
  return `SELECT ${columns}, block_number, hex(block_hash) AS of_block FROM ${table}
     WHERE ${foldSql(pin)} AND ${where} AND block_number <= ${number}${counting} ORDER BY block_number DESC LIMIT ${rows}`
}

/** The one that counts of the newest rows, which are looked for further where none of them does. */
async function newestOf<Row>(pin: NftPin, place: NewestOf, rows: readonly (Row & OfBlock)[]): Promise<Row | undefined> {
  const { warehouse, standing, chain } = pin
  const counted = rows.find(({ of_block }) => !standing.isReverted(of_block))
  if (counted !== undefined || rows.length < NEWEST_ROWS) return counted
  const sql = newestSql(pin, place, { counting: ` AND ${standing.notReverted}`, rows: 1 })
  const [newest] = await warehouse.query<Row>(sql, { chain })
  return newest
}
