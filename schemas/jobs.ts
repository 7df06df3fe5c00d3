import { type Static, Type } from 'typebox'
import { Chain, UInt } from './events/fields.ts'

/** A kind of work in the job queue: its name, and the shape of what it is told. */
export interface Job<Input> {
  readonly name: string
  /** One id is one piece of work: asked for twice, it is done once. Ids hold no colon, which the queue uses itself. */
  idOf(input: Input): string
}

export const DeriveDayInput = Type.Object({ chain: Chain, /** UTC+8 day number. */ day: UInt })
export type DeriveDayInput = Static<typeof DeriveDayInput>

/** Settles the finalized blocks of a day, and closes the day when all of it is there. */
export const deriveDay: Job<DeriveDayInput> = {
  name: 'derive-day',
  idOf: ({ chain, day }) => `${chain}/${day}`,
}

export const SettleAccountInput = Type.Object({ account: Type.String() })
export type SettleAccountInput = Static<typeof SettleAccountInput>

/** Settles every finalized block of an account's validators again: its validators or its fee rates have changed. */
export const settleAccount: Job<SettleAccountInput> = { name: 'settle-account', idOf: ({ account }) => account }
