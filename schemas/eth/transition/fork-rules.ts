import { AppError } from '../../errors.ts'
import { type Spec, specInteger } from '../chain-spec.ts'

// Numbers that the transition function goes by, as the node tells them (`GET /eth/v1/config/spec`: preset and configuration by name).

/** Forks whose transition is known here, in their order. A state of phase0 has attestations instead of participation: it is refused by name. */
export const TRANSITION_FORKS = ['altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu'] as const
export type TransitionFork = (typeof TRANSITION_FORKS)[number]

/** Whether a fork is this one or a later one. */
export function isFrom(fork: TransitionFork, first: TransitionFork): boolean {
  return TRANSITION_FORKS.indexOf(fork) >= TRANSITION_FORKS.indexOf(first)
}

/** Throws AppError `usage` for a fork before Altair or one that is not known here. */
export function parseTransitionFork(name: string): TransitionFork {
  const fork = TRANSITION_FORKS.find((known) => known === name)
  if (fork !== undefined) return fork
  const why = name === 'phase0' ? 'has no participation flags (Altair brought them)' : 'is not known to this version'
  throw new AppError('usage', `rewards cannot be computed from states of the fork ${name}: it ${why}`)
}

/** Gwei of one step of an effective balance (EFFECTIVE_BALANCE_INCREMENT), which no chain has changed. */
export const INCREMENT_GWEI = 1_000_000_000
/** MAX_EFFECTIVE_BALANCE_ELECTRA in increments: no effective balance of any fork is above it. */
export const INCREMENTS_MAX = 2_048

/** Numbers of a chain that all of its forks share. */
export interface ChainRules {
  readonly slotsPerEpoch: number
  readonly baseRewardFactor: number
  readonly slotsPerHistoricalRoot: number
  readonly epochsPerHistoricalVector: number
  readonly epochsPerSlashingsVector: number
  readonly minSeedLookahead: number
  readonly shuffleRounds: number
  readonly targetCommitteeSize: number
  readonly committeesPerSlotMax: number
  readonly syncCommitteeSize: number
  readonly minEpochsToInactivityPenalty: number
  readonly inactivityScoreBias: number
  readonly inactivityScoreRecoveryRate: number
}

/** Numbers that a fork has changed. */
export interface ForkRules {
  readonly inactivityQuotient: number
  readonly slashingMultiplier: number
  readonly slashingPenaltyQuotient: number
  readonly whistleblowerQuotient: number
}

/** What numbers have behind their names that Altair and Bellatrix have changed. */
function mergedName(fork: TransitionFork): string {
  return isFrom(fork, 'bellatrix') ? 'BELLATRIX' : 'ALTAIR'
}

/** What an effective balance is divided by for the penalty at the slashing. Throws as `forkRules`. */
export function slashingPenaltyQuotientOf(spec: Spec, fork: TransitionFork): number {
  const name = isFrom(fork, 'electra') ? 'ELECTRA' : mergedName(fork)
  return Number(specInteger(spec, `MIN_SLASHING_PENALTY_QUOTIENT_${name}`))
}

/** Numbers of Electra's queues. */
export interface QueueRules {
  readonly activationBalanceMinGwei: number
  readonly ejectionBalanceGwei: number
  readonly depositsPerEpochMax: number
  readonly partialsPerSweepMax: number
  readonly churnMinGwei: bigint
  readonly churnQuotient: bigint
  readonly activationExitChurnMaxGwei: bigint
}

/** Throws AppError `node_malformed` where the node does not tell one of the numbers. */
export function chainRules(spec: Spec): ChainRules {
  const number = (name: string) => Number(specInteger(spec, name))
  if (specInteger(spec, 'EFFECTIVE_BALANCE_INCREMENT') !== BigInt(INCREMENT_GWEI))
    throw new AppError('usage', 'effective balances of this chain have an increment other than 1 ETH')
  return {
    slotsPerEpoch: number('SLOTS_PER_EPOCH'),
    baseRewardFactor: number('BASE_REWARD_FACTOR'),
    slotsPerHistoricalRoot: number('SLOTS_PER_HISTORICAL_ROOT'),
    epochsPerHistoricalVector: number('EPOCHS_PER_HISTORICAL_VECTOR'),
    epochsPerSlashingsVector: number('EPOCHS_PER_SLASHINGS_VECTOR'),
    minSeedLookahead: number('MIN_SEED_LOOKAHEAD'),
    shuffleRounds: number('SHUFFLE_ROUND_COUNT'),
    targetCommitteeSize: number('TARGET_COMMITTEE_SIZE'),
    committeesPerSlotMax: number('MAX_COMMITTEES_PER_SLOT'),
    syncCommitteeSize: number('SYNC_COMMITTEE_SIZE'),
    minEpochsToInactivityPenalty: number('MIN_EPOCHS_TO_INACTIVITY_PENALTY'),
    inactivityScoreBias: number('INACTIVITY_SCORE_BIAS'),
    inactivityScoreRecoveryRate: number('INACTIVITY_SCORE_RECOVERY_RATE'),
  }
}

/** Throws AppError `node_malformed` where the node does not tell one of the numbers. */
export function forkRules(spec: Spec, fork: TransitionFork): ForkRules {
  const merged = mergedName(fork)
  const number = (name: string) => Number(specInteger(spec, name))
  return {
    inactivityQuotient: number(`INACTIVITY_PENALTY_QUOTIENT_${merged}`),
    slashingMultiplier: number(`PROPORTIONAL_SLASHING_MULTIPLIER_${merged}`),
    slashingPenaltyQuotient: slashingPenaltyQuotientOf(spec, fork),
    whistleblowerQuotient: number(`WHISTLEBLOWER_REWARD_QUOTIENT${isFrom(fork, 'electra') ? '_ELECTRA' : ''}`),
  }
}

/** Throws AppError `node_malformed` where the node does not tell one of the numbers. */
export function queueRules(spec: Spec): QueueRules {
  const integer = (name: string) => specInteger(spec, name)
  return {
    activationBalanceMinGwei: Number(integer('MIN_ACTIVATION_BALANCE')),
    ejectionBalanceGwei: Number(integer('EJECTION_BALANCE')),
    depositsPerEpochMax: Number(integer('MAX_PENDING_DEPOSITS_PER_EPOCH')),
    partialsPerSweepMax: Number(integer('MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP')),
    churnMinGwei: integer('MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA'),
    churnQuotient: integer('CHURN_LIMIT_QUOTIENT'),
    activationExitChurnMaxGwei: integer('MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT'),
  }
}
