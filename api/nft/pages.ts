import type { QueryParams } from '../../infra/ports/warehouse.ts'
import type { Coverage, Finality } from '../../schemas/routes/nft/fields.ts'
import type { NftPin, NftScope } from './asking.ts'
import { contractBeginning } from './metadata.ts'

/** A table of what its keys have after each block that changed it, in the order of its keys. */
export interface HistoryTable {
  readonly table: string
  /** What stays the same for the whole list, as SQL: the beginning of the sort key. */
  readonly where: string
  readonly params: QueryParams
  /** The rest of the sort key, before the block: what tells one item from another. */
  readonly keys: readonly Key[]
  readonly values: readonly string[]
  /** Whether an item is one of the list, of values. */
  readonly isHeld: string
}

export interface Key {
  readonly name: string
  readonly kind: 'bytes' | 'text'
}

export const bytesKey = (name: string): Key => ({ name, kind: 'bytes' })
export const textKey = (name: string): Key => ({ name, kind: 'text' })

/** Items with their keys and values as text, and the number of the block of their last change. */
export type Item = Readonly<Record<string, string>> & { readonly block_number: string }

export interface Page {
  readonly items: readonly Item[]
  /** The sort key that the next page begins behind; undefined at the end. */
  readonly next: readonly string[] | undefined
}

/**
 * Rows that are looked at, one stretch after the other, until the page is full: an item may have many rows, of which one counts, and
 * items that nobody holds any more have theirs, too. Where all stretches are used up the page is shorter than asked for.
 */
const STRETCH_ROWS = [8_000, 20_000] as const
/** The first stretch: as many rows for an item as most have, and some that hold nothing. */
const FIRST_ROWS_PER_ITEM = 2
const FIRST_ROWS_MIN = 250
/** A block of rows that is read at once: what is read beyond the stretch. */
const READ_ROWS = 1_024

const OF_FOLD = 'chain = {chain:String} AND start = {start:UInt64}'
const upTo = ({ standing }: NftScope) => `block_number <= {number:UInt64} AND ${standing.notReverted}`

export function foldParams({ chain, standing, snapshot }: NftPin): QueryParams {
  return { chain, start: standing.start, number: snapshot.number }
}

/** The items of a page, as of the snapshot, behind a sort key. */
export async function selectPage(
  scope: NftScope,
  table: HistoryTable,
  { limit, after }: { readonly limit: number; readonly after: readonly string[] | undefined },
): Promise<Page> {
  const items: Item[] = []
  let behind = after
  for (const rows of [Math.max(FIRST_ROWS_MIN, limit * FIRST_ROWS_PER_ITEM), ...STRETCH_ROWS]) {
    const stretch = await selectStretch(scope, table, { rows, behind, limit: limit + 1 - items.length })
    items.push(...stretch.items)
    if (items.length > limit) {
      const page = items.slice(0, limit)
      return { items: page, next: keyOf(table, page.at(-1) as Item) }
    }
    if (stretch.end === undefined) return { items, next: undefined }
    behind = stretch.end
  }
  return { items, next: behind }
}

/** The page up to where its items would have more than so many values of a column. */
export function cutPage(
  page: Page,
  table: HistoryTable,
  { column, most }: { readonly column: string; readonly most: number },
): Page {
  const values = new Set<string | undefined>()
  const cut = page.items.findIndex((item) => values.add(item[column]).size > most)
  if (cut === -1) return page
  const items = page.items.slice(0, cut)
  return { items, next: keyOf(table, items.at(-1)) }
}

interface Stretch {
  readonly items: readonly Item[]
  /** The last key that was looked at; undefined where there are no more rows. */
  readonly end: readonly string[] | undefined
}

async function selectStretch(
  scope: NftScope,
  table: HistoryTable,
  {
    rows,
    behind,
    limit,
  }: { readonly rows: number; readonly behind: readonly string[] | undefined; readonly limit: number },
): Promise<Stretch> {
  const names = table.keys.map(({ name }) => name)
  const keys = names.join(', ')
  const values = ['block_number', ...table.values]
  const found = await scope.warehouse.query<Item & { is_end: number; looked_at: string; is_held: number }>(
    `SELECT ${table.keys.map(shown).join(', ')}, ${values.map((name) => `toString(${name}) AS ${name}`).join(', ')}, is_end, looked_at, is_held
     FROM (
       SELECT ${keys}, ${values.map((name, i) => `newest.${i + 1} AS ${name}`).join(', ')},
         found > 0 AND ${table.isHeld} AS is_held, (${keys}) = max((${keys})) OVER () AS is_end, sum(rows) OVER () AS looked_at
       FROM (
         SELECT ${keys}, count() AS rows, countIf(counts) AS found, argMaxIf((${values.join(', ')}), block_number, counts) AS newest
         FROM (
           SELECT ${keys}, ${values.join(', ')}, ${upTo(scope)} AS counts FROM ${table.table}
           WHERE ${OF_FOLD} AND ${table.where}${behind === undefined ? '' : ` AND (${isBehind(table.keys)})`}
           ORDER BY ${keys}, block_number LIMIT ${rows}
         )
         GROUP BY ${keys}
       )
     )
     WHERE is_held OR is_end ORDER BY ${keys} LIMIT ${limit + 1}
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
    { ...foldParams(scope), ...table.params, ...behindParams(behind) },
  )
  const last = found.at(-1)
  const isFull = last !== undefined && Number(last.looked_at) >= rows
  // Of the last key the stretch may lack the newest rows.
  const complete = found.filter(({ is_held, is_end }) => is_held === 1 && !(isFull && is_end === 1))
  if (!isFull || complete.length >= limit)
    return { items: complete.slice(0, limit), end: isFull ? keyOf(table, complete.at(-1)) : undefined }
  const end = found.find(({ is_end }) => is_end === 1)
  if (end === undefined) return { items: complete, end: keyOf(table, complete.at(-1)) }
  const endKey = keyOf(table, end) as readonly string[]
  const newest = await selectNewest(scope, table, endKey)
  return { items: newest === undefined ? complete : [...complete, newest], end: endKey }
}

/** What one key has after the snapshot's block; undefined where that is nothing. */
export async function selectNewest(
  scope: NftScope,
  table: HistoryTable,
  key: readonly string[],
): Promise<Item | undefined> {
  const values = ['block_number', ...table.values]
  const [item] = await scope.warehouse.query<Item>(
    `SELECT ${table.keys.map(shown).join(', ')}, ${values.map((name) => `toString(${name}) AS ${name}`).join(', ')} FROM (
       SELECT * FROM (SELECT ${table.keys.map(({ name }) => name).join(', ')}, ${values.join(', ')} FROM ${table.table}
       WHERE ${OF_FOLD} AND ${table.where} AND ${table.keys.map((one, i) => `${one.name} = ${valueSql(one, i)}`).join(' AND ')} AND ${upTo(scope)}
       ORDER BY block_number DESC LIMIT 1) WHERE ${table.isHeld}
     ) SETTINGS max_threads = 1`,
    { ...foldParams(scope), ...table.params, ...behindParams(key) },
  )
  return item
}

const shown = ({ name, kind }: Key): string =>
  kind === 'text' ? `toString(${name}) AS ${name}_text` : `concat('0x', lower(hex(${name}))) AS ${name}_text`

function keyOf(table: HistoryTable, item: Item): readonly string[]
function keyOf(table: HistoryTable, item: Item | undefined): readonly string[] | undefined
function keyOf({ keys }: HistoryTable, item: Item | undefined): readonly string[] | undefined {
  return item === undefined ? undefined : keys.map(({ name }) => item[`${name}_text`] as string)
}

// Compared with a constant, or no index is used.
const valueSql = ({ kind }: Key, i: number): string =>
  kind === 'text' ? `{key${i}:String}` : `unhex({key${i}:String})`

function isBehind(keys: readonly Key[]): string {
  const places = keys.map((_, i) =>
    keys
      .slice(0, i + 1)
      .map((key, j) => `${key.name} ${j === i ? '>' : '='} ${valueSql(key, j)}`)
      .join(' AND '),
  )
  return places.map((place) => `(${place})`).join(' OR ')
}

function behindParams(key: readonly string[] = []): QueryParams {
  return Object.fromEntries(key.map((value, i) => [`key${i}`, value.startsWith('0x') ? value.slice(2) : value]))
}

/** The newest row of a table of counts up to the snapshot; undefined where there is none. */
export async function selectCounts<Row>(
  scope: NftScope,
  {
    table,
    columns,
    where,
    params,
  }: { readonly table: string; readonly columns: string; readonly where: string; readonly params: QueryParams },
): Promise<Row | undefined> {
  const [row] = await scope.warehouse.query<Row>(
    `SELECT ${columns} FROM ${table} WHERE ${OF_FOLD} AND ${where} AND ${upTo(scope)} ORDER BY block_number DESC LIMIT 1
     SETTINGS max_threads = 1`,
    { ...foldParams(scope), ...params },
  )
  return row
}

/** Of a row that changed last in this block. */
export function finalityOf({ standing }: NftScope, blockNumber: string): Finality {
  const { finalizedNumber } = standing
  return finalizedNumber !== undefined && Number(blockNumber) <= finalizedNumber ? 'finalized' : 'pending'
}

/** The first block that can have a log. */
export const FIRST_BLOCK = 1

/** Whether all that happened up to the snapshot is indexed, of one contract or of all. */
export async function coverageOf(scope: NftScope, contract?: string): Promise<Coverage> {
  const { standing, snapshot } = scope
  const blocks = { from_block: standing.start, to_block: snapshot.number, check: standing.check }
  const begins = contract === undefined ? undefined : await contractBeginning(scope, contract)
  if (standing.start > Math.max(begins ?? 0, FIRST_BLOCK)) return { ...blocks, is_whole: false, reason: 'starts_later' }
  const isOdd = await hasOddLogs(scope, contract)
  return isOdd ? { ...blocks, is_whole: false, reason: 'odd_logs' } : { ...blocks, is_whole: true, reason: null }
}

async function hasOddLogs(scope: NftScope, contract: string | undefined): Promise<boolean> {
  // Of a list of many contracts nobody looks through all logs.
  if (contract === undefined || !scope.standing.hasOddLogs) return false
  const [odd] = await scope.warehouse.query(
    `SELECT 1 FROM nft_odd_logs WHERE chain = {chain:String} AND contract = unhex({contract:String}) AND ${upTo(scope)} LIMIT 1`,
    { ...foldParams(scope), contract: contract.slice(2) },
  )
  return odd !== undefined
}
