const PUBKEY_BYTES = 48
const SLOT_FACTOR = 4

/**
 * Finds public keys in a registry that lies in bytes: a table of those that are looked for, and one pass over the registry that
 * compares four bytes of each validator with it. No object per validator, and nothing is kept of those that nobody asks for.
 */
export class PubkeyFinder {
  readonly #keys: readonly Uint8Array[]
  /** Place of a wanted key plus one, by its first four bytes; open addressing. */
  readonly #table: Uint32Array
  readonly #words: Uint32Array
  readonly #mask: number

  /** 48 bytes each; one may be named more than once. */
  constructor(pubkeys: readonly Uint8Array[]) {
    this.#keys = [...new Map(pubkeys.map((key) => [nameOf(key), key])).values()]
    let size = 16
    while (size < this.#keys.length * SLOT_FACTOR) size *= 2
    this.#mask = size - 1
    this.#table = new Uint32Array(size)
    this.#words = Uint32Array.from(this.#keys, (key) => wordAt(key, 0))
    this.#words.forEach((word, place) => {
      let at = spread(word) & this.#mask
      while (this.#table[at] !== 0) at = (at + 1) & this.#mask
      this.#table[at] = place + 1
    })
  }

  /** Index of each wanted key that the registry has, by its name; a record has `stride` bytes and begins with the key. */
  find(registry: Uint8Array, stride: number): ReadonlyMap<string, number> {
    const found = new Map<string, number>()
    const count = Math.floor(registry.length / stride)
    for (let index = 0; index < count; index++) {
      const from = index * stride
      const word = wordAt(registry, from)
      for (let at = spread(word) & this.#mask; this.#table[at] !== 0; at = (at + 1) & this.#mask) {
        const place = (this.#table[at] as number) - 1
        if (this.#words[place] !== word) continue
        const key = this.#keys[place] as Uint8Array
        if (Buffer.compare(registry.subarray(from, from + PUBKEY_BYTES), key) === 0) found.set(nameOf(key), index)
      }
    }
    return found
  }
}

/** What the map's keys are. */
export function nameOf(pubkey: Uint8Array): string {
  return Buffer.from(pubkey.buffer, pubkey.byteOffset, pubkey.byteLength).toString('latin1')
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  )
}

/** Keys that resemble each other lie apart, whoever has chosen them. */
function spread(word: number): number {
  return Math.imul(word, 0x9e37_79b1) >>> 8
}
