import type { WholeColumn, WholeColumns } from '../../infra/ports/warehouse.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { constantColumn, textColumn } from '../loop/rows.ts'

const ROWS_AT_FIRST = 256

/** The row at hand, of all columns of a table; -1 before the first one. */
interface Place {
  row: number
}

/** A column of 32-bit words, so many for each row, as the warehouse has them in memory. A row that nothing is pushed into has 0. */
class WordColumn {
  readonly #width: number
  readonly #isSigned: boolean
  readonly #place: Place
  #words: Uint32Array
  #end = 0

  constructor(place: Place, width: number, isSigned = false) {
    this.#width = width
    this.#isSigned = isSigned
    this.#place = place
    this.#words = new Uint32Array(ROWS_AT_FIRST * width)
  }

  /** The row, from words of somebody else. */
  push(words: Uint32Array, at: number): void {
    const begin = this.#begin()
    const end = begin + this.#width
    for (let to = begin, from = at; to < end; to++, from++) this.#words[to] = words[from] as number
    this.#end = end
  }

  /** The row as a number below 2^53; of one word, below 2^32. */
  pushNumber(value: number): void {
    const begin = this.#begin()
    const end = begin + this.#width
    this.#words[begin] = value >>> 0
    if (end > begin + 1) this.#words[begin + 1] = Math.floor(value / 2 ** 32)
    for (let to = begin + 2; to < end; to++) this.#words[to] = 0
    this.#end = end
  }

  clear(): void {
    this.#end = 0
  }

  /** The column as an insert takes it, of its own memory: of numbers where they have a typed array, else of bytes. */
  view(): WholeColumn {
    const rows = this.#place.row + 1
    const end = rows * this.#width
    if (end > this.#words.length) this.#words = grown(this.#words, rows, this.#width)
    if (end > this.#end) this.#words.fill(0, this.#end, end)
    return viewOf(this.#words.subarray(0, end), this.#width, this.#isSigned)
  }

  /** Where the row begins, with room for it. */
  #begin(): number {
    const begin = this.#place.row * this.#width
    if (begin + this.#width > this.#words.length) this.#words = grown(this.#words, this.#place.row + 1, this.#width)
    if (begin > this.#end) this.#words.fill(0, this.#end, begin)
    return begin
  }
}

/** A column of words that many rows have, one after the other: what a block's rows have in common. */
class RunColumn {
  readonly #width: number
  readonly #place: Place
  /** The first row of each run, and its words. */
  readonly #first: number[] = []
  #runs: Uint32Array
  #words: Uint32Array

  constructor(place: Place, width: number) {
    this.#width = width
    this.#place = place
    this.#runs = new Uint32Array(ROWS_AT_FIRST * width)
    this.#words = new Uint32Array(ROWS_AT_FIRST * width)
  }

  /** Of the rows that come, from words of somebody else. */
  set(words: Uint32Array, at: number): void {
    const to = this.#next()
    for (let i = 0; i < this.#width; i++) this.#runs[to + i] = words[at + i] as number
  }

  /** The same, a number below 2^53, in two words; in one, below 2^32. */
  setNumber(value: number): void {
    const to = this.#next()
    this.#runs[to] = value >>> 0
    if (this.#width === 2) this.#runs[to + 1] = Math.floor(value / 2 ** 32)
  }

  /** Forgets all rows; those that come have what the next ones of another column would have had. */
  goOn(other: RunColumn): void {
    this.#first.length = 0
    if (other.#first.length > 0) this.set(other.#runs, (other.#first.length - 1) * this.#width)
  }

  view(): WholeColumn {
    const width = this.#width
    const rows = this.#place.row + 1
    if (rows * width > this.#words.length) this.#words = new Uint32Array(roomFor(rows) * width)
    for (let run = 0; run < this.#first.length; run++) {
      const [begin, end] = [(this.#first[run] as number) * width, (this.#first[run + 1] ?? rows) * width]
      if (begin === end) continue
      for (let i = 0; i < width; i++) this.#words[begin + i] = this.#runs[run * width + i] as number
      // What is there is copied behind itself, twice as much each time.
      for (let to = begin + width; to < end; to += to - begin)
        this.#words.copyWithin(to, begin, Math.min(to, begin + end - to))
    }
    return viewOf(this.#words.subarray(0, rows * width), width, false)
  }

  /** Where the words of the run that begins with the next row are to be. */
  #next(): number {
    const row = this.#place.row + 1
    // Of a block without rows nothing is left.
    if (this.#first.at(-1) !== row) this.#first.push(row)
    const runs = this.#first.length
    if (runs * this.#width > this.#runs.length) this.#runs = grown(this.#runs, runs, this.#width)
    return (runs - 1) * this.#width
  }
}

function viewOf({ buffer, byteLength }: Uint32Array, width: number, isSigned: boolean): WholeColumn {
  if (width === 1) return new Uint32Array(buffer, 0, byteLength / 4)
  if (isSigned) return new BigInt64Array(buffer, 0, byteLength / 8)
  if (width === 2) return new BigUint64Array(buffer, 0, byteLength / 8)
  return new Uint8Array(buffer, 0, byteLength)
}

function grown(words: Uint32Array, rows: number, width: number): Uint32Array {
  const more = new Uint32Array(roomFor(rows) * width)
  more.set(words)
  return more
}

/** Memory doubles as rows come. */
const roomFor = (rows: number): number => 2 ** Math.ceil(Math.log2(rows))

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

  view(): WholeColumn {
    return new CodedTexts(this.#texts, this.#codes.subarray(0, this.#end))
  }
}

export type { TextColumn, WordColumn }

/** A column of so many words that rows have in common. */
interface Run {
  readonly run: number
}

/** Words of a row of each column; `signed` for two that are one signed number; the texts of a column of text. */
export type Widths = Readonly<Record<string, number | 'signed' | readonly string[] | Run>>

type AnyColumn = TextColumn | WordColumn | RunColumn
type Columns<Of extends Widths> = {
  readonly [Name in keyof Of]: Of[Name] extends readonly string[]
    ? TextColumn
    : Of[Name] extends Run
      ? RunColumn
      : WordColumn
}

/** Columns, and how many rows they have. */
interface Rows<Of extends Widths> {
  readonly columns: Columns<Of>
  readonly place: Place
}

/** Rows of a table that is folded, column by column, as they come. */
export class GrowingRows<Of extends Widths> {
  #coming: Rows<Of>
  /** What was taken last: its memory is used again. */
  #taken: Rows<Of>

  constructor(widths: Of) {
    this.#coming = newRows(widths)
    this.#taken = newRows(widths)
  }

  get rows(): number {
    return this.#coming.place.row + 1
  }

  /** Of what rows have in common, the caller sets what those that come have. */
  get columns(): Columns<Of> {
    return this.#coming.columns
  }

  /** Begins a row: the caller pushes a value into each other column; of words, no value is 0. */
  next(): Columns<Of> {
    this.#coming.place.row++
    return this.#coming.columns
  }

  /** What came so far, for a fold of a chain; it is good until the next time. */
  take({ chain, start }: { readonly chain: string; readonly start: number }): WholeColumns {
    const { rows } = this
    const { columns } = this.#coming
    ;[this.#coming, this.#taken] = [this.#taken, this.#coming]
    this.#coming.place.row = -1
    for (const [name, column] of Object.entries<AnyColumn>(this.#coming.columns)) {
      if (column instanceof RunColumn) column.goOn(columns[name] as RunColumn)
      else column.clear()
    }
    const taken = Object.entries<AnyColumn>(columns).map(([name, column]) => [name, column.view()] as const)
    return { chain: textColumn(rows, chain), start: constantColumn(rows, BigInt(start)), ...Object.fromEntries(taken) }
  }
}

function newRows<Of extends Widths>(widths: Of): Rows<Of> {
  const place = { row: -1 }
  const column = (width: Widths[string]) => {
    if (typeof width === 'number') return new WordColumn(place, width)
    if (width === 'signed') return new WordColumn(place, 2, true)
    return 'run' in width ? new RunColumn(place, width.run) : new TextColumn(width)
  }
  const columns = Object.entries(widths).map(([name, width]) => [name, column(width)])
  return { columns: Object.fromEntries(columns) as Columns<Of>, place }
}
