import type { RecipientKey } from '../../schemas/recipient-key.ts'
import type { ExitTerms, ExitToSign, KeptRequest } from './key-vault.ts'
import type { ClientAccess } from './validator-client.ts'

/** Where a password is: read by the vault's process, so that nobody else has it together with a keystore. */
export type PasswordSource =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'environment'; readonly variable: string }

/** A key that leaves the vault under a password. */
export interface ExportedKey {
  /** Lower-case hex. */
  readonly pubkey: string
  /** EIP-2335, version 4, as JSON text. */
  readonly keystore: string
  /** EIP-2334; empty where it came from no seed. */
  readonly path: string
  readonly chain: string
  readonly account: string
  /** The request that it was made for; undefined for a key that was imported. */
  readonly created: { readonly requestId: string; readonly withdrawalCredentials: Uint8Array } | undefined
}

export type ExportOutcome =
  | { readonly status: 'exported'; readonly keys: readonly ExportedKey[] }
  /** These are not here; nothing was exported. */
  | { readonly status: 'lacking'; readonly pubkeys: readonly string[] }
  /** These were exported before, and may run elsewhere; nothing was exported. */
  | { readonly status: 'exported_before'; readonly pubkeys: readonly string[] }

export interface ExportTerms {
  readonly password: PasswordSource
  /** Also what was exported before. */
  readonly again: boolean
}

export interface GiveTerms {
  readonly client: ClientAccess
  /** 32 bytes: the chain whose duties the keys are for. */
  readonly genesisValidatorsRoot: Uint8Array
}

export type ImportOutcome =
  | { readonly status: 'imported'; readonly file: string; readonly pubkey: string }
  /** `keptFor`: what it was imported or created for, which stays; `isImported`: false for a key that was created here. */
  | {
      readonly status: 'present'
      readonly file: string
      readonly pubkey: string
      readonly keptFor: { readonly chain: string; readonly account: string }
      readonly isImported: boolean
    }
  /** `reason` is a sentence's part, without anything of the keystore. */
  | { readonly status: 'refused'; readonly file: string; readonly reason: string }

export interface ImportTerms {
  readonly password: PasswordSource
  /** What the keys are for; a keystore does not say. */
  readonly chain: string
  readonly account: string
}

/** A request with the validators that were made for it. */
export interface CreatedRequest {
  readonly requestId: string
  readonly request: KeptRequest
  readonly chain: string
  readonly createdAtMs: number
}

/** The last request of a page; the next one begins behind it. */
export interface RequestPlace {
  readonly account: string
  readonly requestId: string
}

/** How a vault is, as far as it was asked. */
export interface VaultState {
  readonly state: 'answering' | 'away'
  /** Unix milliseconds since when. */
  readonly sinceMs: number
  /** Of `away`: what is wrong, in one sentence. */
  readonly fault?: string
}

/**
 * What an operator does with the keys of a vault. Secrets leave it in keystores alone, and only after the keys are marked as exported
 * on the disk; exits that are signed beforehand leave it encrypted.
 *
 * Not promised: that a key which was exported runs anywhere.
 */
export interface KeyKeeping {
  /**
   * Keystores for these keys (lower-case hex), all of them or none, under one password. They are marked as exported before this resolves.
   * Throws AppError `usage` when there is no password.
   */
  exportKeys(pubkeys: readonly string[], terms: ExportTerms): Promise<ExportOutcome>
  /**
   * Signs exits as `KeyVault.signExits` does, and encrypts each to the recipient: JWEs in compact serialization, in their order. Whoever
   * opens one has the body that a beacon node takes; the signature leaves the vault in no other form.
   */
  presignExits(exits: readonly ExitToSign[], terms: ExitTerms, recipient: RecipientKey): Promise<readonly string[]>
  /** Of these keys those that were exported. */
  exportedBefore(pubkeys: readonly string[]): Promise<readonly string[]>
  /**
   * Gives keys (lower-case hex) to a validator client, with word that they have signed nothing, and returns those that it did not take.
   * They are marked as exported before. Throws AppError `key_vault` when one is not here, `validator_client`, retryable, when the client
   * does not answer as it should: then it may have got them.
   */
  giveKeys(pubkeys: readonly string[], terms: GiveTerms): Promise<readonly string[]>
  /** Takes the keys of keystore files in, each by itself. Throws AppError `usage` when there is no password. */
  importKeys(files: readonly string[], terms: ImportTerms): Promise<readonly ImportOutcome[]>
  /** Writes all that it has into a new file for its owner alone, sealed as it is. Throws AppError `usage` when it cannot. */
  backup(file: string): Promise<{ readonly keys: number }>
  /** Requests in the order of account and id, from behind a place on: a page at a time, an empty one at the end. */
  requestsAfter(place: RequestPlace | undefined): Promise<readonly CreatedRequest[]>
  /** Throws AppError when it does not answer, its file cannot be read, or its key is gone. */
  check(): Promise<void>
  state(): VaultState
}
