import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, Hash, IntegerText, Pubkey, UInt } from './fields.ts'

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

const RegistryLookedAt = Type.Object({
  chain: Chain,
  /** Offset in `accounts` of the newest fact of the chain's validators that was known. */
  accountsThrough: IntegerText,
  /** First epoch that is told with all of them; null where others tell the epochs to come. */
  fromEpoch: Type.Union([UInt, Type.Null()]),
})
export type RegistryLookedAt = Static<typeof RegistryLookedAt>

/**
 * All validators that account facts name were looked for in the registry: who was not identified by then is not in it. Told behind those whom it
 * has found; id `validator.registry-looked-at:<chain>:<offset>:<epoch or none>`.
 */
export const registryLookedAt = jsonEvent(
  { name: 'validator.registry-looked-at', version: 1, topic: 'validators' },
  RegistryLookedAt,
)
