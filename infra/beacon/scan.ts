import { AppError } from '../../schemas/errors.ts'
import { type AnswerFlags, FINALIZED_KEY, OPTIMISTIC_KEY } from './answer-flags.ts'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, JsonReader, OPEN_ARRAY, OPEN_OBJECT } from './json-reader.ts'
import { RowReader } from './row-reader.ts'
import { type FieldTable, type ScannedColumns, TableColumns } from './table-columns.ts'

/**
 * Bodies with a row per validator are scanned byte by byte into typed arrays, while they arrive: no object and no string per
 * validator, and never the whole of a body. The scanner takes keys in any order, whitespace, unknown keys, and numbers quoted or
 * not; it refuses everything that is cut off, of another shape, or out of its column's range.
 */

export interface TableShape<Fields extends FieldTable> {
  /** Keys that lead from the document to the array of rows. */
  readonly path: readonly string[]
  readonly fields: Fields
}

/** A row is read when so many bytes are there, or the end: no row of a node is longer, so that it is not read in vain. */
const ROW_BYTES_USUAL = 4_096
const HELD_BYTES_MIN = 128 * 1024

/**
 * Collects the rows of one or more bodies, each handed over in pieces of any size. `push` and `end` throw AppError
 * `node_malformed`; the table is then no longer usable.
 */
export class TableScanner<Fields extends FieldTable> {
  readonly #path: readonly string[]
  readonly #columns: TableColumns<Fields>
  readonly #rows: RowReader
  readonly #wanted: Uint8Array | undefined
  /** What the body being read says of itself. */
  #finalized: boolean | undefined
  #executionOptimistic: boolean | undefined
  /** Which part of the body comes next. */
  #part: 'head' | 'first row' | 'row' | 'tail' = 'head'
  /** What has come and is not read yet. */
  #held = new Uint8Array(HELD_BYTES_MIN)
  #heldBytes = 0
  /** Bytes of the body that are read. */
  #passed = 0
  /** What failed for want of bytes is tried again when so many are held. */
  #enough = 0
  #json = new JsonReader(new Uint8Array(0))
  /** Where what is being read begins. */
  #start = 0

  /** `wanted` holds a 1 at each index whose row is kept; without it all are kept. */
  constructor(
    shape: TableShape<Fields>,
    options: { readonly rowsHint?: number; readonly wanted?: Uint8Array | undefined } = {},
  ) {
    this.#path = shape.path
    this.#columns = new TableColumns(shape.fields, options.rowsHint)
    this.#rows = new RowReader(shape.fields, (name) => this.#columns.slot(name))
    this.#wanted = options.wanted
  }

  /** Takes the next piece of a body, which is not kept. */
  push(piece: Uint8Array): void {
    this.#hold(piece)
    if (this.#heldBytes >= this.#enough) this.#read(false)
  }

  /** Ends a body: it must have been one whole JSON document. What it says of itself. */
  end(): AnswerFlags {
    this.#read(true)
    const flags = { finalized: this.#finalized, executionOptimistic: this.#executionOptimistic }
    this.#finalized = undefined
    this.#executionOptimistic = undefined
    this.#part = 'head'
    this.#heldBytes = 0
    this.#passed = 0
    this.#enough = 0
    return flags
  }

  /** The columns by name, rows by ascending index; two rows of one index are malformed. */
  sorted(): ScannedColumns<Fields> {
    return this.#columns.sorted()
  }

  /** As `sorted`, but several rows of one index are kept, beside each other. */
  sortedWithRepeats(): ScannedColumns<Fields> {
    return this.#columns.sortedWithRepeats()
  }

  #hold(piece: Uint8Array): void {
    const bytes = this.#heldBytes + piece.length
    if (bytes > this.#held.length) {
      const larger = new Uint8Array(2 * bytes)
      larger.set(this.#held.subarray(0, this.#heldBytes))
      this.#held = larger
    }
    this.#held.set(piece, this.#heldBytes)
    this.#heldBytes = bytes
  }

  /** Reads what can be read of what is held; all of it at the end. */
  #read(isEnd: boolean): void {
    this.#json = new JsonReader(this.#held.subarray(0, this.#heldBytes), this.#passed)
    this.#start = 0
    try {
      if (this.#part === 'head') this.#readHead()
      if (this.#part === 'first row') this.#readFirst(isEnd)
      if (this.#part === 'row') this.#readRows(isEnd)
      if (isEnd) this.#readTail()
      this.#enough = 0
    } catch (error) {
      if (isEnd || !(error instanceof AppError)) throw error
      // It may be that the rest has only not come yet. Twice as much: what fails again and again is read a few times in all.
      this.#json.at = this.#start
      this.#enough = 2 * (this.#heldBytes - this.#start)
    }
    const { at } = this.#json
    this.#held.copyWithin(0, at, this.#heldBytes)
    this.#heldBytes -= at
    this.#passed += at
  }

  /** Everything before the rows. */
  #readHead(): void {
    this.#path.forEach((wanted, depth) => {
      this.#json.expect(OPEN_OBJECT)
      this.#json.space()
      if (this.#json.bytes[this.#json.at] === CLOSE_OBJECT) this.#json.fail(`no ${wanted}`)
      for (;;) {
        const key = this.#json.keyText()
        this.#json.expect(COLON)
        this.#json.space()
        if (key === wanted) break
        this.#passMember(key, depth)
        if (!this.#json.another(CLOSE_OBJECT)) this.#json.fail(`no ${wanted}`)
      }
    })
    this.#json.expect(OPEN_ARRAY)
    this.#part = 'first row'
  }

  #readFirst(isEnd: boolean): void {
    this.#start = this.#json.at
    this.#json.space()
    if (!isEnd && this.#json.at === this.#heldBytes) return
    const isEmpty = this.#json.bytes[this.#json.at] === CLOSE_ARRAY
    if (isEmpty) this.#json.at++
    this.#part = isEmpty ? 'tail' : 'row'
  }

  #readRows(isEnd: boolean): void {
    const columns = this.#columns
    const wanted = this.#wanted
    while (isEnd || this.#heldBytes - this.#json.at >= ROW_BYTES_USUAL) {
      this.#start = this.#json.at
      columns.makeRoom()
      this.#rows.read(this.#json, columns.rows)
      const isLast = !this.#json.another(CLOSE_ARRAY)
      if (wanted === undefined || wanted[columns.newestIndex] === 1) columns.rows++
      if (!isLast) continue
      this.#part = 'tail'
      return
    }
  }

  /** What follows the rows: the other members of the objects that they lie in. */
  #readTail(): void {
    for (const [depth, wanted] of [...this.#path.entries()].reverse()) {
      while (this.#json.another(CLOSE_OBJECT)) {
        const key = this.#json.keyText()
        if (key === wanted) this.#json.fail(`${wanted} is there twice`)
        this.#json.expect(COLON)
        this.#json.space()
        this.#passMember(key, depth)
      }
    }
    this.#json.space()
    if (this.#json.at !== this.#heldBytes) this.#json.fail('something follows the document')
  }

  /** The value of a member beside those that lead to the rows: passed over, but for what the document says of itself. */
  #passMember(key: string, depth: number): void {
    if (depth === 0 && key === FINALIZED_KEY) this.#finalized = this.#json.boolean()
    else if (depth === 0 && key === OPTIMISTIC_KEY) this.#executionOptimistic = this.#json.boolean()
    else this.#json.skipValue(0)
  }
}
