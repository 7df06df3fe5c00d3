import type { ClaimedValidators, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import { scatteredKey } from '../../schemas/eth/scattered-key.ts'
import { isAmong } from './registry-rows.ts'

const PUBKEY_BYTES = 48
export const CREDENTIALS_BYTES = 32
/** Behind `0x`. */
const HEX_FROM = 2
const KEYS_MIN = 1_024
/** Slots of the table for each key that there is room for. */
const SLOT_FACTOR = 2
const UNKNOWN = 0xffff_ffff

/**
 * A set of public keys, which grows, with the registry's index of those that have one. A million of them are 64 MB of bytes, and 32 more with
 * their withdrawal credentials, where strings are 300 MB, which are looked at whenever memory is tidied up.
 */
export class PubkeyBook {
  /** Of as many keys as there is room for, in the order in which they came. */
  #bytes = Buffer.alloc(KEYS_MIN * PUBKEY_BYTES)
  #indices = new Uint32Array(KEYS_MIN)
  /** Withdrawal credentials of those that have an index; no room for any until the first are told. */
  #credentials = Buffer.alloc(0)
  /** 1 of those whose identity was held against a registry. */
  #isHeld = new Uint8Array(KEYS_MIN)
  #held = 0
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

  /** How many of these were held against a registry and are not doubted. */
  get held(): number {
    return this.#held
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
    this.#mark(place, 0)
  }

  /** Says who a key is, with what withdrawals go by; it waits to be held against a registry from now on. */
  identify({ pubkey, index, withdrawalCredentials }: ValidatorIdentity): void {
    this.setIndex(pubkey, index)
    if (this.#credentials.length === 0) this.#credentials = Buffer.alloc(this.#indices.length * CREDENTIALS_BYTES)
    const credentials = withdrawalCredentials.slice(HEX_FROM)
    this.#credentials.write(credentials, this.#place(pubkey) * CREDENTIALS_BYTES, CREDENTIALS_BYTES, 'hex')
  }

  /** Takes a key's index away. */
  forget(pubkey: string): void {
    const place = this.#placeOf(pubkey)
    if (place === undefined || this.#indices[place] === UNKNOWN) return
    this.#mark(place, 0)
    this.#indices[place] = UNKNOWN
    this.#indexed--
  }

  /** Those with an index that wait to be held against a registry, by their places. */
  unheld(): ClaimedValidators & { readonly places: Uint32Array } {
    const count = this.#indexed - this.#held
    const [places, indices] = [new Uint32Array(count), new Uint32Array(count)]
    const pubkeys = Buffer.alloc(count * PUBKEY_BYTES)
    for (let place = 0, claim = 0; claim < count; place++) {
      if (this.#indices[place] === UNKNOWN || this.#isHeld[place] === 1) continue
      places[claim] = place
      indices[claim] = this.#indices[place] as number
      this.#bytes.copy(pubkeys, claim * PUBKEY_BYTES, place * PUBKEY_BYTES, (place + 1) * PUBKEY_BYTES)
      claim++
    }
    return { places, indices, pubkeys }
  }

  /** Notes that a registry has the key of this place at its index. */
  hold(place: number): void {
    this.#mark(place, 1)
  }

  /** Whether these credentials, 32 bytes from a place of their own on, are those that were told of a key. */
  hasCredentials(place: number, credentials: Uint8Array, at: number): boolean {
    const from = place * CREDENTIALS_BYTES
    return this.#credentials.compare(credentials, at, at + CREDENTIALS_BYTES, from, from + CREDENTIALS_BYTES) === 0
  }

  /** Validators of these indices, ascending, wait to be held again. */
  doubt(indices: Uint32Array): void {
    for (let place = 0; place < this.#size; place++)
      if (this.#isHeld[place] === 1 && isAmong(indices, this.#indices[place] as number)) this.#mark(place, 0)
  }

  #mark(place: number, isHeld: 0 | 1): void {
    this.#held += isHeld - (this.#isHeld[place] as number)
    this.#isHeld[place] = isHeld
  }

  /** The keys that have no index. */
  unknown(): readonly string[] {
    if (this.#indexed === this.#size) return []
    const unknown: string[] = []
    for (let place = 0; place < this.#size; place++)
      if (this.#indices[place] === UNKNOWN) unknown.push(this.keyAt(place))
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
    for (let place = 0; place < this.#size; place++) yield this.keyAt(place)
  }

  /** The key at a place, which it keeps. */
  keyAt(place: number): string {
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
    let slot = scatteredKey(this.#asked, 0) & mask
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
    const [credentials, isHeld] = [this.#credentials, this.#isHeld]
    if (credentials.length > 0) {
      this.#credentials = Buffer.alloc(room * CREDENTIALS_BYTES)
      this.#credentials.set(credentials)
    }
    this.#isHeld = new Uint8Array(room)
    this.#isHeld.set(isHeld)
    this.#bytes = bytes
    this.#indices = indices
    this.#table = new Uint32Array(room * SLOT_FACTOR)
    const mask = this.#table.length - 1
    for (let place = 0; place < this.#size; place++) {
      let slot = scatteredKey(bytes, place * PUBKEY_BYTES) & mask
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask
      this.#table[slot] = place + 1
    }
  }
}
