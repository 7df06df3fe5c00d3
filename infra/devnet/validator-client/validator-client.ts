import { SecretKey } from '@chainsafe/blst'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { openKeystore } from '../../key-vault/keystore.ts'
import { normalizedPassword } from '../../key-vault/password.ts'
import type { OutsideKeys } from '../consensus/validator-keys.ts'
import type { ClientEntry, ClientFiles } from './client-files.ts'
import { NOTHING_SIGNED, type SignedUpTo, signedUpTo } from './interchange.ts'

/** Where blocks pay whose validator was given no recipient: an address like any other. */
export const DEFAULT_FEE_RECIPIENT: Hex = '0xfee0000000000000000000000000000000004242'

/**
 * What is changed counts from this many slots after the head: the slot after the head may be in the making, and a slot is
 * either made with a change or without it.
 */
const SLOTS_AHEAD = 2

export type Imported =
  | { readonly status: 'imported' }
  | { readonly status: 'duplicate' }
  | { readonly status: 'error'; readonly message: string }

export type Removed = { readonly status: 'deleted' | 'not_active' | 'not_found' }

export interface ListedKey {
  readonly pubkey: Hex
  readonly path: string
}

/** What is known of one key, in the order in which it counts. */
interface Known {
  /** Given or taken from a slot on. */
  readonly changes: { readonly slot: number; readonly isGiven: boolean; readonly signed: SignedUpTo }[]
  readonly recipients: { readonly slot: number; readonly address: Hex | undefined }[]
  readonly signatures: Map<Hex, Hex>
}

/** A small validator client: keys that it is given by the Keymanager API do their duties on the devnet. */
export class ValidatorClient implements OutsideKeys {
  readonly #files: ClientFiles
  readonly #headSlot: () => number
  readonly #known = new Map<Hex, Known>()
  readonly #secrets = new Map<Hex, SecretKey>()
  /** Of the newest change. */
  #lastSlot = 0

  /** `headSlot` tells up to where slots may have been made, now or before a restart. */
  constructor(files: ClientFiles, headSlot: () => number) {
    this.#files = files
    this.#headSlot = headSlot
    for (const entry of files.entries) this.#learn(entry)
    for (const pubkey of files.kept()) {
      // A key whose removal or import the process did not survive is not one that it has.
      if (!this.#isGiven(pubkey)) files.forget(pubkey)
    }
  }

  list(): readonly ListedKey[] {
    return this.#files
      .kept()
      .filter((pubkey) => this.#isGiven(pubkey))
      .map((pubkey) => ({ pubkey, path: this.#files.key(pubkey)?.path ?? '' }))
  }

  has(pubkey: Hex): boolean {
    return this.#isGiven(pubkey)
  }

  /** Takes over a keystore (EIP-2335); `signedOf` tells what its key has signed elsewhere. */
  async importKeystore(
    keystore: string,
    password: string,
    signedOf: (pubkey: Hex) => SignedUpTo | undefined,
  ): Promise<Imported> {
    const opened = await openKeystore(keystore, normalizedPassword(Buffer.from(password)))
    if (opened.status === 'refused') return { status: 'error', message: `The keystore is refused: ${opened.reason}.` }
    const pubkey = hexOf(opened.key.toPublicKey().toBytes())
    if (this.#isGiven(pubkey)) return { status: 'duplicate' }
    const signed = highest(signedOf(pubkey) ?? NOTHING_SIGNED, this.signedBy(pubkey) ?? NOTHING_SIGNED)
    this.#files.keep(pubkey, { secretKey: hexOf(opened.key.toBytes()), path: opened.path })
    this.#tell({ kind: 'given', slot: this.#nextSlot(), pubkey, signed })
    return { status: 'imported' }
  }

  /** From two slots after the head on nobody signs for it here. */
  remove(pubkey: Hex): Removed {
    const known = this.#known.get(pubkey)
    if (known === undefined || known.changes.length === 0) return { status: 'not_found' }
    if (!this.#isGiven(pubkey)) return { status: 'not_active' }
    this.#secretOf(pubkey) // for the slot that may be in the making
    this.#tell({ kind: 'taken', slot: this.#nextSlot(), pubkey })
    this.#files.forget(pubkey)
    return { status: 'deleted' }
  }

  /** Up to where a key that this client has had may have signed. */
  signedBy(pubkey: Hex): SignedUpTo | undefined {
    const changes = this.#known.get(pubkey)?.changes ?? []
    if (changes.length === 0) return undefined
    return changes
      .map(({ slot, isGiven, signed }) => (isGiven ? signed : signedUpTo(slot - 1)))
      .reduce(highest, NOTHING_SIGNED)
  }

  /** Undefined gives it the default again. */
  setFeeRecipient(pubkey: Hex, address: Hex | undefined): void {
    this.#tell({ kind: 'fee_recipient', slot: this.#nextSlot(), pubkey, address: address ?? null })
  }

  /** As it was said last. */
  currentFeeRecipient(pubkey: Hex): Hex {
    return this.feeRecipient(pubkey, Number.POSITIVE_INFINITY)
  }

  runs(pubkey: Hex, slot: number): boolean {
    return this.#changeAt(pubkey, slot)?.isGiven === true
  }

  maySignBlock(pubkey: Hex, slot: number): boolean {
    const change = this.#changeAt(pubkey, slot)
    return change?.isGiven === true && slot > change.signed.blockSlot
  }

  maySignVote(pubkey: Hex, slot: number): boolean {
    const change = this.#changeAt(pubkey, slot)
    return change?.isGiven === true && Math.floor(slot / SLOTS_PER_EPOCH) > change.signed.targetEpoch
  }

  feeRecipient(pubkey: Hex, slot: number): Hex {
    const said = this.#known.get(pubkey)?.recipients.findLast((each) => each.slot <= slot)
    return said?.address ?? DEFAULT_FEE_RECIPIENT
  }

  sign(pubkey: Hex, signingRoot: Uint8Array): Uint8Array {
    const root = hexOf(signingRoot)
    const known = this.#known.get(pubkey)?.signatures.get(root)
    if (known !== undefined) return bytesOf(known)
    const secret = this.#secretOf(pubkey)
    if (secret === undefined) throw new Error('a validator that nobody runs has nothing to sign')
    const signature = secret.sign(signingRoot).toBytes()
    this.#tell({ kind: 'signature', pubkey, root, signature: hexOf(signature) })
    return signature
  }

  /** Never before what was said last: a chain that makes its newest slots again makes them as they were. */
  #nextSlot(): number {
    this.#lastSlot = Math.max(this.#lastSlot, this.#headSlot() + SLOTS_AHEAD)
    return this.#lastSlot
  }

  #isGiven(pubkey: Hex): boolean {
    return this.#known.get(pubkey)?.changes.at(-1)?.isGiven === true
  }

  #changeAt(pubkey: Hex, slot: number) {
    return this.#known.get(pubkey)?.changes.findLast((change) => change.slot <= slot)
  }

  #secretOf(pubkey: Hex): SecretKey | undefined {
    const known = this.#secrets.get(pubkey)
    if (known !== undefined) return known
    const file = this.#files.key(pubkey)
    if (file === undefined) return undefined
    const secret = SecretKey.fromBytes(bytesOf(file.secretKey))
    this.#secrets.set(pubkey, secret)
    return secret
  }

  #tell(entry: ClientEntry): void {
    this.#files.append(entry)
    this.#learn(entry)
  }

  #learn(entry: ClientEntry): void {
    const { pubkey } = entry
    if ('slot' in entry) this.#lastSlot = Math.max(this.#lastSlot, entry.slot)
    const known: Known = this.#known.get(pubkey) ?? { changes: [], recipients: [], signatures: new Map() }
    this.#known.set(pubkey, known)
    if (entry.kind === 'signature') known.signatures.set(entry.root, entry.signature)
    else if (entry.kind === 'fee_recipient')
      known.recipients.push({ slot: entry.slot, address: entry.address ?? undefined })
    else if (entry.kind === 'given') known.changes.push({ slot: entry.slot, isGiven: true, signed: entry.signed })
    else known.changes.push({ slot: entry.slot, isGiven: false, signed: NOTHING_SIGNED })
  }
}

function highest(one: SignedUpTo, other: SignedUpTo): SignedUpTo {
  return {
    blockSlot: Math.max(one.blockSlot, other.blockSlot),
    targetEpoch: Math.max(one.targetEpoch, other.targetEpoch),
  }
}
