import { lookUp, lookupSql } from '../http/lookups.ts'
import type { NftScope } from './asking.ts'
import { type Lead, selectBeginning } from './beginnings.ts'
import { isBehindSql, literalOf } from './behind.ts'
import { type HistoryColumns, type HistoryRows, type Item, keyName, newestItems } from './history-rows.ts'
import { ItemGaps } from './item-gaps.ts'
import { foldSql } from './literals.ts'
import { selectNewestRow } from './newest.ts'
import { RowsPerItem } from './rows-per-item.ts'
import { selectSpan } from './spans.ts'
import { type TextRow, textColumns, textRows, toHeld } from './text-rows.ts'
import { wordColumns, wordRows } from './word-rows.ts'

/** A list in a table of what its keys have after each block that changed it, in the order of its keys. */
export interface HistoryTable extends HistoryColumns {
  readonly table: string
  /** What stays the same for the whole list, as SQL without parameters: the beginning of the sort key. */
  readonly where: string
  /** Its last column, where it is one value's rows: lists of several values are begun together. */
  readonly lead?: Lead
  /** Rows that most items have, with those of keys that hold nothing, where they are fewer than of others. */
  readonly rowsPerItem?: number
}

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
 * The first stretch: as many for an item as most have, with those that hold nothing. Of long pages fewer, for they take longer to be told than
 * to be found.
 */
const FIRST_ROWS_PER_ITEM = { few: 8, many: 2 } as const
const FIRST_ROWS = { min: 250, ofFew: 1_000 } as const
/** Where pages have shown how many rows an item has, so many times as many are looked at at once as a page of such items has. */
const SPARE_ROWS = 1.25

/** Of all lists of this process. */
const rowsPerItem = new RowsPerItem()
const itemGaps = new ItemGaps()

/** The items of a page, as of the snapshot, behind a sort key. */
export async function selectPage(
  scope: NftScope,
  table: HistoryTable,
  { limit, after }: { readonly limit: number; readonly after: readonly string[] | undefined },
): Promise<Page> {
  const items: Item[] = []
  const list = [scope.chain, scope.standing.start, table.table, table.where].join(' ')
  let behind = after
  const key = table.lead === undefined ? undefined : after?.[0]
  const last = key === undefined ? undefined : itemGaps.endOf(list, { behind: key, items: limit + 1 })
  const perItem = rowsPerItem.of(list)
  const begin = after === undefined ? selectFirst : last === undefined ? selectStretch : selectNear
  for (const { rows, select } of stretchesOf(table, limit, { perItem, begin })) {
    const wanted = limit + 1 - items.length
    const stretch = await select(scope, table, { rows, behind, limit: wanted, last })
    const found = stretch.items.length
    rowsPerItem.note(list, { rows: stretch.rows, items: found, isCut: found >= wanted })
    items.push(...stretch.items)
    if (items.length > limit) {
      const page = items.slice(0, limit)
      const next = keyOf(table, page.at(-1) as Item)
      if (key !== undefined) itemGaps.note(list, { behind: key, last: next[0] as string, items: limit })
      return { items: page, next }
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

/**
 * How a page is looked for: few rows first, or at once as many as the list is known to need. Where these are fewer they are one of few
 * numbers, for lists are begun together that want equally many.
 */
function stretchesOf(
  table: HistoryTable,
  limit: number,
  { perItem, begin: selectBegin }: { readonly perItem: number | undefined; readonly begin: typeof selectStretch },
): readonly Select[] {
  const first = firstRows(table, limit)
  const [few, many] = STRETCH_ROWS
  // An item has one row at least, whatever a list of none has shown.
  const needed = Math.ceil((limit + 1) * Math.max(perItem ?? 0, 1) * SPARE_ROWS)
  const known = perItem === undefined ? first : Math.min(needed, few + many)
  if (known > first)
    return [
      { rows: known, select: selectStretch },
      { rows: first + few + many - known, select: selectStretch },
    ]
  const begin = Math.min(first, 2 ** Math.ceil(Math.log2(known)))
  const rows = begin < first ? [begin, first, few - begin, many] : [first, few, many]
  return rows.map((some, i) => ({ rows: some, select: i === 0 ? selectBegin : selectStretch }))
}

function firstRows({ rowsPerItem = FIRST_ROWS_PER_ITEM.few }: HistoryTable, limit: number): number {
  const few = Math.min(limit * rowsPerItem, FIRST_ROWS.ofFew)
  return Math.max(FIRST_ROWS.min, few, limit * FIRST_ROWS_PER_ITEM.many)
}

interface Look {
  readonly rows: number
  readonly behind: readonly string[] | undefined
  readonly limit: number
  /** A value of the first column of the sort key up to which there are as many items, about. */
  readonly last: string | undefined
}

/** The first stretch of a list, as text: found in one statement with those of others. */
async function selectFirst(scope: NftScope, table: HistoryTable, look: Look): Promise<Stretch> {
  const columns = `${textColumns(table)}, block_number, hex(block_hash) AS of_block`
  const { lead } = table
  const { rows } = look
  const begun =
    lead === undefined
      ? undefined
      : await selectBeginning<TextRow>(scope, { table: table.table, lead, columns, order: orderOf(table), rows })
  const found =
    begun ??
    (await lookUp<TextRow>(scope.warehouse, `stretch of ${table.table}`, stretchSql(scope, table, { columns, look })))
  return await toStretch(scope, table, { found: textRows(table, found), look })
}

/** A stretch up to where it should be found, in one statement with those of others. */
async function selectNear(scope: NftScope, table: HistoryTable, look: Look): Promise<Stretch> {
  const { rows, behind, last, limit } = look
  const { lead } = table
  if (lead === undefined || behind === undefined || last === undefined) return await selectStretch(scope, table, look)
  const found = await selectSpan(scope, { ...table, lead, order: orderOf(table), behind, last, rows })
  const near = found === undefined || found.count === 0 ? undefined : newestItems(found, scope, { limit, isCut: true })
  // It is not all there: there may be more behind it.
  if (near === undefined || near.open !== undefined) return await selectStretch(scope, table, look)
  return { ...near, end: undefined }
}

/** Any other stretch, as words: to find in the engine which of thousands of rows count takes longer than to hand all of them over. */
async function selectStretch(scope: NftScope, table: HistoryTable, look: Look): Promise<Stretch> {
  const words = await scope.warehouse.queryWords(
    lookupSql([stretchSql(scope, table, { columns: wordColumns(table), look })]),
  )
  return await toStretch(scope, table, { found: wordRows(table, words), look })
}

const orderOf = ({ keys }: HistoryTable): string => [...keys.map(({ name }) => name), 'block_number'].join(', ')

function stretchSql(
  scope: NftScope,
  table: HistoryTable,
  { columns, look: { rows, behind } }: { readonly columns: string; readonly look: Look },
): string {
  const further = behind === undefined ? '' : ` AND ${isBehindSql(table.keys, behind)}`
  return `SELECT ${columns} FROM ${table.table}
    WHERE ${foldSql(scope)} AND ${table.where}${further} ORDER BY ${orderOf(table)} LIMIT ${rows}`
}

async function toStretch(
  scope: NftScope,
  table: HistoryTable,
  { found, look: { rows, limit } }: { readonly found: HistoryRows; readonly look: Look },
): Promise<Stretch> {
  const stretch = newestItems(found, scope, { limit, isCut: found.count >= rows })
  if (stretch.open === undefined) return { ...stretch, end: undefined }
  const last = await selectNewest(scope, table, stretch.open)
  const items = last === undefined ? stretch.items : [...stretch.items, last]
  return { items, rows: stretch.rows, end: stretch.open }
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
    columns: textColumns(table),
    kind: `key of ${table.table}`,
  })
  return row === undefined ? undefined : toHeld(table, row)
}

function keyOf(table: HistoryTable, item: Item): readonly string[]
function keyOf(table: HistoryTable, item: Item | undefined): readonly string[] | undefined
function keyOf({ keys }: HistoryTable, item: Item | undefined): readonly string[] | undefined {
  return item === undefined ? undefined : keys.map((key) => item[keyName(key)] as string)
}
