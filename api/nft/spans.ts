import { bytesSql } from '../../schemas/tables/literals.ts'
import { ALTERNATIVES, rowsEach } from '../http/lookups.ts'
import type { NftPin } from './asking.ts'
import type { Lead } from './beginnings.ts'
import { isBehindSql } from './behind.ts'
import type { HistoryColumns, HistoryRows } from './history-rows.ts'
import { foldSql } from './literals.ts'
import { keyBytes, wordColumns, wordRows } from './word-rows.ts'

const WORD = 4
/** Of what a span should have: they are those of all that are looked for together, and one may have far more than it should. */
const SPARE_ROWS = 2

/** A part of a list: behind a sort key, up to a value of its first column. */
export interface Span extends HistoryColumns {
  readonly table: string
  readonly lead: Lead
  /** The rest of the sort key, as SQL. */
  readonly order: string
  readonly behind: readonly string[]
  /** Hex with 0x. */
  readonly last: string
  /** That it should have, about. */
  readonly rows: number
}

/**
 * Rows of a part of a list, found by one look for all parts of lists that are looked for at the moment: its first ones, where those of others have
 * taken the place of the rest. Undefined where nothing looks for several at once.
 */
export async function selectSpan(pin: NftPin, span: Span): Promise<HistoryRows | undefined> {
  const { table, lead, order, behind, last, rows, keys } = span
  const [first] = keys
  if (pin.warehouse.lookUpWords === undefined || first === undefined) return undefined
  const words = await pin.warehouse.lookUpWords(
    `SELECT ${lead.column}, ${wordColumns(span)} FROM ${table}
     WHERE ${foldSql(pin)}${lead.within === '' ? '' : ` AND ${lead.within}`} AND (${ALTERNATIVES})
     ORDER BY ${lead.column}, ${order} LIMIT ${rowsEach(rows * SPARE_ROWS)}`,
    `${lead.column} = ${bytesSql(lead.value)} AND ${isBehindSql(keys, behind)} AND ${first.name} <= ${bytesSql(last.slice(2))}`,
  )
  const { width } = wordRows(span, words, lead.value.length / 2)
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength)
  const ofLead = Buffer.from(lead.value, 'hex')
  const begin = Buffer.concat([ofLead, keyBytes(keys, behind)])
  const end = Buffer.concat([ofLead, keyBytes([first], [last])])
  const from = rowsUpTo(bytes, width, begin)
  const to = rowsUpTo(bytes, width, end)
  return wordRows(span, words.subarray((from * width) / WORD, (Math.max(from, to) * width) / WORD), ofLead.length)
}

/** How many rows, which are in the order of their first bytes, begin with these or come before them. */
function rowsUpTo(bytes: Buffer, width: number, key: Buffer): number {
  let [low, high] = [0, bytes.length / width]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = middle * width
    if (bytes.compare(key, 0, key.length, at, at + key.length) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
