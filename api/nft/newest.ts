import { lookUp, lookUpMany } from '../http/lookups.ts'
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
  const rows = await lookUp<Row & OfBlock>(pin.warehouse, kind, newestSql(pin, { table, where, columns, number }))
  return await newestOf<Row>(pin, { table, where, columns, number }, rows)
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

export interface Counts {
  readonly block_number: string
  readonly first: string
  readonly second: string
}

/** What was counted while the chain stood so: all pages of a list have its total. */
const counted = new WeakMap<NftStanding, Map<string, Counts | undefined>>()
/** While a chain does not move. */
const KEPT_MAX = 10_000

/** Where counts lie, and which two columns of them are asked for; up to which block, the answer's unless told. */
export type CountsPlace = Pick<KeyPlace, 'table' | 'where' | 'number'> & {
  readonly columns: readonly [string, string?]
}

/** The newest row of a table of counts up to a block; undefined where there is none. */
export async function selectCounts(pin: NftPin, place: CountsPlace): Promise<Counts | undefined> {
  const { counts, key, newest } = openCounts(pin, place)
  if (counts.has(key)) return counts.get(key)
  const found = await selectNewestRow<Counts>(pin, { ...newest, kind: 'counts' })
  keepCounts(counts, key, found)
  return found
}

/** The same of many, in their order: in one statement. */
export async function selectManyCounts(
  pin: NftPin,
  places: readonly CountsPlace[],
): Promise<readonly (Counts | undefined)[]> {
  const opened = places.map((place) => openCounts(pin, place))
  const unknown = opened.filter(({ counts, key }) => !counts.has(key))
  const selects = unknown.map(({ newest }) => newestSql(pin, newest))
  const rows = await lookUpMany<Counts & OfBlock>(pin.warehouse, selects)
  const found = new Map<string, Counts | undefined>()
  for (const [i, { counts, key, newest }] of unknown.entries()) {
    found.set(key, await newestOf<Counts>(pin, newest, rows[i] ?? []))
    keepCounts(counts, key, found.get(key))
  }
  return opened.map(({ counts, key }) => (found.has(key) ? found.get(key) : counts.get(key)))
}

function openCounts(pin: NftPin, { columns: [first, second], table, where, number }: CountsPlace) {
  const { standing, snapshot } = pin
  const counts = counted.get(standing) ?? new Map<string, Counts | undefined>()
  counted.set(standing, counts)
  const columns = `${first} AS first, ${second ?? '0'} AS second`
  const newest = { table, where, columns, number: number ?? snapshot.number }
  return { counts, newest, key: [table, columns, newest.number, where].join(' ') }
}

function keepCounts(counts: Map<string, Counts | undefined>, key: string, found: Counts | undefined): void {
  if (counts.size >= KEPT_MAX) counts.clear()
  counts.set(key, found)
}
