import { TOKEN_STANDARDS } from '../../schemas/eth/nft-transfers.ts'
import type { NftScope } from './asking.ts'

// Rows of tables that have, for each of their keys, what it has after each block that changed it.

/** A column of a sort key, or of what its key has. */
export interface Column {
  readonly name: string
  readonly kind: 'bytes' | 'text' | 'unsigned' | 'signed' | 'time'
  /** Of a value; of a text at most. */
  readonly bytes: number
  /** Behind it there is no other value: nothing is to be looked for there. */
  readonly greatest?: string | undefined
}

const count = (name: string): Column => ({ name, kind: 'unsigned', bytes: 8 })

export const addressKey = (name: string): Column => ({ name, kind: 'bytes', bytes: 20 })
export const TOKEN_KEY: Column = { name: 'token_id', kind: 'bytes', bytes: 32 }
export const STANDARD_KEY: Column = {
  ...{ name: 'standard', kind: 'text', bytes: 8 },
  greatest: TOKEN_STANDARDS.toSorted().at(-1),
}
export const TOKENS: readonly Column[] = [count('tokens')]
/** How much is held, and of a sum what is above 256 bits. */
export const AMOUNT: readonly Column[] = [
  { name: 'amount', kind: 'unsigned', bytes: 32 },
  { name: 'excess', kind: 'signed', bytes: 8 },
]
export const SINCE: readonly Column[] = [count('since_block'), { name: 'since_time', kind: 'time', bytes: 4 }]

export interface HistoryColumns {
  readonly keys: readonly Column[]
  /** Where all of them are 0 nothing is held. */
  readonly amounts: readonly Column[]
  readonly values: readonly Column[]
  /** Whether an item is one of the list. */
  readonly holds: (item: Item) => boolean
}

/**
 * Items with their keys (`…_text`; bytes as hex with 0x), amounts and values as text, times as Unix seconds (`…_sec`), and the number of the
 * block of their last change.
 */
export type Item = Readonly<Record<string, string>> & { readonly block_number: string }

/** What a column is called in an item. */
export const keyName = ({ name }: Column): string => `${name}_text`
export const valueName = ({ name, kind }: Column): string => (kind === 'time' ? name.replace(/_time$/, '_sec') : name)

/** Rows in the order of their keys, and those of one key of their blocks. */
export interface HistoryRows {
  readonly count: number
  /** Whether a row, which is not the first, has another key than the one before it. */
  readonly beginsKey: (row: number) => boolean
  readonly numberOf: (row: number) => number
  /** Of its block, as `hex` of the engine writes it. */
  readonly hashOf: (row: number) => string
  readonly keyOf: (row: number) => readonly string[]
  /** Undefined where nothing is held. */
  readonly itemOf: (row: number) => Item | undefined
}

export interface NewestItems {
  readonly items: Item[]
  /** Rows that were looked at. */
  readonly rows: number
  /** Of the key at the end there may be more rows than these. */
  readonly open: readonly string[] | undefined
}

/** What the keys have as of the snapshot, until there are so many items. */
export function newestItems(
  rows: HistoryRows,
  { snapshot, standing }: Pick<NftScope, 'snapshot' | 'standing'>,
  { limit, isCut }: { readonly limit: number; readonly isCut: boolean },
): NewestItems {
  const counts = (row: number) => rows.numberOf(row) <= snapshot.number && !standing.isReverted(rows.hashOf(row))
  const items: Item[] = []
  let first = 0
  for (let end = 1; end <= rows.count && items.length < limit; end++) {
    if (end < rows.count ? !rows.beginsKey(end) : isCut) continue
    let newest = end - 1
    while (newest >= first && !counts(newest)) newest--
    const item = newest < first ? undefined : rows.itemOf(newest)
    if (item !== undefined) items.push(item)
    first = end
  }
  if (items.length >= limit) return { items, rows: first, open: undefined }
  return { items, rows: rows.count, open: isCut ? rows.keyOf(first) : undefined }
}
