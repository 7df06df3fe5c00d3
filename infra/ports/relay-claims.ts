/** What a relay says that it delivered to a proposer: its word, which nothing on the chain commits to. */
export interface RelayClaim {
  /** Which relay, never its address; the same wherever it is configured. */
  readonly relay: string
  readonly valueWei: bigint
  /** Lower-case hex, as all that follows. */
  readonly feeRecipient: string
  readonly proposerPubkey: string
  readonly builderPubkey: string
  readonly slot: number
}

/**
 * The relays of a chain, each of which is asked.
 *
 * Guarantees: a claim names the block that was asked for, and one relay makes one claim at most. A relay that is away, slow or answers
 * something else makes none, and never keeps anybody waiting for long: it throws nothing.
 */
export interface RelayClaims extends AsyncDisposable {
  /** How many relays there are. */
  readonly count: number
  claimsOf(blockHash: string): Promise<readonly RelayClaim[]>
}
