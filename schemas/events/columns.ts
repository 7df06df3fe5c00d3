import { fromPlanes, toPlanes } from '../byte-planes.ts'
import { bytesOfView } from '../bytes-of-view.ts'
import { AppError } from '../errors.ts'
import { lend } from '../memory.ts'

type NumberArray = Uint8Array | Uint32Array | Int32Array | BigInt64Array | BigUint64Array
type NumberArrayCtor<Values> = {
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Values
  readonly BYTES_PER_ELEMENT: number
}

/** Takes the next bytes. */
type Put = (piece: Uint8Array) => void

/** How a column of one type stands in the bytes of a packed event. */
interface ColumnCodec<Values> {
  /** Bytes of a row; undefined where rows differ in it. */
  readonly rowBytes: number | undefined
  rowsOf(values: Values): number
  /** Hands over the column's bytes, piece after piece: each may be overwritten behind its call. */
  pack(values: Values, put: Put): void
  unpack(from: ColumnReader, rows: number): Values
}

/** Numbers of one width, little-endian as on the platforms we run on, stored as the difference to the previous row. */
function numbers<Values extends NumberArray>(ctor: NumberArrayCtor<Values>): ColumnCodec<Values> {
  return {
    rowBytes: ctor.BYTES_PER_ELEMENT,
    rowsOf: (values) => values.length,
    pack: (values, put) => put(deltaOf(values)),
    unpack: (from, rows) => undoDelta(from.array(ctor, rows)),
  }
}

/** Numbers as they are: where most rows have one of a few values, a difference to the previous row would make two of each other value. */
function plainNumbers<Values extends NumberArray>(ctor: NumberArrayCtor<Values>): ColumnCodec<Values> {
  return {
    rowBytes: ctor.BYTES_PER_ELEMENT,
    rowsOf: (values) => values.length,
    pack: (values, put) => put(bytesOfView(values)),
    unpack: (from, rows) => from.array(ctor, rows),
  }
}

function numbersByPlanes<Values extends NumberArray>(ctor: NumberArrayCtor<Values>): ColumnCodec<Values> {
  const width = ctor.BYTES_PER_ELEMENT
  return {
    rowBytes: width,
    rowsOf: (values) => values.length,
    pack: (values, put) => put(toPlanes(bytesOfView(values), width, scratchOf(values.byteLength))),
    unpack(from, rows) {
      const packed = from.bytes(rows * width)
      const planes = scratchOf(packed.length) // where words lie as words
      planes.set(packed)
      const values = from.room(ctor, rows)
      fromPlanes(planes, width, bytesOfView(values))
      return values
    },
  }
}

/** Byte strings of one width, one after the other in one array. */
function fixedBytes(width: number): ColumnCodec<Uint8Array> {
  return {
    rowBytes: width,
    rowsOf: (values) => values.length / width,
    pack: (values, put) => put(values),
    unpack: (from, rows) => from.array(Uint8Array, rows * width),
  }
}

const lengths = numbers(Uint32Array)

/** Byte strings of any length: their lengths, then all of them one after the other. */
const variableBytes: ColumnCodec<readonly Uint8Array[]> = {
  rowBytes: undefined,
  rowsOf: (values) => values.length,
  pack(values, put) {
    lengths.pack(
      Uint32Array.from(values, (value) => value.length),
      put,
    )
    values.forEach(put)
  },
  unpack(from, rows) {
    const lengthOf = lengths.unpack(from, rows)
    const all = from.array(
      Uint8Array,
      lengthOf.reduce((sum, length) => sum + length, 0),
    )
    let end = 0
    return Array.from(lengthOf, (length) => {
      end += length
      return all.subarray(end - length, end)
    })
  },
}

/** The highest number of 32 bits. */
const WORD_MAX = 0xffff_ffff
const UINT256_WORDS = 4
const WORD_BITS = 64n
const UINT256_END = 1n << 256n

/** Unsigned integers of 256 bits as four columns of 64, the lowest first: amounts leave the upper ones zero. */
const uint256: ColumnCodec<readonly bigint[]> = {
  rowBytes: UINT256_WORDS * BigUint64Array.BYTES_PER_ELEMENT,
  rowsOf: (values) => values.length,
  pack(values, put) {
    for (const value of values) {
      if (value < 0n || value >= UINT256_END) throw new RangeError(`${value} is no unsigned integer of 256 bits`)
    }
    for (let word = 0; word < UINT256_WORDS; word++) {
      const shift = BigInt(word) * WORD_BITS
      // The array takes the lowest 64 bits of what is put into it.
      put(bytesOfView(BigUint64Array.from(values, (value) => value >> shift)))
    }
  },
  unpack(from, rows) {
    const words = Array.from({ length: UINT256_WORDS }, () => from.array(BigUint64Array, rows))
    return Array.from({ length: rows }, (_, row) =>
      words.reduceRight((value, word) => (value << WORD_BITS) | (word[row] ?? 0n), 0n),
    )
  },
}

const COLUMN_CODECS = {
  u8: numbers<Uint8Array>(Uint8Array),
  u32: numbers<Uint32Array>(Uint32Array),
  i32: numbers<Int32Array>(Int32Array),
  i64: numbers<BigInt64Array>(BigInt64Array),
  u64: numbers<BigUint64Array>(BigUint64Array),
  'u32 plain': plainNumbers<Uint32Array>(Uint32Array),
  'i64 plain': plainNumbers<BigInt64Array>(BigInt64Array),
  'i64 planes': numbersByPlanes<BigInt64Array>(BigInt64Array),
  u256: uint256,
  bytes20: fixedBytes(20),
  bytes32: fixedBytes(32),
  bytes: variableBytes,
} as const

export type ColumnType = keyof typeof COLUMN_CODECS
export type Layout = Readonly<Record<string, ColumnType>>

/** Columns of one length. Those of fixed-width bytes are one array in which each row has that many bytes. */
export type ColumnsOf<L extends Layout> = {
  readonly [Name in keyof L]: ReturnType<(typeof COLUMN_CODECS)[L[Name]]['unpack']>
}

/**
 * Hands over the bytes of the columns in the order of the layout, piece after piece, each of which may be overwritten behind its call. Gives the
 * number of rows; throws when lengths differ.
 */
export function packColumns<L extends Layout>(layout: L, columns: ColumnsOf<L>, put: Put): number {
  let rows: number | undefined
  for (const name of Object.keys(layout) as (keyof L & string)[]) {
    const codec: ColumnCodec<unknown> = COLUMN_CODECS[layout[name] as ColumnType]
    const found = codec.rowsOf(columns[name])
    rows ??= found
    if (found !== rows) throw new RangeError(`column ${name} has ${found} rows, expected ${rows}`)
    codec.pack(columns[name], put)
  }
  return rows ?? 0
}

/** How many bytes so many rows are packed to; undefined where that differs. */
export function packedBytes(layout: Layout, rows: number): number | undefined {
  let bytes = 0
  for (const type of Object.values(layout)) {
    const { rowBytes } = COLUMN_CODECS[type]
    if (rowBytes === undefined) return undefined
    bytes += rowBytes * rows
  }
  return bytes
}

/** The columns that `packColumns` made bytes of; throws AppError `undecodable` when the bytes are not exactly theirs. */
export function unpackColumns<L extends Layout>(layout: L, rows: number, bytes: Uint8Array): ColumnsOf<L> {
  const columns: Record<string, unknown> = {}
  const names = Object.keys(layout)
  const reader = new ColumnReader(bytes, names.length)
  for (const name of names) {
    const codec: ColumnCodec<unknown> = COLUMN_CODECS[layout[name] as ColumnType]
    reader.column = name
    columns[name] = codec.unpack(reader, rows)
  }
  reader.end()
  return columns as ColumnsOf<L>
}

/** The bytes of one row of a column of fixed-width bytes. */
export function bytesOfRow(column: Uint8Array, row: number, width: number): Uint8Array {
  return column.subarray(row * width, (row + 1) * width)
}

/** Typed arrays begin at a multiple of it, whatever they are of. */
const ALIGNMENT = 8
/** A column of 256 bits is as many arrays as it has words, one of byte strings two. */
const ARRAYS_PER_COLUMN_MAX = UINT256_WORDS

class ColumnReader {
  readonly #bytes: Uint8Array
  #at = 0
  /** Memory of all columns: thousands of small events come together, and each memory of its own is work when it is let go. */
  readonly #memory: Uint8Array
  #end = 0
  /** The column that is being read. */
  column = ''

  constructor(bytes: Uint8Array, columns: number) {
    this.#bytes = bytes
    this.#memory = lend(Uint8Array, bytes.length + ALIGNMENT * ARRAYS_PER_COLUMN_MAX * columns)
  }

  /** The next bytes as a typed array, free of those that they come from. */
  array<Values extends NumberArray>(ctor: NumberArrayCtor<Values>, length: number): Values {
    const bytes = this.bytes(length * ctor.BYTES_PER_ELEMENT)
    const values = this.room(ctor, length)
    bytesOfView(values).set(bytes)
    return values
  }

  /** The next bytes, where they are. */
  bytes(length: number): Uint8Array {
    const from = this.#at
    const to = from + length
    if (to > this.#bytes.length) throw new AppError('undecodable', `packed event is short of column ${this.column}`)
    this.#at = to
    return this.#bytes.subarray(from, to)
  }

  /** Memory for the column's values, whatever it holds. */
  room<Values>(ctor: NumberArrayCtor<Values>, length: number): Values {
    const begin = this.#end
    this.#end = begin + Math.ceil((length * ctor.BYTES_PER_ELEMENT) / ALIGNMENT) * ALIGNMENT
    return new ctor(this.#memory.buffer as ArrayBuffer, begin, length)
  }

  end(): void {
    if (this.#at !== this.#bytes.length) {
      throw new AppError('undecodable', 'packed event has more bytes than its columns')
    }
  }
}

/** What a column is packed in, until the next one is: let go each time, it would be as much memory again as the columns. */
let scratch = new ArrayBuffer(0)

function scratchOf(bytes: number): Uint8Array {
  if (bytes > scratch.byteLength) scratch = new ArrayBuffer(Math.max(bytes, 2 * scratch.byteLength))
  return new Uint8Array(scratch, 0, bytes)
}

/** In the scratch. Differences wrap at the column's width, as do the sums that undo them. */
function deltaOf(column: NumberArray): Uint8Array {
  const delta = scratchOf(column.byteLength)
  delta.set(bytesOfView(column))
  switch (column.BYTES_PER_ELEMENT) {
    case 1:
      deltaOfBytes(delta)
      break
    case 4:
      deltaOfWords(wordsOf(delta))
      break
    default:
      deltaOfWide(wordsOf(delta))
  }
  return delta
}

function undoDelta<Values extends NumberArray>(column: Values): Values {
  switch (column.BYTES_PER_ELEMENT) {
    case 1:
      undoDeltaOfBytes(bytesOfView(column))
      break
    case 4:
      undoDeltaOfWords(wordsOf(column))
      break
    default:
      undoDeltaOfWide(wordsOf(column))
  }
  return column
}

function wordsOf({ buffer, byteOffset, byteLength }: NumberArray): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT)
}

// A loop for each width: one that meets arrays of several kinds is compiled to ask at each number which of them it has.

function deltaOfBytes(bytes: Uint8Array): void {
  for (let i = bytes.length - 1; i > 0; i--) bytes[i] = (bytes[i] as number) - (bytes[i - 1] as number)
}

function undoDeltaOfBytes(bytes: Uint8Array): void {
  for (let i = 1; i < bytes.length; i++) bytes[i] = (bytes[i] as number) + (bytes[i - 1] as number)
}

function deltaOfWords(words: Uint32Array): void {
  for (let i = words.length - 1; i > 0; i--) words[i] = (words[i] as number) - (words[i - 1] as number)
}

function undoDeltaOfWords(words: Uint32Array): void {
  for (let i = 1; i < words.length; i++) words[i] = (words[i] as number) + (words[i - 1] as number)
}

// Numbers of 64 bits are calculated with in halves, the lower one first: a bigint for each would cost more than all the rest.

function deltaOfWide(words: Uint32Array): void {
  for (let i = words.length - 2; i > 0; i -= 2) {
    const low = (words[i] as number) - (words[i - 2] as number)
    words[i] = low
    words[i + 1] = (words[i + 1] as number) - (words[i - 1] as number) - (low < 0 ? 1 : 0)
  }
}

function undoDeltaOfWide(words: Uint32Array): void {
  for (let i = 2; i < words.length; i += 2) {
    const low = (words[i] as number) + (words[i - 2] as number)
    words[i] = low
    words[i + 1] = (words[i + 1] as number) + (words[i - 1] as number) + (low > WORD_MAX ? 1 : 0)
  }
}
