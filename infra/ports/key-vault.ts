import type { SignedDeposit } from '../../schemas/eth/signed-deposit.ts'
import type { VoluntaryExit } from '../../schemas/eth/voluntary-exit.ts'

export type { SignedDeposit }

/** What a deposit is signed for. */
export interface DepositTerms {
  /** The chain's name: a key is for one chain. */
  readonly chain: string
  /** 4 bytes: the fork version that the chain began with, whatever its fork is now. */
  readonly genesisForkVersion: Uint8Array
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
  readonly amountGwei: bigint
}

/** What exits are signed for. */
export interface ExitTerms {
  /** The chain's name: only its keys sign. */
  readonly chain: string
  /** 4 bytes, in every fork (EIP-7044). */
  readonly capellaForkVersion: Uint8Array
  /** 32 bytes. */
  readonly genesisValidatorsRoot: Uint8Array
}

export interface ExitToSign extends VoluntaryExit {
  /** Lower-case hex. */
  readonly pubkey: string
}

/** Keys that are made and nowhere on disk yet. */
export interface PreparedKeys {
  /** Names them to `commit`, once. */
  readonly id: string
  /** One for each key; every signature was verified. */
  readonly deposits: readonly SignedDeposit[]
}

/** What a caller asked for under a name of his own, and what he was answered. */
export interface KeptRequest {
  readonly account: string
  /** Hex, SHA-256 of what was asked. */
  readonly bodyHash: string
  /** JSON text, without a secret. */
  readonly answer: string
}

/**
 * Keeps the keys of validators and signs with them. Secrets never leave it, and are in no error.
 *
 * Guarantees: a key is made once for ever, whatever is restored from a backup; what `commit` has resolved with survives a crash and
 * a power cut; a request and its keys are there together or not at all.
 * Not promised: that keys which were prepared and not committed are there later; they are forgotten with the vault's process, and when
 * many are prepared after them.
 * Not the implementer's job: what an answer says, who may ask.
 */
export interface KeyVault extends AsyncDisposable {
  /**
   * Makes 1..100 keys and signs a deposit with each. Throws AppError `key_vault` when it cannot, RangeError for another count, or terms
   * of another length.
   */
  prepare(count: number, terms: DepositTerms): Promise<PreparedKeys>
  /**
   * Seals the prepared keys on disk, together with the request that they were made for. Where the account has a request of this id
   * already, that one is returned, and the prepared keys are forgotten. A commit that failed may have happened: the same request id
   * tells. Throws AppError `key_vault`: retryable where other keys have to be prepared first, because these are forgotten.
   */
  commit(preparedId: string, requestId: string, request: KeptRequest): Promise<KeptRequest>
  /** The account's request of this id; undefined before it was committed. */
  request(account: string, requestId: string): Promise<KeptRequest | undefined>
  /**
   * Signs 1..100 exits, each with its validator's key: signatures of 96 bytes in their order, every one verified. The same exit has the
   * same signature each time. Throws AppError `key_vault`, and signs none, when it lacks a key or has it for another chain; RangeError
   * for terms of another length.
   */
  signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]>
  /** Those of the public keys (lower-case hex) that it does not have: an older copy of it knows nothing of newer keys. */
  lacking(pubkeys: readonly string[]): Promise<readonly string[]>
}
