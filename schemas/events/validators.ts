import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Hash, Pubkey, UInt } from './fields.ts'

export const VALIDATORS_KEY = 'validators'
/** Identities per event; one event stays under 250 kB. */
export const IDENTIFIED_PER_EVENT_MAX = 1_000

const IdentifiedData = Type.Object({
  validators: Type.Array(Type.Object({ index: UInt, pubkey: Pubkey, withdrawalCredentials: Hash })),
})
export type IdentifiedData = Static<typeof IdentifiedData>

/** Tracked validators that the registry knows, with what names them; id `validator.identified:<first index>:<epoch seen>`. */
export const validatorsIdentified = jsonEvent(
  { name: 'validator.identified', version: 1, topic: 'validators' },
  IdentifiedData,
)
