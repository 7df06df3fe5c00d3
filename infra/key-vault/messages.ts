import type { ErrorCode } from '../../schemas/errors.ts'
import type { RecipientKey } from '../../schemas/recipient-key.ts'
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
import type { KeySource } from './key-source.ts'
import type { RestoreOutcome } from './restore-vault.ts'

/** What a vault is opened with. */
export interface VaultOptions {
  /** Of this vault alone; made where it is missing. */
  readonly directory: string
  readonly keySource: KeySource
  /** Keys that were prepared and not committed; beyond this number those prepared first are forgotten. */
  readonly preparedKeysMax: number
  /** How long a call may take before the process is killed; some have a longer time of their own. Absent: 20 s. */
  readonly callTimeoutMs?: number
  /** Signs exits, and is given every key that is made. May hold a secret. */
  readonly web3signerUrl?: string
}

/** What a vault is restored with. */
export interface RestoreOptions {
  readonly directory: string
  readonly keySource: KeySource
  /** A file that `backup` has written. */
  readonly backup: string
  /** Also where the vault has keys that the backup lacks. */
  readonly losesKeys: boolean
}

/** What the process that holds the secrets can be asked. `open` comes first, and once; a process that restores does nothing else. */
export interface VaultMethods {
  open(options: VaultOptions): void
  restore(options: RestoreOptions): Promise<RestoreOutcome>
  prepare(count: number, terms: DepositTerms): Promise<PreparedKeys>
  commit(preparedId: string, requestId: string, request: KeptRequest): Promise<KeptRequest>
  request(account: string, requestId: string): KeptRequest | undefined
  signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]>
  lacking(pubkeys: readonly string[]): readonly string[]
  exportKeys(pubkeys: readonly string[], terms: ExportTerms): Promise<ExportOutcome>
  presignExits(exits: readonly ExitToSign[], terms: ExitTerms, recipient: RecipientKey): Promise<readonly string[]>
  exportedBefore(pubkeys: readonly string[]): readonly string[]
  giveKeys(pubkeys: readonly string[], terms: GiveTerms): Promise<readonly string[]>
  importKeys(files: readonly string[], terms: ImportTerms): Promise<readonly ImportOutcome[]>
  backup(file: string): { readonly keys: number }
  requestsAfter(place: RequestPlace | undefined): readonly CreatedRequest[]
  check(): Promise<void>
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
