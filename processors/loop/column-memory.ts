import { type ColumnCtor, keepShared, LENT_BYTES_MIN, lendZeros } from '../../schemas/memory.ts'

/**
 * Memory of columns that live until their batch is written. Most events make a few rows of a few tables, and a memory of its own for
 * each of their columns would cost more, when it is let go, than what is in it.
 */

/** Of one piece; larger columns have memory of their own, which is lent. */
const PIECE_BYTES = 1 << 18
/** Typed arrays begin at a multiple of it, whatever they are of. */
const ALIGNMENT = 8

let piece = newPiece()
let end = 0

function newPiece(): ArrayBuffer {
  const memory = new ArrayBuffer(PIECE_BYTES)
  keepShared(memory)
  return memory
}

function column<Column extends ArrayBufferView>(ctor: ColumnCtor<Column>, length: number): Column {
  const bytes = length * ctor.BYTES_PER_ELEMENT
  if (bytes >= LENT_BYTES_MIN) return lendZeros(ctor, length)
  if (end + bytes > PIECE_BYTES) {
    // What is in the old one keeps it.
    piece = newPiece()
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
