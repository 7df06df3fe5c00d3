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

/** A call whose gas is to be known; addresses are lower-case hex. */
export interface SimulatedCall {
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
  readonly data: string
  /** The most that it may use; undefined: as much as a block has. */
  readonly gas?: bigint
}

export type Simulation =
  | { readonly status: 'done'; readonly gas: bigint }
  /** The call fails as the chain is now; with a limit perhaps because of it. */
  | { readonly status: 'reverted' }
  /** The node does not simulate it: it takes no balance to simulate with, or says nothing that is understood; with a limit perhaps that it is too low. */
  | { readonly status: 'unknown' }

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
  /** A word of a contract's storage; `slot`: hex without leading zeros. */
  storageAt(address: string, slot: string): Promise<bigint>
  /** `sender`: lower-case hex. */
  terms(sender: string): Promise<TransactionTerms>
  /** What a call would use now if its sender had more than enough ether. */
  simulate(call: SimulatedCall): Promise<Simulation>
}
