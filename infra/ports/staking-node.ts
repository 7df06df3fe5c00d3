/** What of a chain is signed into every deposit, and where deposits go. */
export interface StakingFacts {
  readonly chainId: number
  /** 4 bytes: the fork version that the chain began with. */
  readonly genesisForkVersion: Uint8Array
  /** Lower-case hex. */
  readonly depositContract: string
}

export interface UnsentTransaction {
  /** Lower-case hex addresses. */
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
  readonly data: string
}

/** What a sender has to put into a transaction to have it mined soon, as a node sees it now. */
export interface TransactionTerms {
  readonly nonce: number
  /** As simulated for a sender that has the funds, without a reserve; undefined where the node says that it would fail. */
  readonly gas: bigint | undefined
  readonly maxFeePerGasWei: bigint
  readonly maxPriorityFeePerGasWei: bigint
}

/**
 * What staking needs of a chain's nodes, nothing more. Throws AppError of a node fault where none answers: transient ones were
 * already retried, on the fallbacks too.
 */
export interface StakingNode extends AsyncDisposable {
  /** Asked at the first use, then remembered: it never changes. */
  facts(): Promise<StakingFacts>
  terms(transaction: UnsentTransaction): Promise<TransactionTerms>
}
