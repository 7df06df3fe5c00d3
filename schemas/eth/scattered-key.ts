const LAST_WORD = 44

/** A number of 32 bits from two words of a public key (48 bytes from a place on): keys that resemble each other in one lie apart, whoever has chosen them. */
export function scatteredKey(bytes: Uint8Array, at: number): number {
  const word = Math.imul(wordAt(bytes, at) ^ Math.imul(wordAt(bytes, at + LAST_WORD), 0x85eb_ca6b), 0x9e37_79b1)
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
