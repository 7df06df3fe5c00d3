// The ABI is made of words: 32 bytes, numbers in them big-endian.

export const WORD_BYTES = 32
const ADDRESS_BYTES = 20
/** Of a number below 2^32. */
const NUMBER_BYTES = 4

/** The word at an offset in bytes; undefined where the bytes end before. A view. */
export function wordAt(bytes: Uint8Array, offset: number): Uint8Array | undefined {
  return offset + WORD_BYTES > bytes.length ? undefined : bytes.subarray(offset, offset + WORD_BYTES)
}

/** The number at an offset; undefined where the bytes end before, or it is 2^32 or more: no offset and no length is. */
export function numberAt(bytes: Uint8Array, offset: number): number | undefined {
  const low = offset + WORD_BYTES - NUMBER_BYTES
  if (low + NUMBER_BYTES > bytes.length || !isZero(bytes, offset, low)) return undefined
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(low)
}

/** The number that a word is. */
export function toBigInt(word: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(word.buffer, word.byteOffset, word.byteLength).toString('hex')}`)
}

/** The address at an offset; undefined where the bytes end before, or more than 20 bytes of the word are used. A view. */
export function addressAt(bytes: Uint8Array, offset: number): Uint8Array | undefined {
  const end = offset + WORD_BYTES
  const from = end - ADDRESS_BYTES
  return end > bytes.length || !isZero(bytes, offset, from) ? undefined : bytes.subarray(from, end)
}

export function isZero(bytes: Uint8Array, from = 0, to = bytes.length): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== 0) return false
  return true
}
