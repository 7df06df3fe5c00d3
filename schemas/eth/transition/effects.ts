import type { BalanceEffectKind } from '../../events/balance-effects.ts'
import { lend } from '../../memory.ts'

/** Consensus rewards of a block's proposer, by what it included. */
export const PROPOSER_KINDS = [
  'proposer_attestations',
  'proposer_sync',
  'proposer_proposer_slashings',
  'proposer_attester_slashings',
] as const
export type ProposerKind = (typeof PROPOSER_KINDS)[number]

const KINDS: ReadonlySet<string> = new Set(PROPOSER_KINDS)

export function isProposerKind(kind: EffectKind): kind is ProposerKind {
  return KINDS.has(kind)
}

/** Why a balance changed at a slot, beside the four dense components of a transition and the seats of the sync committee. */
export type EffectKind = ProposerKind | Exclude<BalanceEffectKind, 'withdrawal'>

export interface Effect {
  readonly slot: number
  readonly validatorIndex: number
  readonly kind: EffectKind
  /** Tells effects of one slot, validator and kind apart: the protocol's own number, or the place in its list. */
  readonly reference: number
  /** As it was applied: a penalty on an empty balance costs nothing. */
  readonly gwei: number
}

/** A seat of the sync committee in one block, as it was applied. */
export interface SeatEffects {
  readonly slots: Uint32Array
  readonly validators: Uint32Array
  readonly gwei: Float64Array
}

/**
 * Balances as they are replayed, gwei. Every change goes through here and says why, so that what is recorded and what the replayed
 * balance has done are the same.
 */
export class ReplayedBalances {
  readonly gwei: Float64Array
  readonly effects: Effect[] = []
  readonly #seatSlots: number[] = []
  readonly #seatValidators: number[] = []
  readonly #seatGwei: number[] = []

  /** As they stand before; validators that came later begin with nothing. */
  constructor(before: Float64Array, validators: number) {
    this.gwei = lend(Float64Array, validators)
    this.gwei.set(before)
    this.gwei.fill(0, before.length)
  }

  /** Adds an amount, or takes one away as far as there is any (consensus-specs: decrease_balance stops at 0); what was applied. */
  apply(validatorIndex: number, gwei: number): number {
    const before = this.gwei[validatorIndex] as number
    const applied = Math.max(gwei, -before)
    this.gwei[validatorIndex] = before + applied
    return applied
  }

  /**
   * Adds `gwei`, the sum of several amounts, where the balance has what the negative ones of them take away, whose sum is `lost`: each is applied as a
   * whole then, in whatever order. Otherwise nothing is done and it says false.
   */
  applyWhole(validatorIndex: number, gwei: number, lost: number): boolean {
    const before = this.gwei[validatorIndex] as number
    if (before + lost < 0) return false
    this.gwei[validatorIndex] = before + gwei
    return true
  }

  /** Applies an effect, and records what of it was applied. */
  record(effect: Effect): void {
    const gwei = this.apply(effect.validatorIndex, effect.gwei)
    if (gwei !== 0) this.effects.push(gwei === effect.gwei ? effect : { ...effect, gwei })
  }

  /** Records what was applied by parts. */
  recordApplied(effect: Effect): void {
    if (effect.gwei !== 0) this.effects.push(effect)
  }

  recordSeat(slot: number, validatorIndex: number, gwei: number): void {
    this.#seatSlots.push(slot)
    this.#seatValidators.push(validatorIndex)
    this.#seatGwei.push(this.apply(validatorIndex, gwei))
  }

  seats(): SeatEffects {
    return {
      slots: Uint32Array.from(this.#seatSlots),
      validators: Uint32Array.from(this.#seatValidators),
      gwei: Float64Array.from(this.#seatGwei),
    }
  }
}
