/**
 * When the withdrawal sweep comes to a validator. Source: consensus-specs, get_expected_withdrawals and process_withdrawals (capella,
 * electra): a block looks at so many validators from where the one before has stopped, and pays so many at most.
 */

export interface SweepRules {
  /** MAX_WITHDRAWALS_PER_PAYLOAD */
  readonly perBlockMax: number
  /** MAX_PENDING_PARTIALS_PER_WITHDRAWALS_SWEEP: so many of them may be requested partial withdrawals, which come first. */
  readonly partialsPerBlockMax: number
  /** MAX_VALIDATORS_PER_WITHDRAWALS_SWEEP */
  readonly examinedPerBlockMax: number
}

export interface SweepState {
  readonly slot: number
  /** `next_withdrawal_validator_index` after that slot's block. */
  readonly position: number
  /** Validators in the registry; above 0. */
  readonly registrySize: number
  /** Validators that the sweep would pay if it came to them now. */
  readonly eligible: number
  /** Requested partial withdrawals that wait. */
  readonly partials: number
}

/** Slots in which the sweep goes around once; at least 1. A long queue of partial withdrawals has its part of every block. */
export function sweepCycleSlots(rules: SweepRules, { registrySize, eligible, partials }: SweepState): number {
  const round = (perBlock: number) => Math.ceil(eligible / perBlock)
  const isCrowded = partials > rules.partialsPerBlockMax * round(rules.perBlockMax)
  const paid = isCrowded ? rules.perBlockMax - rules.partialsPerBlockMax : rules.perBlockMax
  return Math.max(1, Math.ceil(registrySize / rules.examinedPerBlockMax), round(paid))
}

export interface SweepEstimate {
  readonly slot: number
  /** The withdrawal is expected within so many slots before and after. */
  readonly errorSlots: number
}

/** Those that are due lie unevenly in the registry, and slots are missed: this part of the way there may be wrong. */
const PACE_ERROR = 4

/**
 * Slot in which a validator is swept that may be from slot `fromSlot` on. Within one cycle of now the place of the sweep can be told; later than
 * that it may be anywhere, so half a cycle is added, which is also the error.
 */
export function estimateSweep(
  rules: SweepRules,
  state: SweepState,
  { validatorIndex, fromSlot }: { readonly validatorIndex: number; readonly fromSlot: number },
): SweepEstimate {
  const { registrySize } = state
  const cycleSlots = sweepCycleSlots(rules, state)
  const half = Math.ceil(cycleSlots / 2)
  const waitSlots = Math.max(0, fromSlot - state.slot)
  const begins = state.slot + waitSlots
  if (waitSlots > cycleSlots) return { slot: begins + half, errorSlots: half }
  const position = state.position + (waitSlots * registrySize) / cycleSlots
  const distance = modulo(validatorIndex - position, registrySize)
  const slot = begins + Math.ceil((distance * cycleSlots) / registrySize)
  return { slot, errorSlots: Math.min(half, Math.ceil((slot - state.slot) / PACE_ERROR)) }
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
