import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { AppError } from '../../schemas/errors.ts'
import { CODED_TEXTS_MAX, CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { ColumnParts } from '../../schemas/tables/column-parts.ts'
import type { InsertColumn, InsertColumns, WholeColumn } from '../ports/warehouse.ts'

/** How many bytes a fixed-width ClickHouse type takes in Native, and how they are read. */
interface IntegerLayout {
  readonly bytes: 1 | 2 | 4 | 8 | 16 | 32
  readonly signed: boolean
}

const INTEGER_LAYOUTS: Readonly<Record<string, IntegerLayout>> = {
  Bool: { bytes: 1, signed: false },
  UInt8: { bytes: 1, signed: false },
  UInt16: { bytes: 2, signed: false },
  UInt32: { bytes: 4, signed: false },
  UInt64: { bytes: 8, signed: false },
  UInt128: { bytes: 16, signed: false },
  UInt256: { bytes: 32, signed: false },
  Int8: { bytes: 1, signed: true },
  Int16: { bytes: 2, signed: true },
  Int32: { bytes: 4, signed: true },
  Int64: { bytes: 8, signed: true },
  Int128: { bytes: 16, signed: true },
  Int256: { bytes: 32, signed: true },
  Enum8: { bytes: 1, signed: true },
  Enum16: { bytes: 2, signed: true },
  Date: { bytes: 2, signed: false }, // days since 1970-01-01
  Date32: { bytes: 4, signed: true }, // days since 1970-01-01
  DateTime: { bytes: 4, signed: false }, // Unix seconds
  DateTime64: { bytes: 8, signed: true }, // Unix ticks of the type's precision
}

/** Wider than what typed arrays have. */
const PACKED_INTEGER_BYTES_MIN = 16

const DICTIONARY_TYPE = 'LowCardinality(String)'
/** Of the column: a dictionary of its own in each block. */
const SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS = 1n
/** Of the block's dictionary, beside the width of its indexes (0: one byte, 1: two bytes). */
const HAS_ADDITIONAL_KEYS = 1n << 9n
const NEED_UPDATE_DICTIONARY = 1n << 10n
/** What indexes of two bytes reach; of more texts a dictionary saves nothing. */
const DICTIONARY_TEXTS_MAX = 2 ** 16

/** The longest varint that is written: a length below 2^35. */
const VARINT_BYTES_MAX = 5

/**
 * One block of ClickHouse's Native format, in pieces: columns, rows, then name, type and values of each column. Pieces may be memory of the
 * columns.
 *
 * `types` holds the table's type of each column. LowCardinality and Nullable are declared as the type inside, which the
 * server converts on insert. A FixedString(N) column may come as one Uint8Array of N bytes per row, one of 128 or 256 bits as its
 * bytes, little-endian; an Enum column as its names. Typed arrays of the type's own width are copied as they are (the machine is little-endian, as Native is).
 * Throws AppError `warehouse` naming the column when a value does not fit its type or the lengths differ.
 */
export function encodeNativeBlock(
  columns: InsertColumns,
  types: Readonly<Record<string, string>>,
): readonly Uint8Array[] {
  const names = Object.keys(columns)
  const rows = blockRows(columns, types)
  const parts: Uint8Array[] = [varint(names.length), varint(rows)]
  for (const name of names) {
    const column = columns[name] as InsertColumn
    const [first, ...others] = column instanceof ColumnParts ? column.parts : [column]
    const { type, data } = encode(name, types, first)
    parts.push(shortText(name), shortText(type), data, ...others.map((part) => encode(name, types, part).data))
  }
  return parts
}

interface EncodedColumn {
  readonly type: string
  readonly data: Uint8Array
}

function encode(name: string, types: Readonly<Record<string, string>>, values: WholeColumn): EncodedColumn {
  const isDictionary = types[name] === DICTIONARY_TYPE && values.length > 0
  if (values instanceof CodedTexts) {
    const numbered = numberedTexts(types[name] ?? '', values)
    if (numbered !== undefined) return numbered
    return isDictionary ? dictionary(values.texts, values.codes) : encodeColumn(name, typeOf(name, types), [...values])
  }
  return isDictionary && isStrings(values) ? encodeDictionary(values) : encodeColumn(name, typeOf(name, types), values)
}

/** Of an Enum8 whose texts have the numbers that they have here, which is what an insert of many rows brings: the codes as they are. */
function numberedTexts(type: string, { texts, codes }: CodedTexts): EncodedColumn | undefined {
  if (!type.startsWith('Enum8(')) return undefined
  const isSame = type === `Enum8(${texts.map((text, code) => `'${text}' = ${code}`).join(', ')})`
  return isSame ? { type, data: codes } : undefined
}

/** The number of rows of the columns; throws when they differ, naming the one that does. */
export function blockRows(columns: InsertColumns, types: Readonly<Record<string, string>>): number {
  let rows: number | undefined
  for (const [name, values] of Object.entries(columns)) {
    const width = packedWidth(typeOf(name, types), values)
    const length = values.length / width
    if (!Number.isInteger(length)) {
      throw new AppError('warehouse', `Column ${name}: ${values.length} bytes are no multiple of ${width}.`)
    }
    rows ??= length
    if (length !== rows)
      throw new AppError('warehouse', `Column ${name} has ${length} values, the others have ${rows}.`)
  }
  return rows ?? 0
}

/** The columns' rows `from` (inclusive) to `to` (exclusive), without copying typed arrays. */
export function sliceColumns(
  columns: InsertColumns,
  types: Readonly<Record<string, string>>,
  range: { readonly from: number; readonly to: number },
): InsertColumns {
  const sliced: Record<string, InsertColumn> = {}
  for (const [name, values] of Object.entries(columns)) {
    const width = packedWidth(typeOf(name, types), values)
    const from = range.from * width
    const to = range.to * width
    sliced[name] = ArrayBuffer.isView(values) ? values.subarray(from, to) : values.slice(from, to)
  }
  return sliced
}

function typeOf(name: string, types: Readonly<Record<string, string>>): string {
  const type = types[name]
  if (type === undefined) throw new AppError('warehouse', `The table has no column ${name}.`)
  return unwrap(type)
}

/** `LowCardinality(Nullable(String))` -> `String`. */
function unwrap(type: string): string {
  const inner = /^(?:LowCardinality|Nullable)\((.*)\)$/s.exec(type)?.[1]
  return inner === undefined ? type : unwrap(inner)
}

/** Array elements per row: more than one only for packed bytes. */
function packedWidth(type: string, values: InsertColumn): number {
  const [some] = values instanceof ColumnParts ? values.parts : [values]
  return some instanceof Uint8Array ? (packedBytes(type) ?? 1) : 1
}

/** Bytes of a row that come as they are: of FixedString, and of integers that no typed array has. */
function packedBytes(type: string): number | undefined {
  const { bytes = 0 } = INTEGER_LAYOUTS[type] ?? {}
  return bytes >= PACKED_INTEGER_BYTES_MIN ? bytes : fixedStringBytes(type)
}

function fixedStringBytes(type: string): number | undefined {
  const size = /^FixedString\((\d+)\)$/.exec(type)?.[1]
  return size === undefined ? undefined : Number(size)
}

function encodeColumn(name: string, type: string, values: Exclude<WholeColumn, CodedTexts>): EncodedColumn {
  const fixedBytes = fixedStringBytes(type)
  if (packedBytes(type) !== undefined && values instanceof Uint8Array) return { type, data: values }
  const base = type.replace(/\(.*$/s, '')
  const layout = INTEGER_LAYOUTS[base]
  if (isStrings(values)) {
    if (fixedBytes !== undefined) return { type, data: encodeFixedStrings(name, values, fixedBytes) }
    // The server turns the names of an Enum into its numbers.
    if (base === 'String' || base === 'Enum8' || base === 'Enum16') {
      return { type: 'String', data: encodeStrings(values) }
    }
    if (values.length > 0) throw new AppError('warehouse', `Column ${name} is ${type}, its values are text.`)
  }
  if (layout !== undefined) return { type, data: encodeIntegers(name, layout, values as IntegerColumn) }
  if (values.length === 0) return { type, data: new Uint8Array(0) }
  throw new AppError('warehouse', `Column ${name}: values for ${type} cannot be given as numbers.`)
}

function isStrings(values: WholeColumn): values is readonly string[] {
  return Array.isArray(values) && (values.length === 0 || typeof values[0] === 'string')
}

type IntegerColumn = Exclude<WholeColumn, readonly string[] | CodedTexts>

function encodeIntegers(name: string, layout: IntegerLayout, values: IntegerColumn): Uint8Array {
  if (ArrayBuffer.isView(values) && hasLayout(values, layout)) {
    return bytesOfView(values)
  }
  const { bytes, signed } = layout
  const bits = BigInt(bytes * 8)
  const min = signed ? -(1n << (bits - 1n)) : 0n
  const max = signed ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n
  const out = Buffer.alloc(values.length * bytes)
  for (let row = 0; row < values.length; row++) {
    const value = BigInt(values[row] as number | bigint)
    if (value < min || value > max) {
      throw new AppError('warehouse', `Column ${name}, row ${row}: ${value} is outside of ${min} … ${max}.`)
    }
    writeInteger(out, row * bytes, bytes, value)
  }
  return out
}

function hasLayout(values: Exclude<IntegerColumn, readonly bigint[]>, layout: IntegerLayout): boolean {
  const signed = values instanceof Int32Array || values instanceof BigInt64Array
  return values.BYTES_PER_ELEMENT === layout.bytes && signed === layout.signed
}

/** Two's complement, little-endian; narrow widths are the low bytes of the wide ones. */
function writeInteger(out: Buffer, offset: number, bytes: number, value: bigint): void {
  if (bytes < 8) {
    out.writeUIntLE(Number(BigInt.asUintN(bytes * 8, value)), offset, bytes)
    return
  }
  let rest = value
  for (let at = offset; at < offset + bytes; at += 8) {
    out.writeBigUInt64LE(BigInt.asUintN(64, rest), at)
    rest >>= 64n
  }
}

function encodeFixedStrings(name: string, values: readonly string[], bytes: number): Buffer {
  const out = Buffer.alloc(values.length * bytes)
  for (let row = 0; row < values.length; row++) {
    const text = values[row] as string
    if (Buffer.byteLength(text) > bytes) {
      throw new AppError('warehouse', `Column ${name}, row ${row}: the text is longer than ${bytes} bytes.`)
    }
    out.write(text, row * bytes)
  }
  return out
}

function encodeStrings(values: readonly string[]): Buffer {
  let capacity = 0
  for (const text of values) capacity += Buffer.byteLength(text) + VARINT_BYTES_MAX
  const out = Buffer.allocUnsafe(capacity)
  let end = 0
  let previous: string | undefined
  let previousStart = 0
  for (const text of values) {
    const start = end
    if (text === previous) {
      // Most text columns repeat themselves from row to row: copying the bytes is cheaper than encoding them again.
      end += out.copy(out, start, previousStart, start)
    } else {
      end = writeVarint(out, start, Buffer.byteLength(text))
      end += out.write(text, end)
      previous = text
    }
    previousStart = start
  }
  return out.subarray(0, end)
}

/** Each text once, and for each row which one it is: the engine takes it as it is, where it would look up every text itself. */
function encodeDictionary(values: readonly string[]): EncodedColumn {
  const places = new Map<string, number>()
  const indexes = new Uint16Array(values.length)
  let previous: string | undefined
  let place = 0
  for (let row = 0; row < values.length; row++) {
    const text = values[row] as string
    if (text !== previous) {
      place = places.get(text) ?? places.size
      if (place === places.size) places.set(text, place)
      if (places.size > DICTIONARY_TEXTS_MAX) return { type: 'String', data: encodeStrings(values) }
      previous = text
    }
    indexes[row] = place
  }
  const texts = [...places.keys()]
  return dictionary(texts, texts.length <= CODED_TEXTS_MAX ? Uint8Array.from(indexes) : indexes)
}

function dictionary(texts: readonly string[], indexes: Uint8Array | Uint16Array): EncodedColumn {
  const width = BigInt(indexes.BYTES_PER_ELEMENT - 1)
  const head = [
    SHARED_DICTIONARIES_WITH_ADDITIONAL_KEYS,
    HAS_ADDITIONAL_KEYS | NEED_UPDATE_DICTIONARY | width,
    BigInt(texts.length),
  ]
  const bytes = (numbers: readonly bigint[]) => new Uint8Array(BigUint64Array.from(numbers).buffer)
  return {
    type: DICTIONARY_TYPE,
    data: Buffer.concat([bytes(head), encodeStrings(texts), bytes([BigInt(indexes.length)]), bytesOfView(indexes)]),
  }
}

function shortText(text: string): Buffer {
  return encodeStrings([text])
}

function varint(value: number): Buffer {
  const out = Buffer.alloc(VARINT_BYTES_MAX)
  return out.subarray(0, writeVarint(out, 0, value))
}

/** LEB128; returns the offset behind it. */
function writeVarint(out: Buffer, offset: number, value: number): number {
  let rest = value
  let at = offset
  while (rest >= 0x80) {
    out[at++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  out[at++] = rest
  return at
}
