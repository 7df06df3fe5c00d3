import type { ChainClock } from '../../schemas/eth/time.ts'

/** What of a chain is signed into every deposit, and where deposits go. */
export interface StakingFacts {
  readonly chainId: number
  /** 4 bytes: the fork version that the chain began with. */
  readonly genesisForkVersion: Uint8Array
  /** Lower-case hex. */
  readonly depositContract: string
  readonly clock: ChainClock
}

/** What a sender has to put into a transaction, beside its gas, to have it mined soon, as a node sees it now. */
export interface TransactionTerms {
  readonly nonce: number
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
  /** Slot of the newest block. */
  headSlot(): Promise<number>
  /** Whether there is a contract at an address: what is sent to any other is a gift. */
  hasCode(address: string): Promise<boolean>
  /** `sender`: lower-case hex. */
  terms(sender: string): Promise<TransactionTerms>
}
