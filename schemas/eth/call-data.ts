import { type Hex, hexOf } from './hex.ts'

// viem encodes any ABI, and goes digit by digit: a hundred deposits take it longer than their signatures take. Calls that carry
// deposits have four kinds of arguments, and their bytes only have to be copied.

const WORD_BYTES = 32

/** An argument of a call, as the ABI encodes its type: a word, or what stands behind the words and is pointed to. */
export interface Argument {
  readonly isDynamic: boolean
  readonly encoded: Uint8Array
}

/** `bytes32`; the word has 32 bytes. */
export function bytes32(word: Uint8Array): Argument {
  return { isDynamic: false, encoded: word }
}

/** `bytes`: all parts, with nothing between them. */
export function packedBytes(parts: readonly Uint8Array[]): Argument {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const padding = new Uint8Array(-length & (WORD_BYTES - 1))
  return { isDynamic: true, encoded: concatenated([wordOf(length), ...parts, padding]) }
}

/** `bytes[]`. */
export function bytesArray(items: readonly Uint8Array[]): Argument {
  return arrayOf(items.map((item) => packedBytes([item])))
}

/** `bytes32[]`; each word has 32 bytes. */
export function bytes32Array(words: readonly Uint8Array[]): Argument {
  return arrayOf(words.map(bytes32))
}

/** Call data: the function's selector (4 bytes, hex), and its arguments. */
export function encodeCall(selector: Hex, args: readonly Argument[]): Hex {
  return `${selector}${hexOf(tuple(args)).slice(2)}`
}

function arrayOf(items: readonly Argument[]): Argument {
  return { isDynamic: true, encoded: concatenated([wordOf(items.length), tuple(items)]) }
}

/** Words in their places; of what is dynamic there is the offset, from the tuple's beginning, and it follows behind them all. */
function tuple(args: readonly Argument[]): Uint8Array {
  const tails = args.filter(({ isDynamic }) => isDynamic)
  let offset = args.length * WORD_BYTES
  const heads = args.map(({ isDynamic, encoded }) => {
    if (!isDynamic) return encoded
    const head = wordOf(offset)
    offset += encoded.length
    return head
  })
  return concatenated([...heads, ...tails.map(({ encoded }) => encoded)])
}

/** Lengths and offsets: far below 2^32, so that all but the last four bytes are zero. */
function wordOf(value: number): Uint8Array {
  const word = new Uint8Array(WORD_BYTES)
  new DataView(word.buffer).setUint32(WORD_BYTES - 4, value)
  return word
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts)
}
