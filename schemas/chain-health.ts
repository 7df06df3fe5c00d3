// Where the chains stand, as the processors measure it and `/ready` tells it.

/** Named conditions (`has_data`, `follows_head`, …); the program is ready when all of all chains are true. */
export type Checks = Readonly<Record<string, boolean>>

export interface Judged {
  readonly checks: Checks
  /** A sentence for each condition that does not hold. */
  readonly reasons: readonly string[]
}

export interface BeaconChainHealth extends Judged {
  readonly kind: 'beacon'
  /** Its nodes are not read, and nothing is asked of it. */
  readonly paused: boolean
  /** Newest slot that the head follower has seen; undefined before the first one, or where no role follows the head. */
  readonly headSlot: number | undefined
  /** How far the chain's clock is ahead of it. */
  readonly headLag: { readonly slots: number; readonly seconds: number } | undefined
  /** Newest finalized epoch of which everything is in the warehouse. */
  readonly lastFinalizedEpoch: number | undefined
  /** How far the chain's clock is ahead of its end. */
  readonly finalityLag: { readonly epochs: number; readonly seconds: number } | undefined
}

export interface ExecutionChainHealth extends Judged {
  readonly kind: 'execution'
  readonly paused: boolean
  /** Newest block that is in the warehouse. */
  readonly headBlock: number | undefined
  /** Blocks behind the chain's node, where this process reads it, and the age of the newest block. */
  readonly headLag: { readonly blocks: number | undefined; readonly seconds: number } | undefined
  /** Newest block that is final. */
  readonly finalizedBlock: number | undefined
}

export type ChainHealth = BeaconChainHealth | ExecutionChainHealth
