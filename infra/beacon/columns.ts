import { AppError } from '../../schemas/errors.ts'

/** The array that a field of a type is stored in. */
export interface ColumnArrays {
  readonly u32: Uint32Array<ArrayBuffer>
  readonly u64: BigUint64Array<ArrayBuffer>
  readonly i64: BigInt64Array<ArrayBuffer>
  /** Gwei that must be whole units of 1e9, stored as that number. */
  readonly 'eth-u32': Uint32Array<ArrayBuffer>
  readonly 'bool-u8': Uint8Array<ArrayBuffer>
  /** Text of a fixed list, stored as its position. */
  readonly 'one-of-u8': Uint8Array<ArrayBuffer>
}

export type ScannedColumn = ColumnArrays[keyof ColumnArrays]

/** Rows that can be sorted at once: their number and the index share the 53 bits of a double. */
const SORT_ROWS_MAX = 2 ** 24
const SORT_INDEX_MAX = 2 ** 29

/** Kinds of values as numbers: a scan decides by them for every value of every row. */
export const KIND_U32 = 0
export const KIND_U64 = 1
export const KIND_I64 = 2
export const KIND_ETH = 3
export const KIND_BOOL = 4
export const KIND_ONE_OF = 5
/** Values that nobody asked for. */
export const KIND_SKIPPED = 6
export const KIND_SKIPPED_TEXT = 7

/** A column while rows are added to it. */
export interface ColumnSlot {
  readonly name: string
  readonly kind: number
  array: ScannedColumn
  /** The 64-bit columns are written as two halves: a bigint per value would cost more than the rest of the scan. */
  halves: Uint32Array
}

export const KINDS: Readonly<Record<keyof ColumnArrays, number>> = {
  u32: KIND_U32,
  u64: KIND_U64,
  i64: KIND_I64,
  'eth-u32': KIND_ETH,
  'bool-u8': KIND_BOOL,
  'one-of-u8': KIND_ONE_OF,
}

export function allocate(kind: number, rows: number): ScannedColumn {
  if (kind === KIND_U64) return new BigUint64Array(rows)
  if (kind === KIND_I64) return new BigInt64Array(rows)
  if (kind === KIND_BOOL || kind === KIND_ONE_OF) return new Uint8Array(rows)
  return new Uint32Array(rows)
}

const NO_HALVES = new Uint32Array(0)

export function halvesOf(array: ScannedColumn): Uint32Array {
  const wide = array instanceof BigInt64Array || array instanceof BigUint64Array
  return wide ? new Uint32Array(array.buffer, array.byteOffset, array.length * 2) : NO_HALVES
}

/** Positions of the rows by ascending index; stable, so repeats keep their order. */
export function orderOf(index: Uint32Array, rows: number): Uint32Array {
  const keys = new Float64Array(rows)
  for (let i = 0; i < rows; i++) {
    const value = index[i] as number
    if (rows > SORT_ROWS_MAX || value >= SORT_INDEX_MAX) {
      throw new AppError('node_malformed', 'the answer has more rows than any registry')
    }
    keys[i] = value * SORT_ROWS_MAX + i
  }
  keys.sort()
  return Uint32Array.from(keys, (key) => key % SORT_ROWS_MAX)
}

export function pick(slot: ColumnSlot, order: Uint32Array): ScannedColumn {
  const picked = allocate(slot.kind, order.length)
  for (let i = 0; i < order.length; i++) picked[i] = slot.array[order[i] as number] as never
  return picked
}
