import { type Static, Type } from 'typebox'
import { Chain, UInt } from './events/fields.ts'
import { KeptSettlement } from './events/kept-settlements.ts'

/** An account's settlements of blocks of `[fromSec, toSec)`, Unix seconds. */
export const SettledSpan = Type.Object({ account: Type.String(), fromSec: UInt, toSec: UInt })
export type SettledSpan = Static<typeof SettledSpan>

/** What is settled of a block of a chain. */
export const SettledRow = Type.Object({ chain: Chain, ...KeptSettlement.properties })
export type SettledRow = Static<typeof SettledRow>
