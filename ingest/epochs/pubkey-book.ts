import type { ClaimedValidators, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import { ByteSet } from './byte-set.ts'
import { isAmong } from './registry-rows.ts'

const PUBKEY_BYTES = 48
export const CREDENTIALS_BYTES = 32
/** Behind `0x`. */
const HEX_FROM = 2
const UNKNOWN = 0xffff_ffff

/**
 * A set of public keys, which grows, with the registry's index of those that have one. A million of them are 68 MB, where strings are 300 MB, which
 * are looked at whenever memory is tidied up. Withdrawal credentials are there once each, as many validators have the same; where all differ they are 42 MB more.
 */
export class PubkeyBook {
  readonly #keys = new ByteSet(PUBKEY_BYTES)
  readonly #credentials = new ByteSet(CREDENTIALS_BYTES)
  /** By the places of keys, of as many as there is room for. */
  #indices = new Uint32Array(this.#keys.room)
  /** Place of its credentials plus one; 0 where none were told. */
  #credentialsOf = new Uint32Array(this.#keys.room)
  /** 1 of those whose identity was held against a registry. */
  #isHeld = new Uint8Array(this.#keys.room)
  #held = 0
  readonly #asked = Buffer.alloc(PUBKEY_BYTES)
  readonly #told = Buffer.alloc(CREDENTIALS_BYTES)
  #indexed = 0

  get size(): number {
    return this.#keys.size
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
    this.#told.fill(0).write(withdrawalCredentials.slice(HEX_FROM), 'hex')
    this.#credentialsOf[this.#place(pubkey)] = this.#credentials.place(this.#told) + 1
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
      this.#keys.copyTo(pubkeys, claim * PUBKEY_BYTES, place)
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
    const told = this.#credentialsOf[place] as number
    return told !== 0 && this.#credentials.isAt(told - 1, credentials, at)
  }

  /** Validators of these indices, ascending, wait to be held again. */
  doubt(indices: Uint32Array): void {
    for (let place = 0; place < this.size; place++)
      if (this.#isHeld[place] === 1 && isAmong(indices, this.#indices[place] as number)) this.#mark(place, 0)
  }

  #mark(place: number, isHeld: 0 | 1): void {
    this.#held += isHeld - (this.#isHeld[place] as number)
    this.#isHeld[place] = isHeld
  }

  /** The keys that have no index. */
  unknown(): readonly string[] {
    if (this.#indexed === this.size) return []
    const unknown: string[] = []
    for (let place = 0; place < this.size; place++)
      if (this.#indices[place] === UNKNOWN) unknown.push(this.keyAt(place))
    return unknown
  }

  /** The indices that are known, ascending. */
  indices(): Uint32Array {
    return this.#indices
      .subarray(0, this.size)
      .filter((index) => index !== UNKNOWN)
      .sort()
  }

  /** The keys in the order in which they came. */
  *[Symbol.iterator](): Generator<string> {
    for (let place = 0; place < this.size; place++) yield this.keyAt(place)
  }

  /** The key at a place, which it keeps. */
  keyAt(place: number): string {
    return `0x${this.#keys.at(place).toString('hex')}`
  }

  #placeOf(pubkey: string): number | undefined {
    return this.#keys.placeOf(this.#bytesOf(pubkey))
  }

  #place(pubkey: string): number {
    const before = this.#keys.size
    const place = this.#keys.place(this.#bytesOf(pubkey))
    if (this.#keys.room > this.#indices.length) this.#grow(this.#keys.room)
    if (place === before) this.#indices[place] = UNKNOWN
    return place
  }

  /** In memory that the next key is written to. */
  #bytesOf(pubkey: string): Buffer {
    if (this.#asked.write(pubkey.slice(HEX_FROM), 'hex') === PUBKEY_BYTES) return this.#asked
    throw new Error(`${pubkey} is no public key`)
  }

  #grow(room: number): void {
    const [indices, credentialsOf, isHeld] = [this.#indices, this.#credentialsOf, this.#isHeld]
    this.#indices = new Uint32Array(room)
    this.#indices.set(indices)
    this.#credentialsOf = new Uint32Array(room)
    this.#credentialsOf.set(credentialsOf)
    this.#isHeld = new Uint8Array(room)
    this.#isHeld.set(isHeld)
  }
}
