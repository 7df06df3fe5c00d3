import { setImmediate } from 'node:timers/promises'
import { SecretKey } from '@chainsafe/blst'
import { deriveCommonKey, derivedPath, deriveSigningKey } from './derive.ts'
import type { KeyPlace, KeyRow } from './kept-keys.ts'
import { type KeySource, readSealingKey } from './key-source.ts'
import type { VaultStore } from './vault-store.ts'

/** Each takes a millisecond or two; in between the process hears that whoever asked is gone. */
const CHECKED_AT_ONCE = 50

/** A secret key with what is known of it. */
export interface OpenedKey {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  readonly key: SecretKey
  /** EIP-2334; empty where it came from no seed. */
  readonly path: string
  readonly place: KeyPlace
}

/** A public key, and where its secret is if it is here. */
interface Placed {
  readonly pubkey: Uint8Array
  readonly place: KeyPlace | undefined
}

/**
 * Opens secret keys of the vault, for as long as one call takes: the key-encryption key is read again each time and overwritten, and so
 * is a seed. A command that gives the key is run once for all keys of a call.
 */
export class SecretKeys {
  readonly #store: VaultStore
  readonly #keySource: KeySource

  constructor(store: VaultStore, keySource: KeySource) {
    this.#store = store
    this.#keySource = keySource
  }

  /** In the order of the public keys (48 bytes each), undefined where one is not here. Throws AppError `usage` when the vault's key is gone. */
  open(pubkeys: readonly Uint8Array[]): readonly (OpenedKey | undefined)[] {
    return this.#openAll(pubkeys.map((pubkey) => ({ pubkey, place: this.#store.placeOf(pubkey) })))
  }

  /** Keys that are not kept yet. */
  openPrepared(
    rows: readonly KeyRow[],
    of: { readonly account: string; readonly requestId: string },
  ): readonly OpenedKey[] {
    const keys = rows.map(({ pubkey, seedId, pathIndex, chain, withdrawalCredentials }): Placed => {
      const created = { requestId: of.requestId, withdrawalCredentials }
      return { pubkey, place: { kind: 'derived', seedId, pathIndex, chain, account: of.account, created } }
    })
    return this.#openAll(keys).filter((key) => key !== undefined)
  }

  /** Opens each of them and forgets it. Throws AppError `key_vault` where one is not here, or what is here is another key. */
  async check(pubkeys: readonly Uint8Array[], sealingKey: Uint8Array): Promise<void> {
    const commonKeys = new Map<string, SecretKey>()
    for (const [i, pubkey] of pubkeys.entries()) {
      const place = this.#store.placeOf(pubkey)
      if (place === undefined) this.#store.damaged('a key is not found by its public key')
      this.#openAt({ pubkey, place }, { sealingKey, commonKeys })
      if (i % CHECKED_AT_ONCE === 0) await setImmediate()
    }
  }

  #openAll(keys: readonly Placed[]): readonly (OpenedKey | undefined)[] {
    if (keys.every(({ place }) => place === undefined)) return keys.map(() => undefined)
    return this.withSealingKey((sealingKey) => {
      const commonKeys = new Map<string, SecretKey>()
      return keys.map(({ pubkey, place }) => place && this.#openAt({ pubkey, place }, { sealingKey, commonKeys }))
    })
  }

  /** Reads the key-encryption key for one piece of work. */
  withSealingKey<Result>(work: (sealingKey: Uint8Array) => Result): Result {
    const sealingKey = readSealingKey(this.#keySource, false)
    try {
      return work(sealingKey)
    } finally {
      sealingKey.fill(0)
    }
  }

  #openAt(
    { pubkey, place }: { readonly pubkey: Uint8Array; readonly place: KeyPlace },
    { sealingKey, commonKeys }: { readonly sealingKey: Uint8Array; readonly commonKeys: Map<string, SecretKey> },
  ): OpenedKey {
    const key =
      place.kind === 'imported'
        ? this.#importedKey(pubkey, place.sealed, sealingKey)
        : deriveSigningKey(this.#commonKeyOf(place.seedId, sealingKey, commonKeys), place.pathIndex)
    // A row that somebody has changed leads to another key.
    if (!Buffer.from(key.toPublicKey().toBytes()).equals(pubkey)) this.#store.damaged('a key is not that of its seed')
    return { pubkey, key, path: place.kind === 'imported' ? place.path : derivedPath(place.pathIndex), place }
  }

  #importedKey(pubkey: Uint8Array, sealed: Uint8Array, sealingKey: Uint8Array): SecretKey {
    const secret = this.#store.openImported(pubkey, sealed, sealingKey)
    try {
      return SecretKey.fromBytes(secret)
    } finally {
      secret.fill(0)
    }
  }

  #commonKeyOf(seedId: string, sealingKey: Uint8Array, known: Map<string, SecretKey>): SecretKey {
    const found = known.get(seedId)
    if (found !== undefined) return found
    const seed = this.#store.readSeed(seedId, sealingKey)
    try {
      const commonKey = deriveCommonKey(seed)
      known.set(seedId, commonKey)
      return commonKey
    } finally {
      seed.fill(0)
    }
  }
}
