import type { TransitionFork } from './fork-rules.ts'

/** An epoch that is not set, in columns of 32 bits (FAR_FUTURE_EPOCH has 64). */
export const UNSET_EPOCH = 0xffff_ffff

/** First byte of withdrawal credentials (consensus-specs, capella and electra). */
export const EXECUTION_PREFIX = 0x01
export const COMPOUNDING_PREFIX = 0x02

/** Bits of a participation byte (consensus-specs, altair). */
export const SOURCE_FLAG = 1
export const TARGET_FLAG = 2
export const HEAD_FLAG = 4
/** Weights of the flags, out of 64. */
export const SOURCE_WEIGHT = 14
export const TARGET_WEIGHT = 26
export const HEAD_WEIGHT = 14
export const WEIGHT_DENOMINATOR = 64

/** An entry of `pending_deposits` (EIP-6110, EIP-7251) or a deposit of a block's body. */
export interface StateDeposit {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
  readonly amountGwei: number
  /** 96 bytes. */
  readonly signature: Uint8Array
}

export interface PendingStateDeposit extends StateDeposit {
  /** Of the request; 0 of bridge deposits and of balances that the chain has queued itself. */
  readonly slot: number
}

/** `pending_partial_withdrawals` in its order. */
export interface PendingPartial {
  readonly validatorIndex: number
  readonly amountGwei: number
  readonly withdrawableEpoch: number
}

export interface PendingConsolidation {
  readonly sourceIndex: number
  readonly targetIndex: number
}

/** Electra's queues, as far as one epoch can get. */
export interface StateQueues {
  /** The first of `pending_deposits`: as many as a transition may handle, and the next one. */
  readonly deposits: readonly PendingStateDeposit[]
  readonly partials: readonly PendingPartial[]
  readonly consolidations: readonly PendingConsolidation[]
  readonly depositBalanceToConsumeGwei: bigint
  readonly eth1DepositIndex: bigint
  readonly depositRequestsStartIndex: bigint
}

export interface StateCheckpoints {
  /** Bit i: epoch `current - i` is justified. */
  readonly justificationBits: number
  readonly previousJustifiedEpoch: number
  readonly currentJustifiedEpoch: number
  readonly finalizedEpoch: number
}

/**
 * What one state says of balances and of all that changes them: a column each, a value per validator. Balances are gwei as doubles, which
 * are exact: a reader refuses a balance of 2^53 gwei, 9 million ETH.
 */
export interface StateColumns {
  readonly slot: number
  readonly fork: TransitionFork
  readonly validators: number
  readonly balancesGwei: Float64Array
  /** Effective balances in units of 1e9 gwei. */
  readonly effectiveIncrements: Uint16Array
  readonly slashed: Uint8Array
  readonly eligibilityEpochs: Uint32Array
  readonly activationEpochs: Uint32Array
  readonly exitEpochs: Uint32Array
  readonly withdrawableEpochs: Uint32Array
  /** First byte of the withdrawal credentials. */
  readonly credentialPrefixes: Uint8Array
  readonly previousParticipation: Uint8Array
  readonly currentParticipation: Uint8Array
  readonly inactivityScores: Uint32Array
  /** Sum of `slashings`. */
  readonly slashingsGwei: bigint
  readonly checkpoints: StateCheckpoints
  /** 32 bytes each, by slot modulo SLOTS_PER_HISTORICAL_ROOT. */
  readonly blockRoots: Uint8Array
  /** 32 bytes each, by epoch modulo EPOCHS_PER_HISTORICAL_VECTOR. */
  readonly randaoMixes: Uint8Array
  /** Who is to propose in each slot of the state's epoch and of the next (EIP-7917). Undefined before Fulu. */
  readonly proposerLookahead: Uint32Array | undefined
  /** Validator of each seat of the current sync committee. */
  readonly syncSeats: Uint32Array
  /** Undefined before Electra. */
  readonly queues: StateQueues | undefined
  /** Validator of a public key (48 bytes) that was asked for when the state was read; undefined where the registry has none. */
  indexOf(pubkey: Uint8Array): number | undefined
  /** The withdrawal credentials of a validator whose public key was asked for, 32 bytes. */
  credentialsOf(index: number): Uint8Array
}

/**
 * Throws unless the columns of one value per validator have one for each: those that were given back are empty, and what is read of them
 * is no number, or counts as 0.
 */
export function refuseGivenBack({ slot, validators, balancesGwei, currentParticipation }: StateColumns): void {
  if (balancesGwei.length >= validators && currentParticipation.length >= validators) return
  throw new Error(`the columns of the state of slot ${slot} were given back and are read again`)
}

/**
 * `is_active_validator` (consensus-specs, phase0) of who is activated and exits in these epochs, as 1 or 0. It is no branch, nor is it to be one in a loop over
 * a registry: half of mainnet's validators have left, in no order, and each answer that a processor had not foreseen takes as long as ten validators.
 */
export function activity(activationEpoch: number, exitEpoch: number, epoch: number): number {
  return Number(activationEpoch <= epoch) & Number(epoch < exitEpoch)
}

export function isActive(state: StateColumns, index: number, epoch: number): boolean {
  return activity(state.activationEpochs[index] as number, state.exitEpochs[index] as number, epoch) === 1
}

/** Those that are active in an epoch. */
export interface ActiveSums {
  readonly validators: number
  /** Their effective balances, in increments. */
  readonly increments: number
}

/** `get_total_active_balance`, in increments. */
export function totalActive({ increments }: ActiveSums): number {
  return Math.max(1, increments)
}

export function activeSums(state: StateColumns, epoch: number): ActiveSums {
  const { validators, effectiveIncrements, activationEpochs, exitEpochs } = state
  let [count, sum] = [0, 0]
  for (let i = 0; i < validators; i++) {
    const isOn = activity(activationEpochs[i] as number, exitEpochs[i] as number, epoch)
    count += isOn
    sum += isOn * (effectiveIncrements[i] as number)
  }
  return { validators: count, increments: sum }
}

/** `get_base_reward_per_increment`, gwei: `increment * BASE_REWARD_FACTOR // isqrt(total active balance)`. */
export function baseRewardPerIncrement(
  baseRewardFactor: number,
  totalIncrements: number,
  incrementGwei: number,
): number {
  return Math.floor(
    (incrementGwei * baseRewardFactor) / integerSquareRoot(BigInt(totalIncrements) * BigInt(incrementGwei)),
  )
}

/** Largest integer whose square is not above the value (consensus-specs, integer_squareroot), for values below 2^106. */
export function integerSquareRoot(value: bigint): number {
  let root = BigInt(Math.floor(Math.sqrt(Number(value))))
  while (root * root > value) root--
  while ((root + 1n) * (root + 1n) <= value) root++
  return Number(root)
}
