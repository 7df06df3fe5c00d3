import type { QueryParams } from '../../infra/ports/warehouse.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { lookUp } from '../http/lookups.ts'
import type { NftPin, NftScope } from './asking.ts'
import { type Lead, selectBeginning } from './beginnings.ts'
import { foldSql } from './literals.ts'
import { selectNewestRow } from './newest.ts'
import { RowsPerItem } from './rows-per-item.ts'

/** A table of what its keys have after each block that changed it, in the order of its keys. */
export interface HistoryTable {
  readonly table: string
  /** What stays the same for the whole list, as SQL without parameters: the beginning of the sort key. */
  readonly where: string
  /** Its last column, where it is one value's rows: lists of several values are begun together. */
  readonly lead?: Lead
  /** The rest of the sort key, before the block: what tells one item from another. */
  readonly keys: readonly Key[]
  readonly values: readonly string[]
  /** Rows that most items have, with those of keys that hold nothing, where they are fewer than of others. */
  readonly rowsPerItem?: number
  /** Whether an item is one of the list, of keys and values: as SQL, and of its row. */
  readonly isHeld: string
  readonly holds: (item: Item) => boolean
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
/**
 * The first stretch, whose rows are all taken and looked through here: as many for an item as most have, with those that hold nothing. Of
 * long pages fewer, for they take longer to be told than to be found.
 */
const FIRST_ROWS_PER_ITEM = { few: 8, many: 2 } as const
const FIRST_ROWS = { min: 250, ofFew: 1_000 } as const
/** Where pages have shown how many rows an item has, so many times as many are looked at at once as a page of such items has. */
const SPARE_ROWS = 1.25
/** A block of rows that is read at once: what is read beyond the stretch. */
const READ_ROWS = 1_024

const OF_FOLD = 'chain = {chain:String} AND start = {start:UInt64}'
const upTo = ({ standing }: NftScope) => `block_number <= {number:UInt64} AND ${standing.notReverted}`

export function foldParams({ chain, standing, snapshot }: NftPin): QueryParams {
  return { chain, start: standing.start, number: snapshot.number }
}

/** Of all lists of this process. */
const rowsPerItem = new RowsPerItem()

/** The items of a page, as of the snapshot, behind a sort key. */
export async function selectPage(
  scope: NftScope,
  table: HistoryTable,
  { limit, after }: { readonly limit: number; readonly after: readonly string[] | undefined },
): Promise<Page> {
  const items: Item[] = []
  const list = [scope.chain, scope.standing.start, table.table, table.where].join(' ')
  let behind = after
  for (const { rows, select } of stretchesOf(table, limit, rowsPerItem.of(list))) {
    const wanted = limit + 1 - items.length
    const stretch = await select(scope, table, { rows, behind, limit: wanted })
    const found = stretch.items.length
    rowsPerItem.note(list, { rows: stretch.rows, items: found, isCut: found >= wanted })
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

/** The page up to where its items would have more than so many values of some columns. */
export function cutPage(
  page: Page,
  table: HistoryTable,
  { columns, most }: { readonly columns: readonly string[]; readonly most: number },
): Page {
  const values = new Set<string>()
  const valuesOf = (item: Item) => columns.map((column) => item[column]).join(' ')
  const cut = page.items.findIndex((item) => values.add(valuesOf(item)).size > most)
  if (cut === -1) return page
  const items = page.items.slice(0, cut)
  return { items, next: keyOf(table, items.at(-1)) }
}

interface Stretch {
  readonly items: readonly Item[]
  /** That were looked at. */
  readonly rows: number
  /** The last key that was looked at; undefined where there are no more rows. */
  readonly end: readonly string[] | undefined
}

interface Select {
  readonly rows: number
  readonly select: typeof selectStretch
}

/** How a page is looked for: few rows first, or at once as many as the list is known to need, where these are too many to be told. */
function stretchesOf(table: HistoryTable, limit: number, perItem = 0): readonly Select[] {
  const first = firstRows(table, limit)
  const [few, many] = STRETCH_ROWS
  const known = Math.min(Math.ceil((limit + 1) * perItem * SPARE_ROWS), few + many)
  if (known <= Math.max(first, FIRST_ROWS.ofFew))
    return [
      { rows: first, select: selectFirst },
      { rows: few, select: selectStretch },
      { rows: many, select: selectStretch },
    ]
  const rest = first + few + many - known
  return [
    { rows: known, select: selectStretch },
    { rows: rest, select: selectStretch },
  ]
}

function firstRows({ rowsPerItem = FIRST_ROWS_PER_ITEM.few }: HistoryTable, limit: number): number {
  const few = Math.min(limit * rowsPerItem, FIRST_ROWS.ofFew)
  return Math.max(FIRST_ROWS.min, few, limit * FIRST_ROWS_PER_ITEM.many)
}

interface Look {
  readonly rows: number
  readonly behind: readonly string[] | undefined
  readonly limit: number
}

/** A row as the tables have it, with the hash of its block. */
type Row = Item & { readonly of_block: string }

/** A stretch whose rows are all told. */
async function selectFirst(scope: NftScope, table: HistoryTable, { rows, behind, limit }: Look): Promise<Stretch> {
  const keys = table.keys.map(({ name }) => name).join(', ')
  const columns = `${columnsOf(table)}, block_number, hex(block_hash) AS of_block`
  const order = `${keys}, block_number`
  const { lead } = table
  const begun =
    behind !== undefined || lead === undefined
      ? undefined
      : await selectBeginning<Row>(scope, { table: table.table, lead, columns, order, rows })
  const isFurther = behind === undefined ? '' : ` AND (${isBehind(table.keys, (key, i) => literalOf(key, behind[i]))})`
  const found =
    begun ??
    (await lookUp<Row>(
      scope.warehouse,
      `stretch of ${table.table}`,
      `SELECT ${columns} FROM ${table.table}
       WHERE ${foldSql(scope)} AND ${table.where}${isFurther} ORDER BY ${order} LIMIT ${rows}`,
    ))
  const isFull = found.length >= rows
  const complete: Item[] = []
  const names = table.keys.map(({ name }) => `${name}_text`)
  let [first, counted]: (Row | undefined)[] = []
  const endKey = (): void => {
    const item = counted === undefined ? undefined : toItem(table, counted)
    if (item !== undefined && table.holds(item)) complete.push(item)
  }
  // In the order of their keys, and those of one key of their blocks.
  for (const [rows, row] of found.entries()) {
    if (first === undefined || names.some((name) => row[name] !== first?.[name])) {
      endKey()
      if (complete.length >= limit)
        return { items: complete, rows, end: isFull ? keyOf(table, complete.at(-1)) : undefined }
      first = row
      counted = undefined
    }
    if (Number(row.block_number) <= scope.snapshot.number && !scope.standing.isReverted(row.of_block)) counted = row
  }
  const looked = { complete, rows: found.length }
  if (isFull) return await completeLast(scope, table, { ...looked, end: keyOf(table, toItem(table, first as Row)) })
  endKey()
  return { items: complete, rows: found.length, end: undefined }
}

/** Of the last key the stretch may lack the newest rows. */
async function completeLast(
  scope: NftScope,
  table: HistoryTable,
  {
    complete,
    rows,
    end,
  }: { readonly complete: readonly Item[]; readonly rows: number; readonly end: readonly string[] },
): Promise<Stretch> {
  const newest = await selectNewest(scope, table, end)
  return { items: newest === undefined ? complete : [...complete, newest], rows, end }
}

/** A stretch of which the engine tells one row: what was looked at, and the items. To number rows by windows takes longer than to read them. */
async function selectStretch(scope: NftScope, table: HistoryTable, { rows, behind, limit }: Look): Promise<Stretch> {
  const keys = table.keys.map(({ name }) => name).join(', ')
  const values = ['block_number', ...table.values]
  const shownKeys = table.keys.map(shown).join(', ')
  const [told] = await scope.warehouse.query<{
    looked_at: string
    end: readonly string[]
    items: readonly (readonly string[])[]
  }>(
    `SELECT sum(rows) AS looked_at, max(tuple(${shownKeys})) AS end,
       groupArraySortedIf(${limit + 1})((${shownKeys}, ${values.map((name) => `toString(${name})`).join(', ')}), is_held) AS items
     FROM (
       SELECT ${keys}, rows, ${values.map((name, i) => `newest.${i + 1} AS ${name}`).join(', ')},
         found > 0 AND ${table.isHeld} AS is_held
       FROM (
         SELECT ${keys}, count() AS rows, countIf(counts) AS found, argMaxIf((${values.join(', ')}), block_number, counts) AS newest
         FROM (
           SELECT ${keys}, ${values.join(', ')}, ${upTo(scope)} AS counts FROM ${table.table}
           WHERE ${OF_FOLD} AND ${table.where}${behind === undefined ? '' : ` AND (${isBehind(table.keys, parameterOf)})`}
           ORDER BY ${keys}, block_number LIMIT ${rows}
         )
         GROUP BY ${keys}
       )
     )
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
    { ...foldParams(scope), ...behindParams(behind) },
  )
  const looked = Number(told?.looked_at ?? 0)
  if (told === undefined || looked === 0) return { items: [], rows: 0, end: undefined }
  const names = [...table.keys.map(({ name }) => `${name}_text`), ...values]
  const items = told.items.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])) as Item)
  if (looked < rows) return { items: items.slice(0, limit), rows: looked, end: undefined }
  const end = keyOf(table, Object.fromEntries(names.map((name, i) => [name, told.end[i]])) as Item)
  const isEnd = (item: Item) => keyOf(table, item).every((value, i) => value === end[i])
  const complete = items.filter((item) => !isEnd(item))
  if (complete.length < limit) return await completeLast(scope, table, { complete, rows: looked, end })
  return { items: complete.slice(0, limit), rows: looked, end: keyOf(table, complete[limit - 1] as Item) }
}

/** What one key has after the snapshot's block; undefined where that is nothing. */
export async function selectNewest(
  scope: NftScope,
  table: HistoryTable,
  key: readonly string[],
): Promise<Item | undefined> {
  const ofKey = table.keys.map((one, i) => `${one.name} = ${literalOf(one, key[i])}`)
  const row = await selectNewestRow<Item>(scope, {
    table: table.table,
    where: [table.where, ...ofKey].join(' AND '),
    columns: columnsOf(table),
    kind: `key of ${table.table}`,
  })
  const item = row === undefined ? undefined : toItem(table, row)
  return item !== undefined && table.holds(item) ? item : undefined
}

/** Keys as the table has them, bytes in hex; wider integers come as text anyway. */
function columnsOf({ keys, values }: HistoryTable): string {
  const shownKeys = keys.map(({ name, kind }) => `${kind === 'text' ? name : `hex(${name})`} AS ${name}_text`)
  return [...shownKeys, ...values].join(', ')
}

function toItem({ keys }: HistoryTable, row: Item): Item {
  const item: Record<string, string> & { block_number: string } = { ...row }
  for (const { name, kind } of keys)
    if (kind === 'bytes') item[`${name}_text`] = `0x${(row[`${name}_text`] as string).toLowerCase()}`
  return item
}

const shown = ({ name, kind }: Key): string =>
  kind === 'text' ? `toString(${name})` : `concat('0x', lower(hex(${name})))`

function keyOf(table: HistoryTable, item: Item): readonly string[]
function keyOf(table: HistoryTable, item: Item | undefined): readonly string[] | undefined
function keyOf({ keys }: HistoryTable, item: Item | undefined): readonly string[] | undefined {
  return item === undefined ? undefined : keys.map(({ name }) => item[`${name}_text`] as string)
}

// Compared with a constant, or no index is used.
const parameterOf = ({ kind }: Key, i: number): string =>
  kind === 'text' ? `{key${i}:String}` : `unhex({key${i}:String})`
const literalOf = ({ kind }: Key, value = ''): string => (kind === 'text' ? textSql(value) : bytesSql(value.slice(2)))

function isBehind(keys: readonly Key[], sqlOf: (key: Key, i: number) => string): string {
  const places = keys.map((_, i) =>
    keys
      .slice(0, i + 1)
      .map((key, j) => `${key.name} ${j === i ? '>' : '='} ${sqlOf(key, j)}`)
      .join(' AND '),
  )
  const further = places.map((place) => `(${place})`).join(' OR ')
  const [first] = keys
  // The engine finds where to begin by the first column sooner than by what is between several.
  return first === undefined || keys.length === 1 ? further : `${first.name} >= ${sqlOf(first, 0)} AND (${further})`
}

function behindParams(key: readonly string[] = []): QueryParams {
  return Object.fromEntries(key.map((value, i) => [`key${i}`, value.startsWith('0x') ? value.slice(2) : value]))
}
