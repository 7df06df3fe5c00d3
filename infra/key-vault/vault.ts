import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { voluntaryExitBody } from '../../schemas/eth/voluntary-exit.ts'
import type { RecipientKey } from '../../schemas/recipient-key.ts'
import { syncFolder } from '../durable-folder.ts'
import type {
  CreatedRequest,
  ExportOutcome,
  ExportTerms,
  GiveTerms,
  ImportOutcome,
  ImportTerms,
  RequestPlace,
} from '../ports/key-keeping.ts'
import type { DepositTerms, ExitTerms, ExitToSign, KeptRequest, PreparedKeys } from '../ports/key-vault.ts'
import { DepositSigner } from './deposit-signer.ts'
import { deriveCommonKey } from './derive.ts'
import { type KeySource, nameOfSource, readSealingKey } from './key-source.ts'
import type { VaultMethods, VaultOptions } from './messages.ts'
import { readPassword } from './password.ts'
import { PreparedSets } from './prepared.ts'
import type { RemoteSigning } from './remote-signing.ts'
import { SecretKeys } from './secret-keys.ts'
import { signExit } from './sign-exit.ts'
import { lockVaultFolder, makeVaultFolder, vaultFileOf } from './vault-folder.ts'
import { openVaultStore, type VaultStore } from './vault-store.ts'

const SEED_BYTES = 32
/** EIP-2333: an index has 32 bits. */
const SEED_KEYS_MAX = 2 ** 32

interface VaultParts {
  /** Of the folder. */
  readonly lock: Disposable
  readonly store: VaultStore
  /** The seed that this process began. */
  readonly seedId: string
  readonly signer: DepositSigner
  readonly preparedKeysMax: number
  readonly keySource: KeySource
  readonly secrets: SecretKeys
  /** Undefined where the vault signs by itself. */
  readonly remote: RemoteSigning | undefined
}

/** The vault in the process that may know secrets. What reads and writes keystores is loaded when it is asked for: starts are short. */
export class Vault implements Omit<VaultMethods, 'open' | 'restore'>, Disposable {
  readonly #lock: Disposable
  readonly #store: VaultStore
  readonly #seedId: string
  readonly #signer: DepositSigner
  readonly #prepared: PreparedSets
  readonly #secrets: SecretKeys
  readonly #keySource: KeySource
  readonly #remote: RemoteSigning | undefined
  /** Counts up whether keys are committed or not: a key whose deposit was shown to somebody is never made again. */
  #nextIndex = 0

  constructor({ lock, store, seedId, signer, preparedKeysMax, keySource, secrets, remote }: VaultParts) {
    this.#lock = lock
    this.#store = store
    this.#seedId = seedId
    this.#signer = signer
    this.#prepared = new PreparedSets(preparedKeysMax)
    this.#secrets = secrets
    this.#keySource = keySource
    this.#remote = remote
  }

  async prepare(count: number, terms: DepositTerms): Promise<PreparedKeys> {
    const firstIndex = this.#takeIndices(count)
    const indices = Array.from({ length: count }, (_, i) => firstIndex + i)
    const { deposits, hold } = await this.#signer.sign(indices, terms)
    if (!hold) {
      throw new AppError(
        'key_vault',
        'A signature that the key vault has just made does not hold, so no key was handed out: this machine does not compute as it should.',
      )
    }
    const { chain, withdrawalCredentials } = terms
    const keys = deposits.map(({ pubkey }, i) => ({
      pubkey,
      seedId: this.#seedId,
      pathIndex: firstIndex + i,
      chain,
      withdrawalCredentials,
    }))
    return { id: this.#prepared.add(keys), deposits }
  }

  /** Web3Signer has the keys before they are kept: what is answered can be run. */
  async commit(preparedId: string, requestId: string, request: KeptRequest): Promise<KeptRequest> {
    const before = this.#store.request(request.account, requestId)
    if (before === undefined && this.#remote !== undefined) {
      const of = { account: request.account, requestId }
      await this.#remote.take(this.#secrets.openPrepared(this.#prepared.get(preparedId), of))
    }
    // Another commit of the same request may have come first meanwhile.
    const existing = before ?? this.#store.request(request.account, requestId)
    if (existing === undefined) this.#store.commit(requestId, request, this.#prepared.get(preparedId))
    this.#prepared.forget(preparedId)
    return existing ?? request
  }

  request(account: string, requestId: string): KeptRequest | undefined {
    return this.#store.request(account, requestId)
  }

  lacking(pubkeys: readonly string[]): readonly string[] {
    return pubkeys.filter((pubkey) => !this.#store.hasKey(bytesOf(pubkey)))
  }

  async signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]> {
    for (const { pubkey } of exits) {
      const place = this.#store.placeOf(bytesOf(pubkey))
      if (place?.chain === terms.chain) continue
      const fault =
        place === undefined ? 'does not have the key' : `has the key for ${place.chain}, not for ${terms.chain}`
      throw new AppError('key_vault', `The key vault ${fault} of ${pubkey}: no exit was signed.`)
    }
    if (this.#remote !== undefined) return await this.#remote.signExits(exits, terms)
    const keys = this.#secrets.open(exits.map(({ pubkey }) => bytesOf(pubkey))).filter((key) => key !== undefined)
    return exits.map((exit, i) => signExit(required(keys[i]).key, exit, terms))
  }

  async presignExits(
    exits: readonly ExitToSign[],
    terms: ExitTerms,
    recipient: RecipientKey,
  ): Promise<readonly string[]> {
    const { encryptTo } = await import('./jwe.ts')
    const signatures = await this.signExits(exits, terms)
    return exits.map(({ epoch, validatorIndex }, i) => {
      const body = voluntaryExitBody({ epoch, validatorIndex, signature: hexOf(required(signatures[i])) })
      return encryptTo(recipient, Buffer.from(body))
    })
  }

  /** They are marked on the disk before there is a keystore: who dies in between says again that he wants them. */
  async exportKeys(pubkeys: readonly string[], { password, again }: ExportTerms): Promise<ExportOutcome> {
    const { toKeystores } = await import('./export-keys.ts')
    // Nothing is awaited from here until they are marked: another export of the same keys would come in between.
    const wanted = pubkeys.map(bytesOf)
    const lacking = this.lacking(pubkeys)
    if (lacking.length > 0) return { status: 'lacking', pubkeys: lacking }
    const before = this.exportedBefore(pubkeys)
    if (before.length > 0 && !again) return { status: 'exported_before', pubkeys: before }
    const bytes = readPassword(password)
    try {
      const keys = this.#secrets.open(wanted).filter((key) => key !== undefined)
      this.#store.markExported(wanted)
      return { status: 'exported', keys: await toKeystores(keys, bytes) }
    } finally {
      bytes.fill(0)
    }
  }

  exportedBefore(pubkeys: readonly string[]): readonly string[] {
    return pubkeys.filter((pubkey) => this.#store.isExported(bytesOf(pubkey)))
  }

  /** Marked on the disk before there is a keystore, as what is exported. */
  async giveKeys(pubkeys: readonly string[], terms: GiveTerms): Promise<readonly string[]> {
    const { giveKeystores } = await import('./give-keys.ts')
    const wanted = pubkeys.map(bytesOf)
    const [lost] = this.lacking(pubkeys)
    if (lost !== undefined)
      throw new AppError('key_vault', `The key vault does not have the key of ${lost}: no key was handed over.`)
    const keys = this.#secrets.open(wanted).filter((key) => key !== undefined)
    this.#store.markExported(wanted)
    return await giveKeystores(keys, terms)
  }

  async importKeys(files: readonly string[], terms: ImportTerms): Promise<readonly ImportOutcome[]> {
    const { importKeystores } = await import('./import-keys.ts')
    return await importKeystores({ store: this.#store, secrets: this.#secrets }, files, terms)
  }

  backup(file: string): { readonly keys: number } {
    if (existsSync(file)) throw cannotBackUp(file, 'EEXIST')
    const unfinished = `${file}.unfinished`
    rmSync(unfinished, { force: true }) // of a backup that was stopped
    makeEmptyFile(unfinished, file)
    try {
      this.#store.copyInto(unfinished)
      renameSync(unfinished, file)
    } finally {
      rmSync(unfinished, { force: true })
    }
    syncFolder(dirname(file))
    return { keys: this.#store.countKeys() }
  }

  requestsAfter(place: RequestPlace | undefined): readonly CreatedRequest[] {
    return this.#store.requestsAfter(place)
  }

  /** A command is not run for this: it may ask a key service, which counts. */
  async check(): Promise<void> {
    await this.#remote?.check()
    if (this.#keySource.kind === 'command') return void this.#store.countKeys()
    if (this.#secrets.withSealingKey((key) => this.#store.isKey(key))) return
    throw new AppError(
      'usage',
      `The key in ${nameOfSource(this.#keySource)} is no longer the one that the key vault was sealed with: put it back.`,
    )
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]()
    this.#lock[Symbol.dispose]()
  }

  /** The first of so many. */
  #takeIndices(count: number): number {
    const first = this.#nextIndex
    if (first + count > SEED_KEYS_MAX) {
      throw new AppError('key_vault', 'The key vault has made all keys of its seed: start the program again.')
    }
    this.#nextIndex += count
    return first
  }
}

/**
 * Opens the vault of a folder, which stays this process's until it ends, and begins a seed: it is sealed on the disk before a key of
 * it is made. Only what this process makes comes from it, so no copy of the folder, of whatever time, leads to a key that was made
 * before. Throws AppError `usage` or `key_vault`.
 */
export async function openVault(options: VaultOptions): Promise<Vault> {
  const { directory, keySource, preparedKeysMax, web3signerUrl } = options
  makeVaultFolder(directory)
  const lock = await lockVaultFolder(directory)
  const file = vaultFileOf(directory)
  const sealingKey = readSealingKey(keySource, !existsSync(file))
  const seed = randomBytes(SEED_BYTES)
  try {
    const store = openVaultStore({ file, sealingKey, keyName: nameOfSource(keySource) })
    const seedId = store.addSeed(seed, sealingKey)
    const signer = new DepositSigner(deriveCommonKey(seed))
    const secrets = new SecretKeys(store, keySource)
    const remote = web3signerUrl === undefined ? undefined : await openRemote(web3signerUrl, { secrets, store })
    return new Vault({ lock, store, seedId, signer, preparedKeysMax, keySource, secrets, remote })
  } finally {
    seed.fill(0)
    sealingKey.fill(0)
  }
}

/** What becomes the backup. Throws AppError `usage` where it cannot be made. */
function makeEmptyFile(unfinished: string, backup: string): void {
  try {
    const descriptor = openSync(unfinished, 'wx', 0o600)
    fsyncSync(descriptor)
    closeSync(descriptor)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw cannotBackUp(backup, String(cause.code), cause)
  }
}

function cannotBackUp(file: string, code: string, cause?: Error): AppError {
  const remedy = code === 'EEXIST' ? 'it is there already: name another file' : code
  return new AppError('usage', `The backup cannot be written to ${file}: ${remedy}.`, { cause })
}

/** Loaded where it is configured. */
async function openRemote(url: string, parts: { readonly secrets: SecretKeys; readonly store: VaultStore }) {
  const { RemoteSigning } = await import('./remote-signing.ts')
  return new RemoteSigning(url, parts)
}

function required<Value>(value: Value | undefined): Value {
  if (value !== undefined) return value
  throw new Error('a key that was found is opened, and signs')
}
