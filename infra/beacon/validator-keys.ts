/** A public key (48 bytes) that was looked for in a state's registry, and the validator that it has there. */
export interface LookedFor {
  readonly pubkey: Uint8Array
  readonly validator: { readonly index: number; readonly credentials: Uint8Array } | undefined
}

/** Who some public keys are by one state. */
export class ValidatorKeys {
  readonly #byName: ReadonlyMap<string, LookedFor>
  readonly #byIndex = new Map<number, Uint8Array>()

  constructor(keys: readonly LookedFor[]) {
    this.#byName = new Map(keys.map((key) => [nameOf(key.pubkey), key]))
    for (const { validator } of keys)
      if (validator !== undefined) this.#byIndex.set(validator.index, validator.credentials)
  }

  get all(): readonly LookedFor[] {
    return [...this.#byName.values()]
  }

  /** Whether these were looked for: of others the state says nothing. */
  include(pubkeys: readonly Uint8Array[]): boolean {
    return pubkeys.every((pubkey) => this.#byName.has(nameOf(pubkey)))
  }

  indexOf(pubkey: Uint8Array): number | undefined {
    return this.#byName.get(nameOf(pubkey))?.validator?.index
  }

  /** 32 bytes. */
  credentialsOf(index: number): Uint8Array {
    const credentials = this.#byIndex.get(index)
    if (credentials === undefined) throw new Error(`the public key of validator ${index} was not looked for`)
    return credentials
  }
}

/** What the map's keys are. */
function nameOf(pubkey: Uint8Array): string {
  return Buffer.from(pubkey.buffer, pubkey.byteOffset, pubkey.byteLength).toString('latin1')
}
