import type { InsertColumn, InsertColumns, Warehouse, WholeColumn, WholeColumns } from '../../infra/ports/warehouse.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import { type ColumnCtor, giveBackWhole, lend } from '../../schemas/memory.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { memoriesOf } from '../../schemas/tables/column-memories.ts'
import { ColumnParts, type Numbers } from '../../schemas/tables/column-parts.ts'
import type { Projection } from '../../schemas/tables/projections.ts'
import { bytesColumn, uint64Column } from './column-memory.ts'

/** Parts of a column are joined where they have less on average: a block is written piece by piece. */
const PART_BYTES_MIN = 1 << 14

/** Rows of one table, as columns. */
export interface TableRows {
  readonly table: Projection
  readonly columns: WholeColumns
}

/** As they are inserted: large columns may be the parts that they are joined of. */
export interface JoinedRows {
  readonly table: Projection
  readonly columns: InsertColumns
}

/** What an event asks for beyond its rows: figures that are made of several events. */
export type Touched =
  | { readonly kind: 'epoch'; readonly chain: string; readonly epoch: number }
  /** An execution block, or its revert: what its day pays may change. */
  | { readonly kind: 'execution block'; readonly chain: string; readonly unixSec: number }
  /** Logs of an execution block: it may be whole now. */
  | { readonly kind: 'execution logs'; readonly chain: string }
  | { readonly kind: 'account'; readonly account: string }
  /** Whose validators are: accounts that have or had them are settled again. */
  | TouchedValidators<'validators'>
  /** Who validators are, and which addresses are theirs: what their blocks paid may change besides. */
  | TouchedValidators<'proposers'>
  /** The chain's deposit contract: what is sent to it pays nobody. */
  | { readonly kind: 'deposit contract'; readonly chain: string }

interface TouchedValidators<Kind> {
  readonly kind: Kind
  readonly chain: string
  readonly pubkeys: readonly string[]
  /** Rows that name the same public keys, as long as they are in the warehouse: of many they are asked for by these. */
  readonly rows?: { readonly table: Projection; readonly version: bigint } | undefined
}

/** What one event becomes. */
export interface Projected {
  readonly rows: readonly TableRows[]
  readonly touched?: Touched
}

/** Version of the rows that an event makes. One more than its offset, so that sums of versions grow with every input. */
export function versionOf(position: Position): bigint {
  return position.offset + 1n
}

/** Joins rows of the same table into one block each; tables in the order in which they first appear, `lastTable` at the end. */
export function joinRows(parts: readonly TableRows[], lastTable?: Projection): readonly JoinedRows[] {
  const byTable = new Map<Projection, WholeColumns[]>()
  for (const { table, columns } of parts) {
    if (rowsIn(columns) === 0) continue
    const blocks = byTable.get(table)
    if (blocks === undefined) byTable.set(table, [columns])
    else blocks.push(columns)
  }
  const last = lastTable === undefined ? undefined : byTable.get(lastTable)
  if (lastTable !== undefined && last !== undefined) {
    byTable.delete(lastTable)
    byTable.set(lastTable, last)
  }
  return [...byTable].map(([table, blocks]) => ({ table, columns: joinColumns(table, blocks) }))
}

export function rowsIn(columns: InsertColumns): number {
  return Object.values(columns)[0]?.length ?? 0
}

function joinColumns(table: Projection, blocks: readonly WholeColumns[]): InsertColumns {
  const [first] = blocks
  if (first === undefined || blocks.length === 1) return first ?? {}
  const joined: Record<string, InsertColumn> = {}
  for (const name of Object.keys(first)) {
    joined[name] = joinColumn(
      blocks.map((block) => {
        const column = block[name]
        if (column === undefined) throw new Error(`rows of ${table} differ in column ${name}`)
        return column
      }),
    )
  }
  return joined
}

function joinColumn(parts: readonly WholeColumn[]): InsertColumn {
  const [first] = parts
  if (parts.every((part) => part instanceof CodedTexts)) {
    const joined = CodedTexts.join(parts)
    if (joined !== undefined) return joined
  }
  if (first === undefined || Array.isArray(first) || first instanceof CodedTexts)
    return (parts as readonly Iterable<string>[]).flatMap((part) => [...part])
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const numbers = parts as readonly [Numbers, ...Numbers[]]
  if (length * numbers[0].BYTES_PER_ELEMENT >= PART_BYTES_MIN * parts.length) return new ColumnParts(numbers)
  const joined = emptyLike(first, length)
  let at = 0
  for (const part of parts as readonly Uint8Array[]) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** Room for so many values of the column's kind: a Buffer's own constructor is deprecated. */
function emptyLike(column: WholeColumn, length: number): Uint8Array {
  if (column instanceof Uint8Array) return lend(Uint8Array, length)
  return lend(column.constructor as ColumnCtor<Uint8Array>, length)
}

/** Inserts into several tables at once. Rejects as the first of them, when none is under way any more: whoever tries again does it alone. */
export async function insertAll(warehouse: Pick<Warehouse, 'insert'>, rows: readonly JoinedRows[]): Promise<void> {
  const ended = await Promise.allSettled(rows.map(({ table, columns }) => warehouse.insert(table, columns)))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

/**
 * Gives back the memory of rows that nobody reads any more, but for what `kept` lies in as well. An epoch of a million validators has some
 * hundred megabytes that would lie there until the garbage is collected.
 */
export function giveBackRows(rows: readonly JoinedRows[], kept: readonly JoinedRows[] = []): void {
  const memories = (all: readonly JoinedRows[]) => all.flatMap(({ columns }) => [...memoriesOf(columns)])
  giveBackWhole(memories(rows), memories(kept))
}

/** A column with one text in every row. */
export function textColumn(rows: number, text: string): CodedTexts {
  return new CodedTexts([text], bytesColumn(rows))
}

/** No rows of a table: most events have none of most tables. */
export function noRows(table: Projection): TableRows {
  return { table, columns: {} }
}

/** A column with one value in every row. */
export function constantColumn(rows: number, value: bigint): BigUint64Array {
  return uint64Column(rows).fill(value)
}
