import { Type } from 'typebox'
import { CHAIN_NAME_PATTERN } from '../chains.ts'

/** Non-negative integer below 2^53: slots, epochs, validator indices, block numbers. */
export const UInt = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** 32 bytes, lower-case hex with 0x. */
export const Hash = Type.String({ pattern: '^0x[0-9a-f]{64}$' })
/** 20 bytes, lower-case hex with 0x. */
export const Address = Type.String({ pattern: '^0x[0-9a-f]{40}$' })
/** 48 bytes, lower-case hex with 0x. */
export const Pubkey = Type.String({ pattern: '^0x[0-9a-f]{96}$' })
/** Any bytes, lower-case hex with 0x. */
export const Bytes = Type.String({ pattern: '^0x([0-9a-f]{2})*$' })
/** Signed integer as decimal text: gwei or wei, as the field's name says. */
export const IntegerText = Type.String({ pattern: '^-?[0-9]+$' })
/** ISO 8601 UTC with milliseconds. */
export const Instant = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' })
/** UTC+8 day, `YYYY-MM-DD`. */
export const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
/** Name of a chain: schemas/chains.ts. */
export const Chain = Type.String({ pattern: CHAIN_NAME_PATTERN })

/** The chain's clock, carried by events whose rows need days: processors never ask a node. */
export const Clock = Type.Object({ genesisTimeSec: UInt, secondsPerSlot: UInt, slotsPerEpoch: UInt })
