import { AppError } from '../../schemas/errors.ts'
import { depositDomain, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import type { DepositTerms, KeptRequest, KeyVault, PreparedKeys } from '../ports/key-vault.ts'
import type { KeySource } from './key-source.ts'
import type { VaultOptions } from './messages.ts'
import { VaultConnection } from './vault-connection.ts'

/** A request of the API is one set; the contracts that deposits are sent to take no more at once. */
const COUNT_MAX = 100
const COUNT_MIN = 1
/** Public keys of one message to the vault's process, some hundred bytes each. */
const ASKED_AT_ONCE = 10_000
/** A hundred full requests between being prepared and committed, at some hundred bytes a key. */
const PREPARED_KEYS_MAX = 10_000

export interface LocalKeyVaultOptions {
  /** The vault's own folder, made where it is missing. One program at a time has it. */
  readonly directory: string
  readonly keySource: KeySource
  /** Keys that are prepared and not committed; beyond it those prepared first are forgotten. Default 10,000. */
  readonly preparedKeysMax?: number
}

/**
 * Opens the key vault in a folder of this machine. Its secrets are in a process of its own, which this one starts and which ends with
 * it; when that process dies, what was being asked of it fails as retryable, and the next question starts another one.
 *
 * Throws AppError `usage` when the folder is in use, or the key is missing or not the vault's; `key_vault` when its file is damaged;
 * `config` when a newer version of the program has written it.
 */
export async function openLocalKeyVault(options: LocalKeyVaultOptions): Promise<KeyVault> {
  const { directory, keySource, preparedKeysMax = PREPARED_KEYS_MAX } = options
  const start: VaultOptions = { directory, keySource, preparedKeysMax }
  return new LocalKeyVault(start, await VaultConnection.open(start))
}

class LocalKeyVault implements KeyVault {
  readonly #start: VaultOptions
  #connection: VaultConnection
  /** While another process is being started: for all who ask meanwhile. */
  #starting: Promise<VaultConnection> | undefined
  #isClosed = false

  constructor(start: VaultOptions, connection: VaultConnection) {
    this.#start = start
    this.#connection = connection
  }

  async prepare(count: number, terms: DepositTerms): Promise<PreparedKeys> {
    if (!Number.isInteger(count) || count < COUNT_MIN || count > COUNT_MAX) {
      throw new RangeError(`${count} keys are not between ${COUNT_MIN} and ${COUNT_MAX}`)
    }
    requireTerms(terms)
    return (await this.#connected()).ask('prepare', count, terms)
  }

  async commit(preparedId: string, requestId: string, request: KeptRequest): Promise<KeptRequest> {
    return (await this.#connected()).ask('commit', preparedId, requestId, request)
  }

  async request(account: string, requestId: string): Promise<KeptRequest | undefined> {
    return (await this.#connected()).ask('request', account, requestId)
  }

  async lacking(pubkeys: readonly string[]): Promise<readonly string[]> {
    const lacking: string[] = []
    for (let from = 0; from < pubkeys.length; from += ASKED_AT_ONCE) {
      const some = pubkeys.slice(from, from + ASKED_AT_ONCE)
      lacking.push(...(await (await this.#connected()).ask('lacking', some)))
    }
    return lacking
  }

  async #connected(): Promise<VaultConnection> {
    if (this.#isClosed) throw new AppError('key_vault', 'The key vault was closed: the program is ending.')
    if (!this.#connection.hasEnded) return this.#connection
    this.#starting ??= this.#startAgain().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #startAgain(): Promise<VaultConnection> {
    await this.#connection.close()
    this.#connection = await VaultConnection.open(this.#start)
    return this.#connection
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    // Nobody waits for its failure here: who asked is told.
    await this.#starting?.catch(() => {})
    await this.#connection.close()
  }
}

/** Throws RangeError for terms that no deposit can have, here and not where all others' prepared keys are. */
function requireTerms({ genesisForkVersion, withdrawalCredentials, amountGwei }: DepositTerms): void {
  depositDomain(genesisForkVersion)
  depositMessageRoot({ pubkey: new Uint8Array(48), withdrawalCredentials, amountGwei })
}
