import type { SignedVoluntaryExit } from '../../schemas/eth/voluntary-exit.ts'
import type { ExitRefusal } from '../../schemas/exit-reasons.ts'

/** What of a chain is signed into every exit, and when validators may leave it. */
export interface ExitFacts {
  /** 4 bytes. */
  readonly capellaForkVersion: Uint8Array
  /** 32 bytes. */
  readonly genesisValidatorsRoot: Uint8Array
  /** Epochs that a validator is active before it may exit (SHARD_COMMITTEE_PERIOD). */
  readonly shardCommitteePeriodEpochs: number
}

/** What the registry says of a validator; an epoch that is not set is undefined. */
export interface RegisteredValidator {
  readonly index: number
  readonly activationEpoch: number | undefined
  readonly exitEpoch: number | undefined
}

/** What became of an exit at one node. */
export type Submission =
  /** It is in the node's pool, or was before. */
  | { readonly status: 'accepted' }
  | { readonly status: 'refused'; readonly reason: ExitRefusal }
  /** The node did not answer, or is not one of this chain. */
  | { readonly status: 'unanswered' }

/**
 * What exits need of a chain's beacon nodes, nothing more. Questions throw AppError of a node fault where no node answers: transient
 * ones were already retried, on the fallbacks too.
 */
export interface ExitNode extends AsyncDisposable {
  /** Asked at the first use, then remembered: it never changes. */
  facts(): Promise<ExitFacts>
  /** Epoch of the newest block. */
  headEpoch(): Promise<number>
  /** Those of the public keys (lower-case hex) that the registry of a state knows. */
  registered(state: 'head' | 'finalized', pubkeys: readonly string[]): Promise<ReadonlyMap<string, RegisteredValidator>>
  /** Hands an exit to every node, not to one of them: a pool is one node's memory, and forgets. One result for each node. */
  submit(exit: SignedVoluntaryExit): Promise<readonly Submission[]>
  /** Calls when the chain may have got to another epoch, until the signal aborts; calls may be lost or come late. */
  watch(onEpoch: () => void, signal: AbortSignal): Promise<void>
}
