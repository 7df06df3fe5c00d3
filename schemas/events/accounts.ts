import { hash } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { TOKEN_FAMILIES, TOKEN_NAME_PATTERN, TOKEN_SCOPES } from '../access-token.ts'
import { AllowLists } from '../allow-lists.ts'
import { ORDER_ID_PATTERN } from '../orders.ts'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, Day, Instant, IntegerText, Pubkey, UInt } from './fields.ts'

/** All account facts share one key: a token is created before it is revoked, and of two accounts that name a validator one was first. */
export const ACCOUNTS_KEY = 'accounts'
/** Public keys per tracking event; one event stays under 200 kB. */
export const TRACKED_PER_EVENT_MAX = 1_000

/** Account names are path- and log-safe text. */
export const ACCOUNT_PATTERN = '^[a-z0-9][a-z0-9_-]{0,62}$'
const Account = Type.String({ pattern: ACCOUNT_PATTERN })
/** SHA-256 of the access token, lower-case hex: the log never holds a token. */
const TokenHash = Type.String({ pattern: '^[0-9a-f]{64}$' })

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}

const TokenFields = { account: Account, tokenHash: TokenHash }
const TokenMade = {
  ...TokenFields,
  /** What operators tell it by; may be empty, and need not be its alone. */
  name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
  scopes: Type.Array(Type.Enum([...TOKEN_SCOPES]), { minItems: 1, uniqueItems: true }),
  /** Absent: all families. A list of none would be a token for nothing. */
  families: Type.Optional(Type.Array(Type.Enum([...TOKEN_FAMILIES]), { minItems: 1, uniqueItems: true })),
  /** Absent: all chains. */
  chain: Type.Optional(Chain),
}
const TokenWithLists = {
  ...TokenMade,
  /** Absent: it may be used from everywhere, for everything that it is for. */
  allow: Type.Optional(AllowLists),
}
const TokenCreated = Type.Object({
  ...TokenWithLists,
  /** Absent: it is for the nodes that all share. */
  order: Type.Optional(Type.Object({ id: Type.String({ pattern: ORDER_ID_PATTERN }), until: Instant })),
})
const TokenRevoked = Type.Object({ tokenHash: TokenHash })
const TrackedFields = { account: Account, pubkeys: Type.Array(Pubkey) }
const OfChain = Type.Object({ chain: Chain, ...TrackedFields })
const ValidatorsTracked = Type.Object({
  chain: Chain,
  ...TrackedFields,
  /** First UTC+8 day; absent: the start of all history. */
  from: Type.Optional(Day),
})
const ValidatorsUntracked = Type.Object({ chain: Chain, pubkeys: Type.Array(Pubkey), from: Day })
const FeeRateSet = Type.Object({
  account: Account,
  /** Exact decimal fraction between 0 and 1: the service's share of execution rewards. */
  rate: Type.String({ pattern: '^(0(\\.\\d{1,18})?|1(\\.0{1,18})?)$' }),
  effectiveFrom: Instant,
})
const LockedFields = {
  account: Account,
  /** Last UTC+8 day of which no settlement may be changed by what is said later. */
  through: Day,
}
const SettlementsLocked = Type.Object({
  ...LockedFields,
  /** What was settled of these days and is kept as it was names it; empty where an earlier release locked, which kept nothing. */
  lockId: Type.String(),
})
/** Characters of the reason that a correction has. */
export const REASON_MAX = 200
const CorrectedFields = {
  chain: Chain,
  account: Account,
  /** Counts the corrections of a log, from 1: what the record's id is made of. */
  number: Type.Integer({ minimum: 1, maximum: 2 ** 32 - 1 }),
  pubkey: Pubkey,
  validatorIndex: UInt,
  at: Instant,
  /** Signed, wei. */
  userRewardWei: IntegerText,
  serviceFeeWei: IntegerText,
  reason: Type.String({ minLength: 1, maxLength: REASON_MAX }),
}
const SettlementCorrected = Type.Object({
  ...CorrectedFields,
  /** The block whose locked record it corrects, because more is known of it now; absent where an operator says so. */
  block: Type.Optional(Type.Object({ slot: UInt, number: UInt })),
})
export type SettlementsLocked = Static<typeof SettlementsLocked>
export type SettlementCorrected = Static<typeof SettlementCorrected>
export type TokenCreated = Static<typeof TokenCreated>
export type TokenRevoked = Static<typeof TokenRevoked>
export type ValidatorsTracked = Static<typeof ValidatorsTracked>
export type ValidatorsUntracked = Static<typeof ValidatorsUntracked>
export type ValidatorsWatched = Static<typeof OfChain>
export type FeeRateSet = Static<typeof FeeRateSet>

/** A fact whose first version is its only one. */
function accountFact<Name extends string, Schema extends TSchema>(name: Name, schema: Schema) {
  return jsonEvent({ name, version: 1, topic: 'accounts' }, schema)
}

/**
 * An access token of an account and what it is for, which never changes; id `account.token-created:<token hash>`. Another family
 * among those that it may name is no new version.
 */
export const tokenCreated = jsonEvent({ name: 'account.token-created', version: 4, topic: 'accounts' }, TokenCreated, {
  // There was nothing but reading, and nobody who got a token then was given more.
  1: olderJson(Type.Object(TokenFields), (data) => ({ ...data, name: '', scopes: ['read'] })),
  // A release that knew no lists would let such a token in from everywhere: what it cannot read it refuses.
  2: olderJson(Type.Object(TokenMade), (data) => data),
  // Likewise one that knew no orders: to nodes that all share, and for ever.
  3: olderJson(Type.Object(TokenWithLists), (data) => data),
})

/** The token stops working, for good; id `account.token-revoked:<token hash>`. */
export const tokenRevoked = accountFact('account.token-revoked', TokenRevoked)

/**
 * From a day on, validators of a chain are the account's, and nobody else's: until the next day that a fact names for them. Of
 * facts about one day the newest counts. Id `account.validators-tracked:<chain>:<account>:<first pubkey>:<count>[:<from>]`.
 */
export const validatorsTracked = jsonEvent(
  { name: 'account.validators-tracked', version: 3, topic: 'accounts' },
  ValidatorsTracked,
  {
    1: olderJson(Type.Object(TrackedFields), (data, chain) => ({ chain, ...data })),
    // It paid every account that named a key.
    2: olderJson(OfChain, (data) => data),
  },
)

/** From a day on, validators of a chain are nobody's; id `account.validators-untracked:<chain>:<first pubkey>:<count>:<from>`. */
export const validatorsUntracked = accountFact('account.validators-untracked', ValidatorsUntracked)

/** The account sees figures of validators, whosever they are; id `account.validators-watched:<chain>:<account>:<first pubkey>:<count>`. */
export const validatorsWatched = accountFact('account.validators-watched', OfChain)

/** The account no longer watches validators; id `account.validators-unwatched:<chain>:<account>:<first pubkey>:<count>`. */
export const validatorsUnwatched = accountFact('account.validators-unwatched', OfChain)

/** The fee rate of blocks from an instant on; id `account.fee-rate-set:<account>:<effectiveFrom>`. */
export const feeRateSet = accountFact('account.fee-rate-set', FeeRateSet)

/** Days of the account that no later fact may touch; they only grow. Id `account.settlements-locked:<account>:<through>`. */
export const settlementsLocked = jsonEvent(
  { name: 'account.settlements-locked', version: 2, topic: 'accounts' },
  SettlementsLocked,
  { 1: olderJson(Type.Object(LockedFields), (data) => ({ ...data, lockId: '' })) },
)

/** A settlement record of its own beside those of blocks, for what locked ones lack or have too much; id `account.settlement-corrected:<number>`. */
export const settlementCorrected = jsonEvent(
  { name: 'account.settlement-corrected', version: 2, topic: 'accounts' },
  SettlementCorrected,
  { 1: olderJson(Type.Object(CorrectedFields), (data) => data) },
)
