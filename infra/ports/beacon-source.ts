import type { ScheduledFork } from '../../schemas/eth/chain-identity.ts'
import type { ChainClock } from '../../schemas/eth/time.ts'
import type { BalanceEffect } from '../../schemas/events/balance-effects.ts'
import type { EpochProof, NetworkSums, ToldOtherwise } from '../../schemas/events/beacon-epoch.ts'
import type { ColumnsOf } from '../../schemas/events/codec.ts'
import type { NodeStatus } from './node-status.ts'

/** What the node says of its chain, never assumed; forks as they are planned now. */
export interface BeaconChain {
  readonly clock: ChainClock
  readonly genesisValidatorsRoot: string
  /** Root of the block of slot 0; undefined where the node does not have it. */
  readonly genesisBlockRoot: string | undefined
  /** Forks that are scheduled, by epoch; the first is that of the genesis. */
  readonly forks: readonly ScheduledFork[]
  readonly depositChainId: number
  readonly depositContractAddress: string
  /** Parameters of /eth/v1/config/spec by name, as text: preset values, fork epochs and versions. */
  readonly spec: Readonly<Record<string, string>>
}

export interface BeaconHead {
  readonly slot: number
  readonly root: string
}

/** The finalized checkpoint: every block up to and including the epoch's first slot is final. */
export interface FinalizedCheckpoint {
  readonly epoch: number
  /** Root of the block at the epoch's first slot, or of the last block before it. */
  readonly root: string
  /** Place of the node that told it, 0 for the main one: where two contradict each other, the earlier one's word counts. */
  readonly toldBy: number
}

/** What a block of any fork has. */
export interface BlockHeader {
  readonly slot: number
  readonly root: string
  readonly parentRoot: string
}

/** The parts of a beacon block that leave the source; hex is lower-case. */
export interface BeaconBlock {
  readonly slot: number
  readonly root: string
  readonly parentRoot: string
  readonly proposerIndex: number
  /** Zeros when the block has no execution payload (genesis, before the merge). */
  readonly executionBlockHash: string
  readonly executionBlockNumber: number
  readonly feeRecipient: string
  readonly withdrawals: readonly {
    readonly index: number
    readonly validatorIndex: number
    readonly address: string
    readonly amountGwei: bigint
  }[]
  /** Bit per seat of the sync committee (bit i is `byte i >> 3`, `1 << (i & 7)`): who signed. Empty before Altair. */
  readonly syncBits: Uint8Array
  /** Validators that the block's slashings name, ascending; who among them was slashable only the state tells. */
  readonly accusedIndices: readonly number[]
}

/** `GET rewards/blocks`: the proposer's consensus reward by part, gwei. */
export interface ProposerReward {
  readonly attestationsGwei: bigint
  readonly syncAggregateGwei: bigint
  readonly proposerSlashingsGwei: bigint
  readonly attesterSlashingsGwei: bigint
}

export const STATE_LAYOUT = {
  validatorIndex: 'u32',
  balanceGwei: 'i64',
  effectiveBalanceEth: 'u32',
  status: 'u8',
  slashed: 'u8',
  activationEligibilityEpoch: 'u64',
  activationEpoch: 'u64',
  exitEpoch: 'u64',
  withdrawableEpoch: 'u64',
} as const
/** Registry rows by ascending index. */
export type ValidatorStates = ColumnsOf<typeof STATE_LAYOUT>

/** What names a validator. */
export interface ValidatorIdentity {
  readonly index: number
  readonly pubkey: string
  readonly withdrawalCredentials: string
}

/** Who somebody said some validators are: an index each, and 48 bytes of public key. */
export interface ClaimedValidators {
  readonly indices: Uint32Array
  readonly pubkeys: Uint8Array
}

/** What a registry that the chain's blocks commit to says of claimed validators. */
export interface RegistryWord {
  /** Of its state. */
  readonly slot: number
  /** 32 bytes for each claim that is right: the withdrawal credentials of its validator. */
  readonly credentials: Uint8Array
  /** Claims by their places that are not so: whose the index is there, and who the key is, where the registry has them. */
  readonly contradicted: readonly {
    readonly place: number
    readonly holder: ValidatorIdentity | undefined
    readonly right: ValidatorIdentity | undefined
  }[]
}

export type AttestationRewards = ColumnsOf<{
  validatorIndex: 'u32'
  sourceGwei: 'i64'
  targetGwei: 'i64'
  headGwei: 'i64'
  inactivityGwei: 'i64'
}>
export type Balances = ColumnsOf<{ validatorIndex: 'u32'; balanceGwei: 'i64' }>
export type SyncRewards = ColumnsOf<{ validatorIndex: 'u32'; syncGwei: 'i64' }>

export interface PendingDeposit {
  readonly pubkey: string
  readonly amountGwei: bigint
  readonly withdrawalCredentials: string
  readonly signature: string
  /** 0 marks bridge deposits and balances that were queued back. */
  readonly slot: number
}

/** What waits in the state at the head, and what its pace depends on. Only from Electra on. */
export interface StakingQueues {
  /** Of the head's block, and so of the state. */
  readonly slot: number
  readonly root: string
  /** As that state has it. */
  readonly finalizedEpoch: number
  /** In the order of the queue. The prefix is the first 8 bytes of the public key, big-endian: enough to find one's own. */
  readonly deposits: ColumnsOf<{
    pubkeyPrefix: 'u64'
    amountGwei: 'u64'
    slot: 'u64'
    /** Of the validator that the deposit is for where it is leaving or has left; FAR_FUTURE_EPOCH of all others. */
    withdrawableEpoch: 'u64'
  }>
  /** Those of the own validators that come or go. */
  readonly own: readonly ChangingValidator[]
  /** Empty where the node does not tell them. */
  readonly partials: ColumnsOf<{ validatorIndex: 'u64'; amountGwei: 'u64'; withdrawableEpoch: 'u64' }>
  /** Whose balances go to other validators; empty where the node does not tell them. */
  readonly consolidatedIndices: BigUint64Array
  /** Fields that only the whole state has; undefined where the node does not give it. */
  readonly fields: QueueFields | undefined
  /** Exiting validators, where `fields` are undefined; otherwise nobody. */
  readonly exiting: ValidatorStates
  readonly registry: RegistryFigures
  /** Validator that the withdrawal sweep looks at next; without `fields` the one after the head block's last withdrawal. */
  readonly sweepPosition: number
}

/** A validator that is not, or not for ever, active; an epoch that the state has not fixed is undefined. */
export interface ChangingValidator {
  readonly pubkey: string
  readonly eligibilityEpoch: number | undefined
  readonly activationEpoch: number | undefined
  readonly exitEpoch: number | undefined
  readonly withdrawableEpoch: number | undefined
}

/** Fields of the state, by their names in the specification. */
export interface QueueFields {
  readonly nextWithdrawalValidatorIndex: number
  readonly depositBalanceToConsumeGwei: bigint
  readonly exitBalanceToConsumeGwei: bigint
  readonly earliestExitEpoch: number
}

/** Figures of all validators: counted where the registry is small, otherwise those of an even sample. */
export interface RegistryFigures {
  readonly size: number
  readonly isSampled: boolean
  readonly totalActiveGwei: bigint
  /** Whom the withdrawal sweep would pay: a balance above the limit, or all of one that may leave. */
  readonly sweepEligible: number
}

/** An epoch of one branch, by its blocks. */
export interface EpochOfBranch {
  readonly epoch: number
  /** Roots of its blocks by ascending slot. */
  readonly blockRoots: readonly string[]
  /** Root of the last block before it. */
  readonly parentRoot: string
}

/** A finalized epoch that is to be computed from states; its blocks are those that the walk back from the final block has found. */
export interface EpochQuestion extends EpochOfBranch {
  /** Slots after which balances are asked for, too: of the epoch, or the last one before it. */
  readonly cutSlots: readonly number[]
}

/**
 * What became of a state that was to be kept: `absent` where no node gives it, or it is none that rewards are computed from; `no room` where
 * it is asked for again when it is final.
 */
export type KeepingOutcome = 'kept' | 'absent' | 'no room'

/** What a block's proposer earned by it, gwei. */
export interface ComputedProposal extends ProposerReward {
  readonly slot: number
}

/** What explains the balances of an epoch, computed from the states before and after it and its blocks: of the validators asked for. */
export interface ExplainedRows {
  /** After the epoch, of those that are in the registry. */
  readonly states: ValidatorStates
  /** Rows as those of `states`: the first byte of their withdrawal credentials, which is another one when these have changed. */
  readonly credentialTypes: Uint8Array
  /** Rows as those of `states`: credited by the transition into the epoch. */
  readonly attestations: AttestationRewards
  /** A row per block and member of the committee, summed over its seats. */
  readonly sync: ColumnsOf<{ slot: 'u32'; validatorIndex: 'u32'; syncGwei: 'i64' }>
  /** Of all blocks. */
  readonly proposals: readonly ComputedProposal[]
  readonly effects: readonly BalanceEffect[]
  /** What is not explained, of validators where that is not 0. */
  readonly residuals: readonly { readonly validatorIndex: number; readonly gwei: string }[]
  readonly proof: EpochProof
  /** Who was to propose in each of the epoch's slots; undefined where the state that was kept does not say it. */
  readonly proposers: readonly number[] | undefined
  /** Of the whole registry; undefined where a balance of it is left unexplained. */
  readonly network: NetworkSums | undefined
  /** What nodes tell of the epoch otherwise, as far as they were asked and answered in time. */
  readonly differences: readonly ToldOtherwise[]
  /** After the slots that were asked for, as replayed: of a validator with a residual it is not known whether that came before. */
  readonly cuts: readonly { readonly slot: number; readonly balances: Balances }[]
}

/**
 * Validators that a question is about: ascending indices. Pass the same array again while the set is the same: an
 * implementation keeps what it has made of it.
 */
export type ValidatorSet = Uint32Array

/** What a node announces. After a `gap` something may have been missed: whoever relies on the news has to ask. */
export type ChainNews =
  | ({ readonly kind: 'head' } & BeaconHead)
  | ({ readonly kind: 'finalized' } & FinalizedCheckpoint)
  | { readonly kind: 'gap' }

/**
 * The chain up to a finalized checkpoint, with its states and rewards.
 *
 * Guarantees, beside those of `BeaconSource`: only nodes are asked that hold the checkpoint's block as final at its slot, so that
 * answers of several nodes are of one chain; what a node itself calls not final or optimistic is not an answer (node_lagging).
 * Not promised: that a node stays on the chain while it is asked; `confirm` finds that out.
 */
export interface FinalChain {
  /**
   * A block of the slot that may be the final one, or undefined where the node has none: spares a walk by parent roots its
   * waiting, and proves nothing.
   */
  blockHint(slot: number): Promise<BeaconBlock | undefined>
  /** Root of the block of a slot; undefined where the node has none. */
  rootAt(slot: number): Promise<string | undefined>
  /** Registry rows of the state after this slot (an empty slot has a state too). */
  validators(slot: number, validators: ValidatorSet): Promise<ValidatorStates>
  balances(slot: number, validators: ValidatorSet): Promise<Balances>
  /** Who these public keys are in the state after this slot; unknown ones are left out. */
  identify(slot: number, pubkeys: readonly string[]): Promise<readonly ValidatorIdentity[]>
  /**
   * Holds what a node said of who validators are against the newest registry that was read here with a state whose root a block names, of the
   * checkpoint's chain; undefined while there is none.
   */
  registered(claims: ClaimedValidators): Promise<RegistryWord | undefined>
  /**
   * Everything that changed balances in an epoch that is final by the checkpoint, computed here; undefined where no node gives the states
   * that it takes, or they are of a preset that this process does not have. A root that the chain's blocks do not name is node_inconsistent.
   */
  explainedEpoch(question: EpochQuestion, validators: ValidatorSet): Promise<ExplainedRows | undefined>
  /**
   * Whether the whole state after this slot can be had, without having it: its bytes, undefined where nobody tells their number before they
   * come. Undefined where rewards are not computed from states. Throws node_lagging where no node gives it.
   */
  stateOffer(slot: number): Promise<{ readonly bytes: number | undefined } | undefined>
  /** Deposits waiting after this slot, in the order of the queue; from Electra on. */
  pendingDeposits(slot: number): Promise<readonly PendingDeposit[]>
  /** Rewards for the duty epoch; available once the epoch after it has ended. */
  attestationRewards(epoch: number, validators: ValidatorSet): Promise<AttestationRewards>
  proposerReward(blockRoot: string): Promise<ProposerReward>
  /** One row per validator, summed over its seats. */
  syncRewards(blockRoot: string, validators: ValidatorSet): Promise<SyncRewards>
  /** Indices of the sync committee that serves in an epoch, one per seat; from Altair on. */
  syncCommittee(epoch: number): Promise<Uint32Array>
  /** Resolves when every node that has answered so far still holds the checkpoint's block; throws AppError otherwise. */
  confirm(): Promise<void>
}

/**
 * What ingest needs of a beacon node, nothing more. Any node with the standard Beacon API serves.
 *
 * Guarantees: an answer is whole and of the documented shape, or the call throws an AppError that tells node faults apart
 * (node_unreachable, node_lagging, node_malformed, node_refused, node_inconsistent); transient faults were already retried, on the
 * fallbacks too. An empty slot is a value (`undefined`), never an error, and never guessed from a lagging node's 404.
 * Rows are by ascending index and of the validators asked for only; of those that the answer does not know there is no row.
 * Not the implementer's job: deciding whether a missing row is right; waiting for a node that is down for long.
 */
export interface BeaconSource extends AsyncDisposable {
  /** Asked at the first use, then remembered. */
  chain(): Promise<BeaconChain>
  head(): Promise<BeaconHead>
  finalized(): Promise<FinalizedCheckpoint>
  /**
   * The canonical block of a slot; undefined when the node, being past the slot and in sync, has none. Confirm that by the
   * parent root of the next block. Throws node_lagging when the node is not past it.
   */
  blockAt(slot: number): Promise<BeaconBlock | undefined>
  blockByRoot(root: string): Promise<BeaconBlock>
  /** Of a block of any fork, a later one than is known here, too: the root commits to it. */
  headerByRoot(root: string): Promise<BlockHeader>
  /**
   * What waits at the head, all of it from one node and one state, and how it stands there with validators of one's own (public keys,
   * lower-case hex); throws node_inconsistent when the head changes meanwhile.
   */
  queues(own: readonly string[]): Promise<StakingQueues>
  /**
   * Reads the state after an epoch's last slot while nodes still have it, checks that it is the one that the epoch's blocks lead to, and
   * keeps what `explainedEpoch` needs of it, over restarts. Repeated it does nothing. For one process at a time.
   */
  keepState(epoch: EpochOfBranch): Promise<KeepingOutcome>
  /** Forgets the states of before this epoch's end, and those that another block than the root's led to at its end. */
  dropStatesBefore(epoch: number, endRoot: string): Promise<void>
  /** What is final by this checkpoint. */
  finalChain(checkpoint: FinalizedCheckpoint): FinalChain
  /**
   * Calls `onNews` with every head and finalized checkpoint that a node announces, and with a gap whenever it has begun to
   * listen; reconnects by itself, until the signal aborts. News may be lost or come late: look on your own too.
   */
  watch(onNews: (news: ChainNews) => void, signal: AbortSignal): Promise<void>
  /** How the nodes are, as far as questions have shown it. */
  status(): readonly NodeStatus[]
}
