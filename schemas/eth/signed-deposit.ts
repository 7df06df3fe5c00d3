/** A validator's deposit, signed with its own key. */
export interface SignedDeposit {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
  readonly amountGwei: bigint
  /** 96 bytes. */
  readonly signature: Uint8Array
  /** 32 bytes: hash tree root of the DepositMessage. */
  readonly messageRoot: Uint8Array
  /** 32 bytes: hash tree root of the DepositData, which the deposit contract checks. */
  readonly dataRoot: Uint8Array
}
