/** What became of a transaction at one node. */
export type SendOutcome =
  /** It is in the node's pool or in its chain, or was before. */
  | { readonly status: 'accepted' }
  /** In the node's own words, without anything of its address. */
  | { readonly status: 'refused'; readonly words: string }
  /** The node did not answer, or is not one of this chain. */
  | { readonly status: 'unanswered' }

/** Where a transaction stands, as one node tells it at one time. */
export interface TransactionState {
  /** Whether the node knows it, in its pool or in its chain. */
  readonly isKnown: boolean
  /** Of the block that the node has it in; undefined while it is in none. */
  readonly included: { readonly blockHash: string; readonly blockNumber: number } | undefined
  /** The newest block. */
  readonly head: { readonly number: number; readonly hash: string }
  /** The sender's next nonce after it. */
  readonly nonce: number
  readonly finalBlockNumber: number
}

/** A deposit that the deposit contract has logged; lower-case hex. */
export interface LoggedDeposit {
  readonly pubkey: string
  /** Hash tree root of the deposit data, the signature included. */
  readonly depositDataRoot: string
  readonly transactionHash: string
  readonly blockNumber: number
}

/**
 * What broadcasting needs of a chain's execution nodes, nothing more. Questions throw AppError of a node fault where no node answers:
 * transient ones were already retried, on the fallbacks too.
 */
export interface BroadcastNode extends AsyncDisposable {
  /** Hands a raw transaction to every node, not to one of them: a pool is one node's memory. One outcome for each node. */
  send(rawTransaction: string, txHash: string): Promise<readonly SendOutcome[]>
  /** Whether any node knows the transaction. Throws AppError of a node fault unless all have answered or one knows it. */
  isKnown(txHash: string): Promise<boolean>
  state(txHash: string, sender: string): Promise<TransactionState>
  /** Deposits of the newest `blocks` blocks, and of those of an hour before them, by whatever transaction. */
  recentDeposits(depositContract: string, blocks: number): Promise<readonly LoggedDeposit[]>
}
