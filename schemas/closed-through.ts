import { type Static, Type } from 'typebox'
import { Chain, UInt } from './events/fields.ts'

/** UTC+8 days `[fromDay, toDay)` of a chain; not empty. */
export const ChainDays = Type.Object({ chain: Chain, fromDay: UInt, toDay: UInt })
export type ChainDays = Static<typeof ChainDays>

/** The last UTC+8 day up to which days are closed one behind the other; null where none is. */
export const ClosedThrough = Type.Object({ chain: Chain, through: Type.Union([UInt, Type.Null()]) })
export type ClosedThrough = Static<typeof ClosedThrough>
