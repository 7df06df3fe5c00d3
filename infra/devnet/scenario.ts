/** What happens to a validator's duties, as shares of all duties (0 to 1). */
export interface Rates {
  /** Proposals that never come. */
  readonly missedProposal: number
  readonly missedAttestation: number
  /** Included 2 to 5 slots after the vote: no head reward. */
  readonly lateAttestation: number
  /** Included 6 to 20 slots after the vote: only the target reward. */
  readonly veryLateAttestation: number
  /** Votes for the previous head, because the block came too late for the voter. */
  readonly wrongHead: number
  readonly missedSync: number
}

/**
 * A fixed event. Slots are those of the chain. One that is not possible at its slot (the proposer is absent, the validator is not
 * active long enough, the epoch ends) happens at the next slot where it is.
 */
export type Incident =
  | { readonly kind: 'missed'; readonly slots: readonly number[] }
  | {
      readonly kind: 'offline'
      readonly validators: readonly number[]
      readonly fromSlot: number
      readonly toSlot: number
    }
  | { readonly kind: 'proposer_slashing'; readonly slot: number; readonly validator: number }
  | { readonly kind: 'attester_slashing'; readonly slot: number; readonly validator: number }
  | { readonly kind: 'voluntary_exit'; readonly slot: number; readonly validator: number }
  /**
   * The blocks of `depth` slots (at most `ROLLBACK_BLOCKS_MAX`) from `slot` on are announced, then replaced by the next slot's block;
   * again every `everySlots`. One that does not fit into an epoch has blocks that nobody votes for.
   */
  | { readonly kind: 'reorg'; readonly slot: number; readonly depth: number; readonly everySlots?: number }

export interface Scenario {
  /** Part of the chain's identity: a change of rates, incidents or of how they are played needs a new version. */
  readonly version: string
  readonly rates: Rates
  /** Every n-th validator is badly run: its rates of missing and being late are multiplied by `weakFactor`. */
  readonly weakEvery: number
  readonly weakFactor: number
  readonly incidents: readonly Incident[]
  /** Epochs that a validator is active before it may exit; mainnet's 256 unless a short history must see an exit. */
  readonly shardCommitteePeriodEpochs?: number
  /** Epochs from a validator's exit until its balance is paid out; mainnet's 256 unless a short history must see a whole life. */
  readonly withdrawabilityDelayEpochs?: number
  /** Whole seconds; mainnet's 12 unless a short history must have whole days. Part of the chain's identity by itself. */
  readonly secondsPerSlot?: number
}

export const SECONDS_PER_SLOT_MAINNET = 12

/** Four times mainnet's: a quarter of the slots, and of the wait for a day, has everything that a day can have. */
export const SECONDS_PER_SLOT_DEFAULT = 48

/**
 * The default history. With devnetGenesisTime the first complete UTC+8 day is slots 303 to 2102, the second 2103 to 3902; at any
 * pace the incidents are at the same slots. The validators that leave on the first day are slashed: of its own will none may before
 * the fifth. Deposits, top-ups and execution transactions belong to the execution side.
 */
export const defaultScenario: Scenario = {
  version: 'default-7',
  secondsPerSlot: SECONDS_PER_SLOT_DEFAULT,
  rates: {
    missedProposal: 0.02,
    missedAttestation: 0.004,
    lateAttestation: 0.015,
    veryLateAttestation: 0.003,
    wrongHead: 0.01,
    missedSync: 0.01,
  },
  weakEvery: 37,
  weakFactor: 8,
  incidents: [
    { kind: 'reorg', slot: 420, depth: 1, everySlots: 2_400 },
    { kind: 'missed', slots: [600, 601, 704] }, // two in a row, and the first slot of epoch 22
    { kind: 'reorg', slot: 1_000, depth: 2 },
    { kind: 'offline', validators: [12, 13], fromSlot: 1_600, toSlot: 1_999 },
    { kind: 'proposer_slashing', slot: 2_010, validator: 23 },
    { kind: 'attester_slashing', slot: 1_300, validator: 201 },
    { kind: 'voluntary_exit', slot: 8_618, validator: 41 }, // mainnet's 256 epochs are over at slot 8192
  ],
}
