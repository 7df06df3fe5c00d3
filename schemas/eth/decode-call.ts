import type { Hex } from './hex.ts'
import { bytesOf } from './hex.ts'
import { numberAt, WORD_BYTES, wordAt } from './words.ts'

// Reads what call-data.ts writes. It takes what the ABI lets pass, such as offsets that overlap: who wants one form alone writes again
// what was read, and compares.

const SELECTOR_BYTES = 4

/** Reads the arguments of a call by their positions; every method gives undefined where the data does not have it. */
export interface CallReader {
  readonly selector: Hex
  bytes32(position: number): Uint8Array | undefined
  bytes(position: number): Uint8Array | undefined
  bytesArray(position: number): readonly Uint8Array[] | undefined
  bytes32Array(position: number): readonly Uint8Array[] | undefined
}

/** `itemsMax`: an array of more has no reading. */
export function readCall(data: Hex, itemsMax: number): CallReader {
  const args = bytesOf(data).subarray(SELECTOR_BYTES)
  return {
    selector: data.slice(0, 2 + 2 * SELECTOR_BYTES) as Hex,
    bytes32: (position) => bytes32At(args, position),
    bytes: (position) => bytesAt(args, position),
    bytesArray: (position) => items(args, { position, itemsMax, read: bytesAt }),
    bytes32Array: (position) => items(args, { position, itemsMax, read: bytes32At }),
  }
}

type Read = (tuple: Uint8Array, position: number) => Uint8Array | undefined

function items(
  tuple: Uint8Array,
  { position, itemsMax, read }: { readonly position: number; readonly itemsMax: number; readonly read: Read },
): readonly Uint8Array[] | undefined {
  const array = pointedAt(tuple, position)
  const count = array === undefined ? undefined : numberAt(array, 0)
  if (array === undefined || count === undefined || count > itemsMax) return undefined
  const inner = array.subarray(WORD_BYTES)
  const found = Array.from({ length: count }, (_, i) => read(inner, i)).filter((item) => item !== undefined)
  return found.length === count ? found : undefined
}

function bytes32At(tuple: Uint8Array, position: number): Uint8Array | undefined {
  return wordAt(tuple, position * WORD_BYTES)
}

function bytesAt(tuple: Uint8Array, position: number): Uint8Array | undefined {
  const found = pointedAt(tuple, position)
  const length = found === undefined ? undefined : numberAt(found, 0)
  if (found === undefined || length === undefined || WORD_BYTES + length > found.length) return undefined
  return found.subarray(WORD_BYTES, WORD_BYTES + length)
}

/** What stands at the offset that the word of a position holds. */
function pointedAt(tuple: Uint8Array, position: number): Uint8Array | undefined {
  const offset = numberAt(tuple, position * WORD_BYTES)
  return offset === undefined || offset >= tuple.length ? undefined : tuple.subarray(offset)
}
