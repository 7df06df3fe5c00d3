import { type Static, Type } from 'typebox'
import { IntegerText, UInt } from './fields.ts'

/** What changed a validator's balance in an epoch beside attestations, the sync committee and proposals. */
export const BALANCE_EFFECT_KINDS = [
  // Penalties: the part of a slashing that is taken at once, and the one that comes with those of others half-way to withdrawable.
  'slashing_penalty',
  'slashing_correlation',
  // Capital that left: as a request (EIP-7002), what is above the maximum, all of one that has exited; where it was not told apart, `withdrawal`.
  'withdrawal',
  'withdrawal_requested',
  'withdrawal_partial',
  'withdrawal_full',
  // Capital that came, and balances that the chain took into its queue of deposits and gave back (EIP-7251).
  'deposit',
  'moved_to_queue',
  'returned_from_queue',
  'consolidation_in',
  'consolidation_out',
] as const
export type BalanceEffectKind = (typeof BALANCE_EFFECT_KINDS)[number]

export const BalanceEffect = Type.Object({
  /** Of the block; the first of the epoch for what its transition did. */
  slot: UInt,
  validatorIndex: UInt,
  kind: Type.Enum([...BALANCE_EFFECT_KINDS]),
  /** Tells effects of one slot, validator and kind apart: the protocol's own number, or the place in its list. */
  reference: UInt,
  /** Gwei, signed by the effect on the balance; what was applied. */
  amountGwei: IntegerText,
})
export type BalanceEffect = Static<typeof BalanceEffect>

// What earlier versions told in three lists.

export const Withdrawal = Type.Object({ slot: UInt, index: UInt, validatorIndex: UInt, amountGwei: IntegerText })
/** The initial penalty is floor(effective balance / quotient) of the block's fork (consensus-specs, slash_validator). */
export const Slashing = Type.Object({
  slot: UInt,
  validatorIndex: UInt,
  effectiveBalanceGwei: IntegerText,
  penaltyQuotient: UInt,
})
export const CreditedDeposit = Type.Object({
  slot: UInt,
  validatorIndex: UInt,
  kind: Type.Union([Type.Literal('deposit'), Type.Literal('returned_from_queue')]),
  ordinal: UInt,
  amountGwei: IntegerText,
})
export type Withdrawal = Static<typeof Withdrawal>
export type Slashing = Static<typeof Slashing>
export type CreditedDeposit = Static<typeof CreditedDeposit>

export interface EffectLists {
  readonly withdrawals: readonly Withdrawal[]
  readonly slashings: readonly Slashing[]
  readonly deposits: readonly CreditedDeposit[]
}

/** The effects that the lists tell. */
export function effectsOf({ withdrawals, slashings, deposits }: EffectLists): BalanceEffect[] {
  return [
    ...withdrawals.map(({ slot, validatorIndex, index, amountGwei }): BalanceEffect => {
      return { slot, validatorIndex, kind: 'withdrawal', reference: index, amountGwei: String(-BigInt(amountGwei)) }
    }),
    ...slashings.map(({ slot, validatorIndex, effectiveBalanceGwei, penaltyQuotient }): BalanceEffect => {
      const penaltyGwei = BigInt(effectiveBalanceGwei) / BigInt(penaltyQuotient)
      return { slot, validatorIndex, kind: 'slashing_penalty', reference: 0, amountGwei: String(-penaltyGwei) }
    }),
    ...deposits.map(({ slot, validatorIndex, kind, ordinal, amountGwei }): BalanceEffect => {
      return { slot, validatorIndex, kind, reference: ordinal, amountGwei }
    }),
  ]
}
