import { type ChurnRules, churnLimits } from './churn.ts'
import { FAR_FUTURE_EPOCH } from './far-future.ts'

/** `pending_deposits` of a state, in its order, a column each. */
export interface PendingDepositColumns {
  readonly amountsGwei: BigUint64Array
  /** Slot of the request; 0 for bridge deposits and balances that were queued back. */
  readonly slots: BigUint64Array
  /** Of the validator with the deposit's public key where it is exiting or has left; FAR_FUTURE_EPOCH where not, or not known. */
  readonly withdrawableEpochs: BigUint64Array
}

export interface DepositQueueState {
  /** Of the state that the queue was read from. */
  readonly epoch: number
  /** `deposit_balance_to_consume` */
  readonly carriedGwei: bigint
  readonly totalActiveGwei: bigint
}

export interface DepositQueueRules {
  readonly churn: ChurnRules
  readonly slotsPerEpoch: number
  /** MAX_PENDING_DEPOSITS_PER_EPOCH */
  readonly perEpochMax: number
  /** Finalized epoch when the transition at the end of an epoch has justified and finalized. */
  readonly finalizedAtEndOf: (epoch: number) => number
}

/** So far ahead the queue is followed: at mainnet's least churn 100,000 epochs let 400,000 validators in. */
export const EPOCHS_AHEAD_MAX = 100_000
/** Stands for "not within EPOCHS_AHEAD_MAX". */
export const NEVER = 0xffff_ffff

/**
 * First epoch in whose state the deposit is credited (the one after the transition that clears it), by position in the queue. Plays
 * process_pending_deposits (consensus-specs, electra; fulu has no bridge deposits to wait for) transition by transition: the walk stops
 * at a deposit that is not final, after `perEpochMax` entries, or where the epoch's limit and what was carried do not suffice; only then the
 * rest is carried. A deposit of an exiting validator goes to the end, one of a withdrawn validator takes no churn. A deposit that is
 * dropped for its signature takes as much as another.
 */
export function clearEpochs(
  queue: PendingDepositColumns,
  { epoch, carriedGwei, totalActiveGwei }: DepositQueueState,
  rules: DepositQueueRules,
): Uint32Array {
  const cleared = new Uint32Array(queue.slots.length).fill(NEVER)
  const walk: Walk = { queue, waiting: Uint32Array.from(queue.slots.keys()), cleared, carriedGwei }
  for (let ending = epoch; walk.waiting.length > 0 && ending < epoch + EPOCHS_AHEAD_MAX; ending++) {
    const { activationGwei } = churnLimits(rules.churn, ending, totalActiveGwei)
    const finalizedSlot = BigInt(rules.finalizedAtEndOf(ending) * rules.slotsPerEpoch)
    endEpoch(walk, { nextEpoch: ending + 1, activationGwei, finalizedSlot, perEpochMax: rules.perEpochMax })
  }
  return cleared
}

interface Walk {
  readonly queue: PendingDepositColumns
  /** Positions in the queue as it was read, in the order in which they wait. */
  waiting: Uint32Array
  readonly cleared: Uint32Array
  carriedGwei: bigint
}

interface Transition {
  readonly nextEpoch: number
  readonly activationGwei: bigint
  readonly finalizedSlot: bigint
  readonly perEpochMax: number
}

function endEpoch(walk: Walk, { nextEpoch, activationGwei, finalizedSlot, perEpochMax }: Transition): void {
  const { amountsGwei, slots, withdrawableEpochs } = walk.queue
  const availableGwei = walk.carriedGwei + activationGwei
  const postponed: number[] = []
  let usedGwei = 0n
  let handled = 0
  let isLimitReached = false
  for (const position of walk.waiting.subarray(0, perEpochMax)) {
    if ((slots[position] as bigint) > finalizedSlot) break
    const withdrawable = withdrawableEpochs[position] as bigint
    const isWithdrawn = withdrawable < BigInt(nextEpoch)
    if (!isWithdrawn && withdrawable !== FAR_FUTURE_EPOCH) postponed.push(position)
    else {
      if (!isWithdrawn) {
        const wantedGwei = usedGwei + (amountsGwei[position] as bigint)
        isLimitReached = wantedGwei > availableGwei
        if (isLimitReached) break
        usedGwei = wantedGwei
      }
      walk.cleared[position] = nextEpoch
    }
    handled++
  }
  const rest = walk.waiting.subarray(handled)
  walk.waiting = postponed.length === 0 ? rest : Uint32Array.from([...rest, ...postponed])
  walk.carriedGwei = isLimitReached ? availableGwei - usedGwei : 0n
}

/**
 * Epoch in which a validator is active whose balance has been enough for that since `clearEpoch`: the transition at the end of that epoch
 * makes it eligible for the next one, the first transition that finds that epoch final sets the activation (consensus-specs,
 * process_registry_updates). `finalityLag`: epochs that finality is behind when an epoch ends, 1 where all is well.
 */
export function activationEpochAfter(
  clearEpoch: number,
  { finalityLag, seedLookahead }: { readonly finalityLag: number; readonly seedLookahead: number },
): number {
  const eligibilityEpoch = clearEpoch + 1
  return eligibilityEpoch + finalityLag + 1 + seedLookahead
}
