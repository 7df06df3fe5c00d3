import { type Static, Type } from 'typebox'
import { Chain, Pubkey } from './events/fields.ts'
import { IntegerText } from './settlement-change.ts'

/** A validator, as an account had it. */
export const OwnedValidator = Type.Object({ account: Type.String(), chain: Chain, pubkey: Pubkey })
export type OwnedValidator = Static<typeof OwnedValidator>

/** All that was settled of a validator for an account, with corrections: wei. */
export const SettledSums = Type.Object({ user_wei: IntegerText, fee_wei: IntegerText })
export type SettledSums = Static<typeof SettledSums>
