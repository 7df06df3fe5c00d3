/** The bytes that a view lies in, as no Buffer, of which a slice is no copy. */
export function bytesOfView({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
