import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, Hash, Pubkey, UInt } from './fields.ts'

/** Identities per event; one event stays under 250 kB. */
export const IDENTIFIED_PER_EVENT_MAX = 1_000

const Identities = Type.Array(Type.Object({ index: UInt, pubkey: Pubkey, withdrawalCredentials: Hash }))
const IdentifiedData = Type.Object({ chain: Chain, validators: Identities })
export type IdentifiedData = Static<typeof IdentifiedData>

/**
 * Tracked validators that the registry knows, with what names them; id `validator.identified:<chain>:<first index>:<epoch seen>`.
 * Keyed by the chain: withdrawal credentials change, and the later word counts.
 */
export const validatorsIdentified = jsonEvent(
  { name: 'validator.identified', version: 2, topic: 'validators' },
  IdentifiedData,
  { 1: olderJson(Type.Object({ validators: Identities }), (data, chain) => ({ chain, ...data })) },
)
