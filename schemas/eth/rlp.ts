/** A byte string or a list of them: everything that RLP can say (yellow paper, appendix B). */
export type RlpItem = Uint8Array | readonly RlpItem[]

/** First bytes of the five forms of an item (yellow paper, appendix B). */
const SHORT_STRING = 0x80
const LONG_STRING = 0xb8
const SHORT_LIST = 0xc0
const LONG_LIST = 0xf8
/** Up to so many bytes an item's length is in its first byte. */
const SHORT_BYTES_MAX = 55
/** Lists within lists: what transactions have is four deep. */
const DEPTH_MAX = 8

const EMPTY_STRING = new Uint8Array(0)

/** An integer as RLP has it: minimal big-endian bytes, of which zero has none. */
export function rlpInteger(value: number | bigint): Uint8Array {
  if (value <= 0) return EMPTY_STRING
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** The bytes of an item, written once into a place of their length: blocks' receipts are megabytes of it. */
export function encodeRlp(item: RlpItem): Uint8Array {
  const bytes = new Uint8Array(encodedBytes(item))
  write(item, bytes, 0)
  return bytes
}

function isBytes(item: RlpItem): item is Uint8Array {
  return item instanceof Uint8Array
}

/** How long an item is once it is encoded. */
function encodedBytes(item: RlpItem): number {
  if (isBytes(item) && item.length === 1 && (item[0] ?? 0) < SHORT_STRING) return 1
  const body = bodyBytes(item)
  return body + (body <= SHORT_BYTES_MAX ? 1 : 1 + rlpInteger(body).length)
}

function bodyBytes(item: RlpItem): number {
  if (isBytes(item)) return item.length
  let sum = 0
  for (const one of item) sum += encodedBytes(one)
  return sum
}

/** Where the next item begins. */
function write(item: RlpItem, to: Uint8Array, at: number): number {
  if (isBytes(item)) {
    const isItself = item.length === 1 && (item[0] ?? 0) < SHORT_STRING
    const from = isItself ? at : writeHead([SHORT_STRING, LONG_STRING], { body: item.length, to, at })
    to.set(item, from)
    return from + item.length
  }
  let end = writeHead([SHORT_LIST, LONG_LIST], { body: bodyBytes(item), to, at })
  for (const one of item) end = write(one, to, end)
  return end
}

/** Where the body begins. */
function writeHead(
  [short, long]: readonly [number, number],
  { body, to, at }: { readonly body: number; readonly to: Uint8Array; readonly at: number },
): number {
  if (body <= SHORT_BYTES_MAX) {
    to[at] = short + body
    return at + 1
  }
  const length = rlpInteger(body)
  to[at] = long + length.length - 1
  to.set(length, at + 1)
  return at + 1 + length.length
}

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
