export type Hex = `0x${string}`

// viem's conversions go digit by digit in JavaScript; logs come by the megabyte, so these leave it to Buffer. Both take
// text that was checked: Buffer stops silently at the first character that is no digit.

/** Bytes of a hex text with 0x, of either case. */
export function bytesOf(hex: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(hex.slice(2), 'hex')
  return new Uint8Array(buffer, byteOffset, length)
}

/** Lower-case hex text with 0x. */
export function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}
