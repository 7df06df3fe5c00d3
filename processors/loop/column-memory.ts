/**
 * Memory of columns that live until their batch is written. Most events make a few rows of a few tables, and a memory of its own for
 * each of their columns would cost more, when it is let go, than what is in it.
 */

/** Of one piece; larger columns have memory of their own. */
const PIECE_BYTES = 1 << 18
const OWN_BYTES_MIN = 1 << 14
/** Typed arrays begin at a multiple of it, whatever they are of. */
const ALIGNMENT = 8

let piece = new ArrayBuffer(PIECE_BYTES)
let end = 0

interface ColumnCtor<Column> {
  new (length: number): Column
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Column
  readonly BYTES_PER_ELEMENT: number
}

function column<Column>(ctor: ColumnCtor<Column>, length: number): Column {
  const bytes = length * ctor.BYTES_PER_ELEMENT
  if (bytes >= OWN_BYTES_MIN) return new ctor(length)
  if (end + bytes > PIECE_BYTES) {
    // What is in the old one keeps it.
    piece = new ArrayBuffer(PIECE_BYTES)
    end = 0
  }
  const begin = end
  end += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
  return new ctor(piece, begin, length)
}

// Zeros, until they are written to.
export const bytesColumn = (length: number): Uint8Array => column<Uint8Array>(Uint8Array, length)
export const uint16Column = (rows: number): Uint16Array => column<Uint16Array>(Uint16Array, rows)
export const uint32Column = (rows: number): Uint32Array => column<Uint32Array>(Uint32Array, rows)
export const uint64Column = (rows: number): BigUint64Array => column<BigUint64Array>(BigUint64Array, rows)
