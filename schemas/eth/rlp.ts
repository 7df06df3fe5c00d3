import type { RlpItem } from './trie.ts'

/** First bytes of the five forms of an item (yellow paper, appendix B). */
const SHORT_STRING = 0x80
const LONG_STRING = 0xb8
const SHORT_LIST = 0xc0
const LONG_LIST = 0xf8
/** Up to so many bytes an item's length is in its first byte. */
const SHORT_BYTES_MAX = 55
/** Lists within lists: what transactions have is four deep. */
const DEPTH_MAX = 8

interface Read {
  readonly item: RlpItem
  /** Where the next item begins. */
  readonly end: number
}

/**
 * The one item that the bytes are; undefined where they are none, or not written in the one way that is allowed: shortest lengths, a
 * byte below 0x80 as itself, nothing behind the item.
 */
export function decodeRlp(bytes: Uint8Array): RlpItem | undefined {
  const read = readItem(bytes, 0, DEPTH_MAX)
  return read?.end === bytes.length ? read.item : undefined
}

function readItem(bytes: Uint8Array, at: number, depth: number): Read | undefined {
  const first = bytes[at]
  if (first === undefined || depth === 0) return undefined
  if (first < SHORT_STRING) return { item: bytes.subarray(at, at + 1), end: at + 1 }
  const isList = first >= SHORT_LIST
  const body = bodyOf(bytes, at, isList ? [SHORT_LIST, LONG_LIST] : [SHORT_STRING, LONG_STRING])
  if (body === undefined) return undefined
  const { from, end } = body
  if (isList) return readList(bytes.subarray(0, end), from, depth - 1)
  const [only] = bytes.subarray(from, end)
  if (end - from === 1 && only !== undefined && only < SHORT_STRING) return undefined
  return { item: bytes.subarray(from, end), end }
}

/** The list whose items fill the bytes from here to their end. */
function readList(bytes: Uint8Array, from: number, depth: number): Read | undefined {
  const item: RlpItem[] = []
  let at = from
  while (at < bytes.length) {
    const read = readItem(bytes, at, depth)
    if (read === undefined) return undefined
    item.push(read.item)
    at = read.end
  }
  return { item, end: at }
}

function bodyOf(bytes: Uint8Array, at: number, [short, long]: readonly [number, number]) {
  const first = bytes[at] ?? 0
  if (first < long) return within(bytes, at + 1, first - short)
  const lengthBytes = bytes.subarray(at + 1, at + 2 + first - long)
  if (lengthBytes.length !== 1 + first - long || lengthBytes[0] === 0) return undefined
  const length = lengthBytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return length > SHORT_BYTES_MAX ? within(bytes, at + 1 + lengthBytes.length, length) : undefined
}

function within(bytes: Uint8Array, from: number, length: number) {
  const end = from + length
  return end <= bytes.length ? { from, end } : undefined
}
