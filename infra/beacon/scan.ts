import { AppError } from '../../schemas/errors.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import { type AnswerFlags, FINALIZED_KEY, OPTIMISTIC_KEY } from './answer-flags.ts'
import {
  allocate,
  type ColumnArrays,
  type ColumnSlot,
  halvesOf,
  KIND_BOOL,
  KIND_ETH,
  KIND_I64,
  KIND_U32,
  KIND_U64,
  KINDS,
  orderOf,
  pick,
} from './columns.ts'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, JsonReader, OPEN_ARRAY, OPEN_OBJECT, QUOTE, TWO_32 } from './json-reader.ts'
import { type ReadValue, RowLayout } from './row-layout.ts'

/**
 * Bodies with a row per validator are scanned byte by byte into typed arrays, while they arrive: no object and no string per
 * validator, and never the whole of a body. The scanner takes keys in any order, whitespace, unknown keys, and numbers quoted or
 * not; it refuses everything that is cut off, of another shape, or out of its column's range.
 */

/** Where a column comes from: a key of the row, or of an object that the row has under `in`. All must be there. */
export interface Field {
  readonly key: string
  readonly in?: string
  readonly type: keyof ColumnArrays
  readonly texts?: readonly string[]
}

/** The fields of a row by the names of their columns; `validatorIndex` tells rows apart. */
export type FieldTable = Readonly<Record<string, Field>> & { readonly validatorIndex: Field & { readonly type: 'u32' } }

export interface TableShape<Fields extends FieldTable> {
  /** Keys that lead from the document to the array of rows. */
  readonly path: readonly string[]
  readonly fields: Fields
}

/** What a scan gives: an array for every field of the table. */
export type ScannedColumns<Fields extends FieldTable> = {
  readonly [Name in keyof Fields]: ColumnArrays[Fields[Name]['type']]
}

const FIELDS_MAX = 30
const INDEX = 'validatorIndex'
const CAPACITY_MIN = 64
/** An integer whose upper half is below this is exact in a double. */
const EXACT_HI = 2 ** 21
const NO_COLUMN = -1
/** A row is read when so many bytes are there, or the end: no row of a node is longer, so that it is not read in vain. */
const ROW_BYTES_USUAL = 4_096
const HELD_BYTES_MIN = 128 * 1024

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** A key of an object as it is looked for in the bytes. */
interface CompiledKey {
  readonly text: string
  readonly bytes: Uint8Array
  readonly column: number
  readonly nested: CompiledObject | undefined
  readonly texts: readonly Uint8Array[]
}

interface CompiledObject {
  readonly keys: readonly CompiledKey[]
  /** Bit per key; all must have been seen. */
  readonly complete: number
}

/**
 * Collects the rows of one or more bodies, each handed over in pieces of any size. `push` and `end` throw AppError
 * `node_malformed`; the table is then no longer usable.
 */
export class TableScanner<Fields extends FieldTable> {
  readonly #path: readonly string[]
  readonly #row: CompiledObject
  readonly #slots: ColumnSlot[] = []
  readonly #indexSlot: ColumnSlot
  readonly #wanted: Uint8Array | undefined
  #capacity: number
  #rows = 0
  /** How the row lay that was read key by key last. */
  #layout: RowLayout | undefined
  readonly #values: ReadValue[] = []
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
    this.#capacity = Math.max(CAPACITY_MIN, options.rowsHint ?? 0)
    this.#row = this.#compile(Object.entries(shape.fields))
    this.#wanted = options.wanted
    const indexSlot = this.#slots.find((slot) => slot.name === INDEX)
    if (indexSlot === undefined) throw new Error(`no column ${INDEX}`)
    this.#indexSlot = indexSlot
  }

  #compile(fields: readonly (readonly [string, Field])[]): CompiledObject {
    const own = fields.filter(([, field]) => field.in === undefined)
    const keys = own.map(([name, { key, type, texts = [] }]): CompiledKey => {
      const kind = KINDS[type]
      const array = allocate(kind, this.#capacity)
      this.#slots.push({ name, kind, array, halves: halvesOf(array) })
      const column = this.#slots.length - 1
      return { text: key, bytes: latin1(key), column, nested: undefined, texts: texts.map(latin1) }
    })
    for (const text of new Set(fields.flatMap(([, field]) => field.in ?? []))) {
      const inner = fields.filter(([, field]) => field.in === text)
      const nested = this.#compile(inner.map(([name, { in: _, ...field }]) => [name, field]))
      keys.push({ text, bytes: latin1(text), column: NO_COLUMN, nested, texts: [] })
    }
    if (keys.length > FIELDS_MAX) throw new Error(`a row has at most ${FIELDS_MAX} keys`)
    return { keys, complete: 2 ** keys.length - 1 }
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
    return this.#finish((index) => {
      throw new AppError('node_malformed', `the answer has two rows for validator ${index}`, { retryable: true })
    })
  }

  /** As `sorted`, but several rows of one index are kept, beside each other. */
  sortedWithRepeats(): ScannedColumns<Fields> {
    return this.#finish(() => undefined)
  }

  #finish(onRepeat: (index: number) => void): ScannedColumns<Fields> {
    const rows = this.#rows
    const index = this.#indexSlot.array as Uint32Array
    let ascending = true
    for (let i = 1; i < rows; i++) {
      if ((index[i] as number) < (index[i - 1] as number)) {
        ascending = false
        break
      }
    }
    const order = ascending ? undefined : orderOf(index, rows)
    const columns = Object.fromEntries(
      this.#slots.map((slot) => [slot.name, order === undefined ? slot.array.subarray(0, rows) : pick(slot, order)]),
    )
    const sorted = columns[INDEX] as Uint32Array
    for (let i = 1; i < rows; i++) if (sorted[i] === sorted[i - 1]) onRepeat(sorted[i] as number)
    return columns as ScannedColumns<Fields> // the slots were made from the same fields
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
    while (isEnd || this.#heldBytes - this.#json.at >= ROW_BYTES_USUAL) {
      this.#start = this.#json.at
      if (this.#rows === this.#capacity) this.#grow()
      this.#takeRow()
      const isLast = !this.#json.another(CLOSE_ARRAY)
      if (this.#wanted === undefined || this.#wanted[this.#indexSlot.array[this.#rows] as number] === 1) this.#rows++
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

  #takeRow(): void {
    this.#json.space()
    if (this.#layout?.read(this.#json, this.#rows) === true) return
    const start = this.#json.at
    this.#values.length = 0
    this.#object(this.#row)
    this.#layout = new RowLayout(this.#json.bytes, { start, end: this.#json.at }, this.#values)
  }

  #object(shape: CompiledObject): void {
    this.#json.expect(OPEN_OBJECT)
    this.#json.space()
    let seen = 0
    let expected = 0 // nodes write the keys of all rows in one order, so the next one is tried first
    if (this.#json.bytes[this.#json.at] === CLOSE_OBJECT) this.#json.fail('a row is empty')
    do {
      const found = this.#findKey(shape, expected)
      this.#json.expect(COLON)
      this.#json.space()
      const start = this.#json.at
      if (found === -1) {
        this.#json.skipValue(0)
        this.#values.push({ start, end: this.#json.at })
        continue
      }
      const bit = 1 << found
      if ((seen & bit) !== 0) this.#json.fail(`a row has ${shape.keys[found]?.text} twice`)
      seen |= bit
      expected = found + 1
      const key = shape.keys[found] as CompiledKey
      if (key.nested !== undefined) {
        this.#object(key.nested)
        continue
      }
      const slot = this.#slots[key.column] as ColumnSlot
      this.#value(key, slot)
      this.#values.push({ start, end: this.#json.at, slot, texts: key.texts })
    } while (this.#json.another(CLOSE_OBJECT))
    if (seen !== shape.complete) {
      this.#json.fail(`a row has no ${shape.keys.find((_, i) => (seen & (1 << i)) === 0)?.text}`)
    }
  }

  /** Position of the key that stands here, -1 for one that nobody asked for. */
  #findKey(shape: CompiledObject, expected: number): number {
    this.#json.space()
    const bytes = this.#json.bytes
    if (bytes[this.#json.at] !== QUOTE) this.#json.fail('a key is missing')
    const start = this.#json.at + 1
    const guess = shape.keys[expected]
    if (guess !== undefined && this.#json.isTextAt(start, guess.bytes)) {
      this.#json.at = start + guess.bytes.length + 1
      return expected
    }
    for (let i = 0; i < shape.keys.length; i++) {
      const key = (shape.keys[i] as CompiledKey).bytes
      if (this.#json.isTextAt(start, key)) {
        this.#json.at = start + key.length + 1
        return i
      }
    }
    if (!this.#json.skipString()) return -1
    this.#json.at = start - 1
    const text = this.#json.keyText() // may be one of ours, written with escapes
    return shape.keys.findIndex((key) => key.text === text)
  }

  #value(key: CompiledKey, slot: ColumnSlot): void {
    const row = this.#rows
    switch (slot.kind) {
      case KIND_U32:
        this.#json.integer(false)
        if (this.#json.hi !== 0) this.#json.fail(`${key.text} is too large`)
        slot.array[row] = this.#json.lo
        return
      case KIND_U64:
        this.#json.integer(false)
        slot.halves[2 * row] = this.#json.lo
        slot.halves[2 * row + 1] = this.#json.hi
        return
      case KIND_I64:
        this.#json.integer(true)
        slot.halves[2 * row] = this.#json.lo
        slot.halves[2 * row + 1] = this.#json.hi
        return
      case KIND_ETH: {
        this.#json.integer(false)
        const eth = (this.#json.hi * TWO_32 + this.#json.lo) / GWEI_PER_ETH
        if (!Number.isInteger(eth) || this.#json.hi >= EXACT_HI)
          this.#json.fail(`${key.text} is not whole units of 1e9 gwei`)
        slot.array[row] = eth
        return
      }
      case KIND_BOOL:
        slot.array[row] = this.#json.boolean() ? 1 : 0
        return
      default:
        slot.array[row] = this.#oneOf(key)
    }
  }

  #oneOf(key: CompiledKey): number {
    if (this.#json.bytes[this.#json.at] !== QUOTE) this.#json.fail(`${key.text} is not text`)
    const start = this.#json.at + 1
    for (let i = 0; i < key.texts.length; i++) {
      const text = key.texts[i] as Uint8Array
      if (this.#json.isTextAt(start, text)) {
        this.#json.at = start + text.length + 1
        return i
      }
    }
    return this.#json.fail(`${key.text} has an unknown value`)
  }

  #grow(): void {
    this.#capacity *= 2
    for (const slot of this.#slots) {
      const larger = allocate(slot.kind, this.#capacity)
      ;(larger as Uint8Array).set(slot.array as Uint8Array)
      slot.array = larger
      slot.halves = halvesOf(larger)
    }
  }
}
