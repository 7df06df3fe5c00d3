import { type Static, Type } from 'typebox'
import { Address, Chain, Pubkey, UInt } from './events/fields.ts'

/** Keys of one change, each of 101 characters: a question about it stays below the 64 KiB that a socket of commands takes. */
export const KEYS_PER_CHANGE_MAX = 400
/** Keys with an address of one change, likewise: each takes 170 characters. */
export const RECIPIENTS_PER_CHANGE_MAX = 300

const Account = Type.String()
/**
 * What a fact would change of settlements. A rate: of the account, from an instant up to the next rate. An owner: of validators that
 * have one owner, or none, in all of these days, which end before the next fact about them. Accounts are empty for nobody. Recipients:
 * of validators that are, or are not, paid at an address from a day on; it has all addresses of a validator that are told with it.
 */
export const SettlementChange = Type.Union([
  Type.Object({
    kind: Type.Literal('rate'),
    account: Account,
    /** Unix seconds, `[fromSec, toSec)`. */
    fromSec: UInt,
    toSec: UInt,
    rate: Type.String(),
  }),
  Type.Object({
    kind: Type.Literal('owner'),
    chain: Chain,
    pubkeys: Type.Array(Pubkey, { maxItems: KEYS_PER_CHANGE_MAX }),
    /** UTC+8 days, `[fromDay, toDay)`. */
    fromDay: UInt,
    toDay: UInt,
    from: Account,
    to: Account,
    /** The rates of the new owner, each from an instant on, Unix seconds. */
    rates: Type.Array(Type.Object({ fromSec: Type.Integer(), rate: Type.String() })),
  }),
  Type.Object({
    kind: Type.Literal('recipients'),
    chain: Chain,
    recipients: Type.Array(Type.Object({ pubkey: Pubkey, address: Address }), { maxItems: RECIPIENTS_PER_CHANGE_MAX }),
    isOwn: Type.Boolean(),
    /** UTC+8 day from which on it holds. */
    fromDay: UInt,
    /** Only settlements before this day are counted. */
    toDay: UInt,
  }),
])
export type SettlementChange = Static<typeof SettlementChange>

/** A signed integer of any size. */
export const IntegerText = Type.String({ pattern: '^-?[0-9]+$' })
/** What a change does to the settlements of one account and validator: rows that come, go or differ, and by how much in wei. */
export const ChangedSettlements = Type.Object({
  account: Account,
  chain: Chain,
  pubkey: Pubkey,
  rows: IntegerText,
  user_wei: IntegerText,
  fee_wei: IntegerText,
})
export type ChangedSettlements = Static<typeof ChangedSettlements>
