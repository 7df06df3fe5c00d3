/**
 * How much balance may become active, leave or be consolidated in an epoch, and which epoch an exit gets by that. Sources:
 * consensus-specs electra (get_balance_churn_limit, get_activation_exit_churn_limit, compute_exit_epoch_and_update_churn,
 * compute_consolidation_epoch_and_update_churn) and gloas (get_activation_churn_limit, get_exit_churn_limit,
 * get_consolidation_churn_limit). Amounts are gwei as bigint: all that is staked exceeds what a double holds exactly.
 */

/** Parameters of the chain, by their names in /eth/v1/config/spec. */
export interface ChurnRules {
  /** EFFECTIVE_BALANCE_INCREMENT: limits are whole multiples of it. */
  readonly incrementGwei: bigint
  /** MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA */
  readonly churnMinGwei: bigint
  /** CHURN_LIMIT_QUOTIENT */
  readonly quotient: bigint
  /** MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT */
  readonly activationExitMaxGwei: bigint
  /** Undefined where the node does not know of Gloas, or has not planned it. */
  readonly gloas: GloasChurnRules | undefined
}

export interface GloasChurnRules {
  /** GLOAS_FORK_EPOCH */
  readonly fromEpoch: number
  /** CHURN_LIMIT_QUOTIENT_GLOAS */
  readonly quotient: bigint
  /** CONSOLIDATION_CHURN_LIMIT_QUOTIENT */
  readonly consolidationQuotient: bigint
  /** MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT_GLOAS */
  readonly activationMaxGwei: bigint
}

/** Balance that an epoch takes, gwei. */
export interface ChurnLimits {
  readonly activationGwei: bigint
  readonly exitGwei: bigint
  readonly consolidationGwei: bigint
}

/** The limits of an epoch, from Electra on, with so much active balance in it. */
export function churnLimits(rules: ChurnRules, epoch: number, totalActiveGwei: bigint): ChurnLimits {
  const { gloas, churnMinGwei } = rules
  const share = (quotient: bigint) => totalActiveGwei / quotient
  const whole = (gwei: bigint) => gwei - (gwei % rules.incrementGwei)
  if (gloas === undefined || epoch < gloas.fromEpoch) {
    const balance = whole(larger(churnMinGwei, share(rules.quotient)))
    const shared = smaller(rules.activationExitMaxGwei, balance)
    return { activationGwei: shared, exitGwei: shared, consolidationGwei: balance - shared }
  }
  const exitGwei = whole(larger(churnMinGwei, share(gloas.quotient)))
  return {
    activationGwei: smaller(gloas.activationMaxGwei, exitGwei),
    exitGwei,
    consolidationGwei: whole(share(gloas.consolidationQuotient)),
  }
}

/** A queue of epochs that balance is taken from: of exits, or of consolidations, each with its own fields of the state. */
export interface ChurnQueue {
  /** `earliest_exit_epoch`, `earliest_consolidation_epoch`: the epoch that the one before has got. */
  readonly earliestEpoch: number
  /** `exit_balance_to_consume`, `consolidation_balance_to_consume`: what is left of that epoch's limit. */
  readonly leftGwei: bigint
}

export interface ChurnEpoch {
  /** In which the exit or consolidation is processed. */
  readonly currentEpoch: number
  /** Of that epoch; above 0 (with a consolidation limit of 0 the chain ignores requests). */
  readonly limitGwei: bigint
  /** MAX_SEED_LOOKAHEAD */
  readonly seedLookahead: number
}

/** First epoch for which what is processed in `epoch` can take effect (compute_activation_exit_epoch). */
export function firstEffectEpoch(epoch: number, seedLookahead: number): number {
  return epoch + 1 + seedLookahead
}

/** The queue after a balance (above 0) has joined it; its `earliestEpoch` is the epoch that this balance has got. */
export function joinChurnQueue(queue: ChurnQueue, balanceGwei: bigint, at: ChurnEpoch): ChurnQueue {
  const first = Math.max(queue.earliestEpoch, firstEffectEpoch(at.currentEpoch, at.seedLookahead))
  const leftGwei = queue.earliestEpoch < first ? at.limitGwei : queue.leftGwei
  if (balanceGwei <= leftGwei) return { earliestEpoch: first, leftGwei: leftGwei - balanceGwei }
  const more = (balanceGwei - leftGwei - 1n) / at.limitGwei + 1n
  return { earliestEpoch: first + Number(more), leftGwei: leftGwei + more * at.limitGwei - balanceGwei }
}

/** A balance that leaves, or is paid out in part, by an epoch that it has got. */
export interface ScheduledExit {
  readonly epoch: number
  readonly balanceGwei: bigint
}

/**
 * The queue of exits where its two fields cannot be read: what is scheduled for the latest epoch has used that epoch's limit. `scheduled`
 * holds exiting validators (exit epoch) and pending partial withdrawals (withdrawable epoch less the delay), not the sources of
 * consolidations, which have a queue of their own. Good to about an epoch: a balance larger than a limit has used the epochs before too.
 */
export function approximateExitQueue(scheduled: readonly ScheduledExit[], limitGwei: bigint): ChurnQueue {
  const earliestEpoch = scheduled.reduce((latest, { epoch }) => Math.max(latest, epoch), 0)
  const usedGwei = scheduled.reduce((sum, one) => (one.epoch === earliestEpoch ? sum + one.balanceGwei : sum), 0n)
  const rest = usedGwei % limitGwei
  return { earliestEpoch, leftGwei: rest === 0n && usedGwei > 0n ? 0n : limitGwei - rest }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
