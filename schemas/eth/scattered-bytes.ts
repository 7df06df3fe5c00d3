const WORD_BYTES = 4

/**
 * A number of 32 bits from the first and the last word of so many bytes from a place on. Values that resemble each other in one of them lie apart. Whoever
 * chooses both words can have values meet, and makes those that look for them slow: keys cost work, and credentials count here of tracked validators alone.
 */
export function scatteredBytes(bytes: Uint8Array, at: number, length: number): number {
  const [first, last] = [wordAt(bytes, at), wordAt(bytes, at + length - WORD_BYTES)]
  const word = Math.imul(first ^ Math.imul(last, 0x85eb_ca6b), 0x9e37_79b1)
  return (word ^ (word >>> 15)) >>> 0
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  )
}
