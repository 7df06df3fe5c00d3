import { AppError } from '../../schemas/errors.ts'
import { depositDomain, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import { voluntaryExitDomain, voluntaryExitRoot } from '../../schemas/eth/voluntary-exit.ts'
import type { RecipientKey } from '../../schemas/recipient-key.ts'
import type {
  CreatedRequest,
  ExportedKey,
  ExportOutcome,
  ExportTerms,
  GiveTerms,
  ImportOutcome,
  ImportTerms,
  KeyKeeping,
  RequestPlace,
  VaultState,
} from '../ports/key-keeping.ts'
import type { DepositTerms, ExitTerms, ExitToSign, KeptRequest, KeyVault, PreparedKeys } from '../ports/key-vault.ts'
import type { KeySource } from './key-source.ts'
import type { RestoreOptions, VaultOptions } from './messages.ts'
import type { RestoreOutcome } from './restore-vault.ts'
import { VaultConnection } from './vault-connection.ts'

/** A request of the API is one set; the contracts that deposits are sent to take no more at once. */
const COUNT_MAX = 100
const COUNT_MIN = 1
/** Public keys of one message to the vault's process, some hundred bytes each. */
const ASKED_AT_ONCE = 10_000
/** Keystores of one message: each takes 30 ms to half a second, and whoever else asks waits for no more than one. */
const KDF_AT_ONCE = 10
/** A hundred full requests between being prepared and committed, at some hundred bytes a key. */
const PREPARED_KEYS_MAX = 10_000

export interface LocalKeyVaultOptions {
  /** The vault's own folder, made where it is missing. One program at a time has it. */
  readonly directory: string
  readonly keySource: KeySource
  /** Keys that are prepared and not committed; beyond it those prepared first are forgotten. Default 10,000. */
  readonly preparedKeysMax?: number
  /** How long most calls may take before the process is killed and started again. Default 20 s. */
  readonly callTimeoutMs?: number
  /** Of a Web3Signer that is given all new keys and signs exits; undefined: the vault signs them. May hold a secret. */
  readonly web3signerUrl?: string
}

/** A vault of this machine: it can be kept, too. */
export type LocalVault = KeyVault & KeyKeeping

/**
 * Opens the key vault in a folder of this machine. Its secrets are in a process of its own, which this one starts and which ends with
 * it; when that process dies, what was being asked of it fails as retryable, and the next question starts another one.
 *
 * Throws AppError `usage` when the folder is in use, or the key is missing or not the vault's; `key_vault` when its file is damaged;
 * `config` when a newer version of the program has written it.
 */
export async function openLocalKeyVault(options: LocalKeyVaultOptions): Promise<LocalVault> {
  const { directory, keySource, preparedKeysMax = PREPARED_KEYS_MAX, callTimeoutMs, web3signerUrl } = options
  const timeout = callTimeoutMs === undefined ? {} : { callTimeoutMs }
  const web3signer = web3signerUrl === undefined ? {} : { web3signerUrl }
  const start: VaultOptions = { directory, keySource, preparedKeysMax, ...timeout, ...web3signer }
  return new LocalKeyVault(start, await VaultConnection.open(start))
}

/** Puts a backup in the place of the vault in a folder, which no program has open. Throws AppError `usage` or `key_vault`. */
export async function restoreLocalKeyVault(options: RestoreOptions): Promise<RestoreOutcome> {
  return await VaultConnection.restore(options)
}

class LocalKeyVault implements LocalVault {
  readonly #start: VaultOptions
  #connection: VaultConnection
  /** While another process is being started: for all who ask meanwhile. */
  #starting: Promise<VaultConnection> | undefined
  #isClosed = false
  #state: VaultState = { state: 'answering', sinceMs: Date.now() }

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

  async signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]> {
    requireExits(exits, terms)
    return (await this.#connected()).ask('signExits', exits, terms)
  }

  async presignExits(
    exits: readonly ExitToSign[],
    terms: ExitTerms,
    recipient: RecipientKey,
  ): Promise<readonly string[]> {
    requireExits(exits, terms)
    return (await this.#connected()).ask('presignExits', exits, terms, recipient)
  }

  async lacking(pubkeys: readonly string[]): Promise<readonly string[]> {
    const lacking: string[] = []
    for (const some of partsOf(pubkeys, ASKED_AT_ONCE)) {
      lacking.push(...(await (await this.#connected()).ask('lacking', some)))
    }
    return lacking
  }

  async exportKeys(pubkeys: readonly string[], terms: ExportTerms): Promise<ExportOutcome> {
    const lacking = await this.lacking(pubkeys)
    if (lacking.length > 0) return { status: 'lacking', pubkeys: lacking }
    const before = await this.exportedBefore(pubkeys)
    if (before.length > 0 && !terms.again) return { status: 'exported_before', pubkeys: before }
    const keys: ExportedKey[] = []
    for (const some of partsOf(pubkeys, KDF_AT_ONCE)) {
      const outcome = await (await this.#connected()).ask('exportKeys', some, terms)
      if (outcome.status !== 'exported') return outcome
      keys.push(...outcome.keys)
    }
    return { status: 'exported', keys }
  }

  async exportedBefore(pubkeys: readonly string[]): Promise<readonly string[]> {
    const before: string[] = []
    for (const some of partsOf(pubkeys, ASKED_AT_ONCE)) {
      before.push(...(await (await this.#connected()).ask('exportedBefore', some)))
    }
    return before
  }

  async giveKeys(pubkeys: readonly string[], terms: GiveTerms): Promise<readonly string[]> {
    const untaken: string[] = []
    for (const some of partsOf(pubkeys, KDF_AT_ONCE)) {
      untaken.push(...(await (await this.#connected()).ask('giveKeys', some, terms)))
    }
    return untaken
  }

  async importKeys(files: readonly string[], terms: ImportTerms): Promise<readonly ImportOutcome[]> {
    const outcomes: ImportOutcome[] = []
    for (const some of partsOf(files, KDF_AT_ONCE)) {
      outcomes.push(...(await (await this.#connected()).ask('importKeys', some, terms)))
    }
    return outcomes
  }

  async backup(file: string): Promise<{ readonly keys: number }> {
    return (await this.#connected()).ask('backup', file)
  }

  async requestsAfter(place: RequestPlace | undefined): Promise<readonly CreatedRequest[]> {
    return (await this.#connected()).ask('requestsAfter', place)
  }

  async check(): Promise<void> {
    try {
      await (await this.#connected()).ask('check')
      if (this.#state.state !== 'answering') this.#state = { state: 'answering', sinceMs: Date.now() }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const sinceMs = this.#state.state === 'away' ? this.#state.sinceMs : Date.now()
      this.#state = { state: 'away', sinceMs, fault: error.message }
      throw error
    }
  }

  state(): VaultState {
    return this.#state
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

function partsOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}

/** Throws RangeError for terms that no deposit can have, here and not where all others' prepared keys are. */
function requireTerms({ genesisForkVersion, withdrawalCredentials, amountGwei }: DepositTerms): void {
  depositDomain(genesisForkVersion)
  depositMessageRoot({ pubkey: new Uint8Array(48), withdrawalCredentials, amountGwei })
}

function requireExits(exits: readonly ExitToSign[], { capellaForkVersion, genesisValidatorsRoot }: ExitTerms): void {
  if (exits.length < COUNT_MIN || exits.length > COUNT_MAX) {
    throw new RangeError(`${exits.length} exits are not between ${COUNT_MIN} and ${COUNT_MAX}`)
  }
  voluntaryExitDomain(capellaForkVersion, genesisValidatorsRoot)
  for (const exit of exits) voluntaryExitRoot(exit)
}
