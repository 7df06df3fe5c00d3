import type { ErrorCode } from '../../schemas/errors.ts'
import type { DepositTerms, KeptRequest, PreparedKeys } from '../ports/key-vault.ts'
import type { KeySource } from './key-source.ts'

/** What a vault is opened with. */
export interface VaultOptions {
  /** Of this vault alone; made where it is missing. */
  readonly directory: string
  readonly keySource: KeySource
  /** Keys that were prepared and not committed; beyond this number those prepared first are forgotten. */
  readonly preparedKeysMax: number
}

/** What the process that holds the secrets can be asked. `open` comes first, and once. */
export interface VaultMethods {
  open(options: VaultOptions): void
  prepare(count: number, terms: DepositTerms): Promise<PreparedKeys>
  commit(preparedId: string, requestId: string, request: KeptRequest): KeptRequest
  request(account: string, requestId: string): KeptRequest | undefined
  lacking(pubkeys: readonly string[]): readonly string[]
}

export interface ToVault {
  readonly id: number
  readonly method: keyof VaultMethods
  /** Those of the method. */
  readonly args: readonly unknown[]
}

export type FromVault =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  /** An AppError. */
  | {
      readonly kind: 'fault'
      readonly id: number
      readonly code: ErrorCode
      readonly message: string
      readonly retryable: boolean
    }
  /** Anything else that was thrown, after which the process ends: its class and where, without its message, which may quote a secret. */
  | { readonly kind: 'defect'; readonly id: number; readonly trace: string }
