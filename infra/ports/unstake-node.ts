/** Parameters of a chain that decide what becomes of a withdrawal request. */
export interface UnstakeFacts {
  /** Epochs that a validator is active before it may exit (SHARD_COMMITTEE_PERIOD). */
  readonly shardCommitteePeriodEpochs: number
  /** What a validator that pays out a part keeps (MIN_ACTIVATION_BALANCE). */
  readonly minActivationBalanceGwei: bigint
}

/** What the registry says of a validator; an epoch that is not set is undefined. */
export interface StakedValidator {
  readonly index: number
  /** 32 bytes, lower-case hex. */
  readonly withdrawalCredentials: string
  readonly balanceGwei: bigint
  readonly effectiveBalanceGwei: bigint
  readonly activationEpoch: number | undefined
  readonly exitEpoch: number | undefined
}

/**
 * What unstaking needs of a chain's beacon nodes, nothing more. Throws AppError of a node fault where none answers: transient ones were
 * already retried, on the fallbacks too.
 */
export interface UnstakeNode extends AsyncDisposable {
  /** Asked at the first use, then remembered: it never changes. */
  facts(): Promise<UnstakeFacts>
  /** Epoch of the newest block. */
  headEpoch(): Promise<number>
  /** Those of the public keys (lower-case hex) that the registry of a state knows. */
  registered(pubkeys: readonly string[], state: 'head' | 'finalized'): Promise<ReadonlyMap<string, StakedValidator>>
  /** Gwei that wait to be paid out in part, by validator index, at the head; nothing where the node does not tell it. */
  pendingPartials(): Promise<ReadonlyMap<number, bigint>>
}
