const PUBKEY_BYTES = 48
/** Behind `0x`. */
const HEX_FROM = 2
const KEYS_MIN = 1_024
/** Slots of the table for each key that there is room for. */
const SLOT_FACTOR = 2
const UNKNOWN = 0xffff_ffff

/**
 * A set of public keys, which grows, with the registry's index of those that have one. A million of them are 64 MB of bytes, where strings
 * are 300 MB, which are looked at whenever memory is tidied up.
 */
export class PubkeyBook {
  /** Of as many keys as there is room for, in the order in which they came. */
  #bytes = Buffer.alloc(KEYS_MIN * PUBKEY_BYTES)
  #indices = new Uint32Array(KEYS_MIN)
  /** Place of a key plus one, by what its bytes are scattered to; open addressing. */
  #table = new Uint32Array(KEYS_MIN * SLOT_FACTOR)
  readonly #asked = Buffer.alloc(PUBKEY_BYTES)
  #size = 0
  #indexed = 0

  get size(): number {
    return this.#size
  }

  /** How many of them have an index. */
  get indexed(): number {
    return this.#indexed
  }

  has(pubkey: string): boolean {
    return this.#placeOf(pubkey) !== undefined
  }

  /** The validator's index in the registry; undefined of a key that has none or is not here. */
  indexOf(pubkey: string): number | undefined {
    const place = this.#placeOf(pubkey)
    const index = place === undefined ? UNKNOWN : (this.#indices[place] as number)
    return index === UNKNOWN ? undefined : index
  }

  /** Takes up a key (`0x` and 96 hexadecimal digits), which may be here already. */
  add(pubkey: string): void {
    this.#place(pubkey)
  }

  /** Says what the registry calls a key, which is taken up if it was not here. */
  setIndex(pubkey: string, index: number): void {
    const place = this.#place(pubkey)
    if (this.#indices[place] === UNKNOWN) this.#indexed++
    this.#indices[place] = index
  }

  /** The keys that have no index. */
  unknown(): readonly string[] {
    if (this.#indexed === this.#size) return []
    const unknown: string[] = []
    for (let place = 0; place < this.#size; place++)
      if (this.#indices[place] === UNKNOWN) unknown.push(this.#keyAt(place))
    return unknown
  }

  /** The indices that are known, ascending. */
  indices(): Uint32Array {
    return this.#indices
      .subarray(0, this.#size)
      .filter((index) => index !== UNKNOWN)
      .sort()
  }

  /** The keys in the order in which they came. */
  *[Symbol.iterator](): Generator<string> {
    for (let place = 0; place < this.#size; place++) yield this.#keyAt(place)
  }

  #keyAt(place: number): string {
    return `0x${this.#bytes.toString('hex', place * PUBKEY_BYTES, (place + 1) * PUBKEY_BYTES)}`
  }

  #placeOf(pubkey: string): number | undefined {
    const found = this.#table[this.#slotOf(pubkey)] as number
    return found === 0 ? undefined : found - 1
  }

  #place(pubkey: string): number {
    const known = this.#placeOf(pubkey)
    if (known !== undefined) return known
    if (this.#size === this.#indices.length) this.#grow()
    const place = this.#size++
    this.#table[this.#slotOf(pubkey)] = place + 1
    this.#asked.copy(this.#bytes, place * PUBKEY_BYTES)
    this.#indices[place] = UNKNOWN
    return place
  }

  /** The slot of the key, or the one that it would be put into; its bytes are `#asked` afterwards. */
  #slotOf(pubkey: string): number {
    const written = this.#asked.write(pubkey.slice(HEX_FROM), 'hex')
    if (written !== PUBKEY_BYTES) throw new Error(`${pubkey} is no public key`)
    const mask = this.#table.length - 1
    let slot = scatter(this.#asked, 0) & mask
    for (; this.#table[slot] !== 0; slot = (slot + 1) & mask) {
      const from = ((this.#table[slot] as number) - 1) * PUBKEY_BYTES
      if (this.#asked.compare(this.#bytes, from, from + PUBKEY_BYTES) === 0) break
    }
    return slot
  }

  #grow(): void {
    const room = 2 * this.#indices.length
    const [bytes, indices] = [Buffer.alloc(room * PUBKEY_BYTES), new Uint32Array(room)]
    bytes.set(this.#bytes)
    indices.set(this.#indices)
    this.#bytes = bytes
    this.#indices = indices
    this.#table = new Uint32Array(room * SLOT_FACTOR)
    const mask = this.#table.length - 1
    for (let place = 0; place < this.#size; place++) {
      let slot = scatter(bytes, place * PUBKEY_BYTES) & mask
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask
      this.#table[slot] = place + 1
    }
  }
}

/** Of two words of a key: keys that resemble each other in one lie apart, whoever has chosen them. */
function scatter(bytes: Buffer, at: number): number {
  const word = Math.imul(bytes.readUInt32LE(at) ^ Math.imul(bytes.readUInt32LE(at + 44), 0x85eb_ca6b), 0x9e37_79b1)
  return (word ^ (word >>> 15)) >>> 0
}
