/** How a validator client is reached: both may be secrets. */
export interface ClientAccess {
  readonly url: string
  readonly token: string
}

export interface FeeRecipient {
  /** Lower-case hex. */
  readonly pubkey: string
  /** Lower-case hex. */
  readonly address: string
}

/**
 * A validator client that runs keys, as far as it is asked by who has none of their secrets: the vault itself gives it keystores. Throws
 * AppError `validator_client`, retryable, when it does not answer as it should.
 */
export interface ValidatorClient {
  /** 64 hex digits that tell it from another one and nobody its address. */
  readonly id: string
  readonly access: ClientAccess
  /** The public keys (lower-case hex) that it has. */
  keys(): Promise<ReadonlySet<string>>
  /** Says where blocks of these keys pay, which it has to have; again is as good. */
  setFeeRecipients(recipients: readonly FeeRecipient[]): Promise<void>
}
