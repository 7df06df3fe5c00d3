/** A byte string or a list of them: everything that RLP can say (yellow paper, appendix B). */
export type RlpValue = Uint8Array | readonly RlpValue[]

const SINGLE_BYTE_MAX = 0x7f
const SHORT_LENGTH_MAX = 55
const STRING_OFFSET = 0x80
const LIST_OFFSET = 0xc0

/** Minimal big-endian bytes; zero is the empty string. */
export function integerBytes(value: number | bigint): Uint8Array {
  if (value < 0) throw new RangeError('RLP has no negative integers')
  if (value <= SINGLE_BYTE_MAX) return value > 0 ? Uint8Array.of(Number(value)) : new Uint8Array(0)
  const digits = value.toString(16)
  return new Uint8Array(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex'))
}

function prefixBytes(offset: number, length: number): Uint8Array {
  if (length <= SHORT_LENGTH_MAX) return Uint8Array.of(offset + length)
  const lengthBytes = integerBytes(length)
  const prefix = new Uint8Array(1 + lengthBytes.length)
  prefix[0] = offset + SHORT_LENGTH_MAX + lengthBytes.length
  prefix.set(lengthBytes, 1)
  return prefix
}

/** The encoding of a byte string. */
export function encodeBytes(bytes: Uint8Array): Uint8Array {
  const first = bytes[0]
  if (bytes.length === 1 && first !== undefined && first <= SINGLE_BYTE_MAX) return bytes
  const prefix = prefixBytes(STRING_OFFSET, bytes.length)
  const encoded = new Uint8Array(prefix.length + bytes.length)
  encoded.set(prefix)
  encoded.set(bytes, prefix.length)
  return encoded
}

/** The encoding of a list whose items are encoded already. */
export function encodeListOf(encodedItems: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const item of encodedItems) length += item.length
  const prefix = prefixBytes(LIST_OFFSET, length)
  const encoded = new Uint8Array(prefix.length + length)
  encoded.set(prefix)
  let offset = prefix.length
  for (const item of encodedItems) {
    encoded.set(item, offset)
    offset += item.length
  }
  return encoded
}

export function encodeRlp(value: RlpValue): Uint8Array {
  return value instanceof Uint8Array ? encodeBytes(value) : encodeListOf(value.map(encodeRlp))
}

/** The value of a complete encoding; throws RangeError when bytes are missing or left over. */
export function decodeRlp(encoded: Uint8Array): RlpValue {
  const { value, end } = decodeAt(encoded, 0)
  if (end !== encoded.length) throw new RangeError(`RLP: ${encoded.length - end} bytes left over`)
  return value
}

function decodeAt(encoded: Uint8Array, start: number): { value: RlpValue; end: number } {
  const first = encoded[start]
  if (first === undefined) throw new RangeError('RLP: nothing where an item should be')
  if (first <= SINGLE_BYTE_MAX) return { value: encoded.subarray(start, start + 1), end: start + 1 }
  const isList = first >= LIST_OFFSET
  const short = first - (isList ? LIST_OFFSET : STRING_OFFSET)
  const lengthSize = Math.max(0, short - SHORT_LENGTH_MAX)
  let length = short
  if (lengthSize > 0) {
    length = 0
    for (const byte of encoded.subarray(start + 1, start + 1 + lengthSize)) length = length * 256 + byte
  }
  const from = start + 1 + lengthSize
  const end = from + length
  if (end > encoded.length) throw new RangeError('RLP: an item is longer than its container')
  if (!isList) return { value: encoded.subarray(from, end), end }
  const items: RlpValue[] = []
  for (let at = from; at < end; ) {
    const item = decodeAt(encoded.subarray(0, end), at)
    items.push(item.value)
    at = item.end
  }
  return { value: items, end }
}
