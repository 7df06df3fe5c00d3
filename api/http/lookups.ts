import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { STATEMENT_TEXT_MAX } from '../../schemas/tables/statement-parts.ts'

/** A warehouse that may look up rows for several questions at once. */
export interface LookupReader extends WordsReader {
  /**
   * Rows of a SELECT that has no parameters, no settings and no subqueries, and finds few: a statement takes the engine
   * so much longer to understand than to run that several are asked as one. All of one kind have equal columns.
   */
  lookUp?<Row>(kind: string, select: string): Promise<Row[]>
  /**
   * Rows of such a SELECT by their keys, which stand for `KEYS` or `hexKeys` in it: what is asked for with one text is
   * found in one look, so that rows of others' keys may be among them, and a limit is that of all.
   */
  lookUpKeys?<Row>(select: string, keys: string): Promise<Row[]>
  /**
   * Rows, as words, of such a SELECT by a condition, which stands for `ALTERNATIVES` in it: what is asked for with one text is found in one look,
   * so that rows of others' conditions are among them, and a limit is that of all.
   */
  lookUpWords?(select: string, condition: string): Promise<Uint32Array>
}

export const KEYS = '{keys}'
export const ALTERNATIVES = '{alternatives}'
const HEX_KEYS = '{hex keys}'
const ROWS_EACH = /\{(\d+) rows each\}/

/** The same for keys of so many bytes, as hex with nothing between: the engine has them sooner than of literals. */
export function hexKeys(bytes: number): string {
  return `extractAll(unhex('${HEX_KEYS}'), '\\\\C{${bytes}}')`
}

/** A limit of so many rows for each key, or condition: that of all of them together, whichever they are of. */
export const rowsEach = (rows: number): string => `{${rows} rows each}`

/**
 * Rows lie in the order that they are asked for in: so many are read at once, no threads are begun for them, and
 * columns are not read one after the other, which pays where few rows are left of many. The engine's older analyzer
 * takes a fifth less for what is as plain as this.
 */
export const inOrderSettings = (rowsAtOnce: number): string =>
  `SETTINGS ${[
    'max_threads = 1',
    `max_block_size = ${rowsAtOnce}`,
    'read_in_order_use_buffering = 0',
    'optimize_move_to_prewhere = 0',
    'query_plan_optimize_lazy_materialization = 0',
    'enable_analyzer = 0',
  ].join(', ')}`
const SETTINGS = inOrderSettings(1_024)
/** Where there are many places, each anywhere in a piece of 1,024 rows: half of it is read for the first row there. */
export const FEW_ROWS_AT_ONCE = 128

/** One statement for all keys. */
export function keysSql(select: string, keys: readonly string[]): string {
  const distinct = [...new Set(keys)]
  const filled = select.includes(HEX_KEYS)
    ? select.replace(HEX_KEYS, () => distinct.join(''))
    : select.replace(KEYS, () => distinct.join(', '))
  return `${withLimitOf(filled, distinct.length)} ${SETTINGS}`
}

/** One statement for rows of any of the conditions. */
export function alternativesSql(select: string, conditions: readonly string[]): string {
  const distinct = [...new Set(conditions)]
  const filled = select.replace(ALTERNATIVES, () => distinct.map((one) => `(${one})`).join(' OR '))
  return `${withLimitOf(filled, distinct.length)} ${SETTINGS}`
}

const withLimitOf = (select: string, asked: number): string =>
  select.replace(ROWS_EACH, (_, rows) => String(Number(rows) * asked))

interface PlacedRow {
  readonly nth: number
}

/** One statement for several SELECTs of one kind. */
export function lookupSql(selects: readonly string[], settings = SETTINGS): string {
  const [only] = selects
  if (selects.length === 1) return `${only} ${settings}`
  const placed = selects.map((select, nth) => select.replace(/^SELECT /, `SELECT ${nth} AS nth, `))
  return `${placed.join(' UNION ALL ')} ${settings}`
}

/** The rows of each SELECT of `lookupSql`, each in its order. */
export function rowsOfLookups<Row>(rows: readonly Row[], selects: number): Row[][] {
  if (selects === 1) return [[...rows]]
  const found: Row[][] = Array.from({ length: selects }, () => [])
  for (const row of rows) found[(row as PlacedRow).nth]?.push(row)
  return found
}

/** `select`, together with others where the warehouse can. */
export async function lookUp<Row>(warehouse: LookupReader, kind: string, select: string): Promise<Row[]> {
  if (warehouse.lookUp !== undefined) return await warehouse.lookUp<Row>(kind, select)
  return await warehouse.query<Row>(lookupSql([select]))
}

/** Rows of keys, together with those of others where the warehouse can. */
export async function lookUpKeys<Row>(warehouse: LookupReader, select: string, keys: string): Promise<Row[]> {
  if (warehouse.lookUpKeys !== undefined) return await warehouse.lookUpKeys<Row>(select, keys)
  return await warehouse.query<Row>(keysSql(select, [keys]))
}

/** The rows of each of many SELECTs of one kind, in as few statements as their texts take. */
export async function lookUpMany<Row>(warehouse: LookupReader, selects: readonly string[]): Promise<Row[][]> {
  const found: Row[][] = []
  for (const some of inTexts(selects)) {
    const rows = await warehouse.query<Row>(lookupSql(some, inOrderSettings(FEW_ROWS_AT_ONCE)))
    found.push(...rowsOfLookups(rows, some.length))
  }
  return found
}

/** What stands between two SELECTs, and which one it is. */
const BETWEEN_SELECTS = ' UNION ALL 1000 AS nth, '.length

/** SELECTs in groups, of which each is one statement: no longer than a server takes. */
export function inTexts(selects: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = []
  let left = 0
  for (const select of selects) {
    const length = select.length + BETWEEN_SELECTS
    if (length > left) {
      groups.push([])
      left = STATEMENT_TEXT_MAX
    }
    groups.at(-1)?.push(select)
    left -= length
  }
  return groups
}
