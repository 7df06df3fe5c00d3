// What both the synthetic node and the program that it is asked by know; without the codecs, which only the node needs.

export const SLOTS_PER_EPOCH = 32

const PUBKEY_PREFIX = `0x${'b0'.repeat(44)}`

/** Public keys of the synthetic registry: the last four bytes are the index. */
export function pubkeyOf(index: number): string {
  return PUBKEY_PREFIX + index.toString(16).padStart(8, '0')
}

export function indexOf(pubkey: string): number {
  return Number.parseInt(pubkey.slice(-8), 16)
}
