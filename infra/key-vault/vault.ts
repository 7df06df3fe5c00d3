import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { lockDirectory } from '../directory-lock.ts'
import type { DepositTerms, KeptRequest, PreparedKeys } from '../ports/key-vault.ts'
import { DepositSigner } from './deposit-signer.ts'
import { deriveCommonKey } from './derive.ts'
import { makeFolders } from './durable-folder.ts'
import { nameOfSource, readSealingKey } from './key-source.ts'
import type { VaultMethods, VaultOptions } from './messages.ts'
import { PreparedSets } from './prepared.ts'
import { signaturesHold } from './sign-deposit.ts'
import { openVaultStore, type VaultStore } from './vault-store.ts'

const SEED_BYTES = 32
/** EIP-2333: an index has 32 bits. */
const SEED_KEYS_MAX = 2 ** 32
/** A vault whose program was killed ends by itself, as soon as it has done what it is doing: at most a hundred keys. */
const LOCK_WAIT_MS = 3_000
const LOCK_POLL_MS = 20

interface VaultParts {
  /** Of the folder. */
  readonly lock: Disposable
  readonly store: VaultStore
  /** The seed that this process began. */
  readonly seedId: string
  readonly signer: DepositSigner
  readonly preparedKeysMax: number
}

/** The vault in the process that may know secrets. */
export class Vault implements Omit<VaultMethods, 'open'>, Disposable {
  readonly #lock: Disposable
  readonly #store: VaultStore
  readonly #seedId: string
  readonly #signer: DepositSigner
  readonly #prepared: PreparedSets
  /** Counts up whether keys are committed or not: a key whose deposit was shown to somebody is never made again. */
  #nextIndex = 0

  constructor({ lock, store, seedId, signer, preparedKeysMax }: VaultParts) {
    this.#lock = lock
    this.#store = store
    this.#seedId = seedId
    this.#signer = signer
    this.#prepared = new PreparedSets(preparedKeysMax)
  }

  async prepare(count: number, terms: DepositTerms): Promise<PreparedKeys> {
    const firstIndex = this.#takeIndices(count)
    const indices = Array.from({ length: count }, (_, i) => firstIndex + i)
    const deposits = await this.#signer.sign(indices, terms)
    if (!signaturesHold(deposits, terms.genesisForkVersion)) {
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

  commit(preparedId: string, requestId: string, request: KeptRequest): KeptRequest {
    const existing = this.#store.request(request.account, requestId)
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
export async function openVault({ directory, keySource, preparedKeysMax }: VaultOptions): Promise<Vault> {
  makeVaultFolder(directory)
  const lock = await lockVaultFolder(directory)
  const file = join(directory, 'vault.db')
  const sealingKey = readSealingKey(keySource, !existsSync(file))
  const seed = randomBytes(SEED_BYTES)
  try {
    const store = openVaultStore({ file, sealingKey, keyName: nameOfSource(keySource) })
    const seedId = store.addSeed(seed, sealingKey)
    const signer = new DepositSigner(deriveCommonKey(seed))
    return new Vault({ lock, store, seedId, signer, preparedKeysMax })
  } finally {
    seed.fill(0)
    sealingKey.fill(0)
  }
}

function makeVaultFolder(directory: string): void {
  try {
    makeFolders(directory)
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    throw new AppError(
      'usage',
      `The key vault's folder ${directory} cannot be made (${cause.code}): see to the owner and rights of the folder above.`,
      { cause },
    )
  }
}

async function lockVaultFolder(directory: string): Promise<Disposable> {
  const lastTryMs = Date.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      return lockDirectory(directory, 'The key vault in this folder', process.ppid)
    } catch (error) {
      if (!(error instanceof AppError && error.retryable) || Date.now() > lastTryMs) throw error
    }
    await delay(LOCK_POLL_MS)
  }
}
