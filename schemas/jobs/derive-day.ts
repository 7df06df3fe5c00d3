import { type Static, Type } from 'typebox'
import { Chain, UInt } from '../events/fields.ts'
import { job } from './job.ts'

const DeriveDayInput = Type.Object({ chain: Chain, /** UTC+8 day number. */ day: UInt })
export type DeriveDayInput = Static<typeof DeriveDayInput>

/** Settles the finalized blocks of a day, and closes the day when all of it is there. */
export const deriveDay = {
  ...job('derive-day', DeriveDayInput, ({ chain, day }) => `${chain}/${day}`),
  /** What the ids of a chain's days begin with, and no other's. */
  idPrefixOf: (chain: string): string => `${chain}/`,
}
