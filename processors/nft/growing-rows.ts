import type { InsertColumn, InsertColumns } from '../../infra/ports/warehouse.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { constantColumn, textColumn } from '../loop/rows.ts'

const ROWS_AT_FIRST = 256

/** A column of 32-bit words, so many for each row, as the warehouse has them in memory. */
class WordColumn {
  readonly #width: number
  readonly #isSigned: boolean
  #words: Uint32Array
  #end = 0

  constructor(width: number, isSigned = false) {
    this.#width = width
    this.#isSigned = isSigned
    this.#words = new Uint32Array(ROWS_AT_FIRST * width)
  }

  /** A row, from words of somebody else. */
  push(words: Uint32Array, at: number): void {
    const end = this.#end + this.#width
    if (end > this.#words.length) this.#grow()
    for (let to = this.#end, from = at; to < end; to++, from++) this.#words[to] = words[from] as number
    this.#end = end
  }

  /** A row that is a number below 2^53, in one or two words. */
  pushNumber(value: number): void {
    const end = this.#end + this.#width
    if (end > this.#words.length) this.#grow()
    this.#words[this.#end] = value >>> 0
    if (this.#width === 2) this.#words[this.#end + 1] = Math.floor(value / 2 ** 32)
    this.#end = end
  }

  clear(): void {
    this.#end = 0
  }

  /** The column as an insert takes it, of its own memory: of numbers where they have a typed array, else of bytes. */
  view(): InsertColumn {
    const { buffer, byteLength } = this.#words.subarray(0, this.#end)
    if (this.#width === 1) return new Uint32Array(buffer, 0, byteLength / 4)
    if (this.#isSigned) return new BigInt64Array(buffer, 0, byteLength / 8)
    if (this.#width === 2) return new BigUint64Array(buffer, 0, byteLength / 8)
    return new Uint8Array(buffer, 0, byteLength)
  }

  #grow(): void {
    const words = new Uint32Array(this.#words.length * 2)
    words.set(this.#words)
    this.#words = words
  }
}

/** A column of some texts, each row by its place among them. */
class TextColumn {
  readonly #texts: readonly string[]
  #codes = new Uint8Array(ROWS_AT_FIRST)
  #end = 0

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  /** Throws where no text has the code: one byte would take another one's. */
  push(code: number): void {
    const { length } = this.#texts
    if (code < 0 || code >= length) throw new RangeError(`a column of ${length} texts has no text ${code}`)
    if (this.#end === this.#codes.length) {
      const codes = new Uint8Array(this.#codes.length * 2)
      codes.set(this.#codes)
      this.#codes = codes
    }
    this.#codes[this.#end++] = code
  }

  clear(): void {
    this.#end = 0
  }

  view(): InsertColumn {
    return new CodedTexts(this.#texts, this.#codes.subarray(0, this.#end))
  }
}

export type { TextColumn, WordColumn }

/** Words of a row of each column; `signed` for two that are one signed number; the texts of a column of text. */
export type Widths = Readonly<Record<string, number | 'signed' | readonly string[]>>

type Columns<Of extends Widths> = {
  readonly [Name in keyof Of]: Of[Name] extends readonly string[] ? TextColumn : WordColumn
}

/** Rows of a table that is folded, column by column, as they come. */
export class GrowingRows<Of extends Widths> {
  #columns: Columns<Of>
  /** What was taken last: its memory is used again. */
  #taken: Columns<Of>
  rows = 0

  constructor(widths: Of) {
    this.#columns = columnsOf(widths)
    this.#taken = columnsOf(widths)
  }

  /** Begins a row: the caller pushes a value into each column. */
  next(): Columns<Of> {
    this.rows++
    return this.#columns
  }

  /** What came so far, for a fold of a chain; it is good until the next time. */
  take({ chain, start }: { readonly chain: string; readonly start: number }): InsertColumns {
    const { rows } = this
    const columns = this.#columns
    this.#columns = this.#taken
    this.#taken = columns
    this.rows = 0
    for (const column of Object.values<TextColumn | WordColumn>(this.#columns)) column.clear()
    const taken = Object.entries<TextColumn | WordColumn>(columns).map(
      ([name, column]) => [name, column.view()] as const,
    )
    return { chain: textColumn(rows, chain), start: constantColumn(rows, BigInt(start)), ...Object.fromEntries(taken) }
  }
}

function columnsOf<Of extends Widths>(widths: Of): Columns<Of> {
  const column = (width: Widths[string]) => {
    if (typeof width === 'object') return new TextColumn(width)
    return width === 'signed' ? new WordColumn(2, true) : new WordColumn(width)
  }
  return Object.fromEntries(Object.entries(widths).map(([name, width]) => [name, column(width)])) as Columns<Of>
}
