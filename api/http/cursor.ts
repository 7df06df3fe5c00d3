import { createHash } from 'node:crypto'
import { type Pagination, type Refusal, refuse } from '../../schemas/routes/envelope.ts'

/** What an item is told from all others of its list by, without blanks; its order among them follows from it, and never changes. */
export type ItemKey = readonly string[]

interface PageQuery {
  readonly page: number
  readonly limit: number
  readonly cursor?: string | undefined
}

interface ListOf<Item> {
  /** Whose list it is, and of what: chain, account, operation. */
  readonly of: readonly string[]
  readonly query: PageQuery
  readonly keyOf: (item: Item) => ItemKey
  /** Whether an item comes behind the one that had this key, which may have gone. */
  readonly isBehind: (item: Item, key: ItemKey) => boolean
}

export interface ListPage<Item> {
  readonly status: 'page'
  readonly items: readonly Item[]
  readonly pagination: Pagination
  readonly next_cursor: string | null
}

/** Of SHA-256: told for another list, a cursor is none. It hides nothing and opens nothing, so nobody has to be kept from making one. */
const CHECK_BYTES = 12

/** The page of a whole list, by its number or by what it goes on behind; a cursor that is none of this list's is refused. */
export function pageOf<Item>(
  all: readonly Item[],
  { of, query, keyOf, isBehind }: ListOf<Item>,
): ListPage<Item> | Refusal {
  const { page, limit, cursor, ...filter } = query
  const list = JSON.stringify([of, filter])
  let start = (page - 1) * limit
  if (cursor !== undefined) {
    if (page > 1) return refuse('400', 'page and cursor exclude each other')
    const key = readCursor(list, cursor)
    if (key === undefined) return refuse('400', 'cursor is none of this question')
    const found = all.findIndex((item) => isBehind(item, key))
    start = found < 0 ? all.length : found
  }
  const items = all.slice(start, start + limit)
  const last = items.at(-1)
  const isEnd = last === undefined || start + items.length >= all.length
  return {
    status: 'page',
    items,
    pagination: { page: Math.floor(start / limit) + 1, limit, total: all.length },
    next_cursor: isEnd ? null : formatCursor(list, keyOf(last)),
  }
}

function formatCursor(list: string, key: ItemKey): string {
  const body = Buffer.from(key.join(' '))
  return Buffer.concat([checkOf(list, body), body]).toString('base64url')
}

function readCursor(list: string, text: string): ItemKey | undefined {
  const bytes = Buffer.from(text, 'base64url')
  const body = bytes.subarray(CHECK_BYTES)
  if (bytes.toString('base64url') !== text) return undefined
  if (!bytes.subarray(0, CHECK_BYTES).equals(checkOf(list, body))) return undefined
  return body.toString().split(' ')
}

function checkOf(list: string, body: Buffer): Buffer {
  return createHash('sha256').update(list).update('\n').update(body).digest().subarray(0, CHECK_BYTES)
}
