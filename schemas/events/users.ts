import { type Static, Type } from 'typebox'
import { TOKEN_NAME_PATTERN } from '../access-token.ts'
import { AllowLists } from '../allow-lists.ts'
import { ORDER_ID_PATTERN } from '../orders.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, UInt } from './fields.ts'

/** Sign-ups of one address that wait to be verified; a further one takes the place of the oldest. */
export const SIGN_UPS_MAX = 10
/** Resets of one password that may be finished; likewise. */
export const RESETS_MAX = 10
/** Places where somebody is logged in; likewise. */
export const SESSIONS_MAX = 20
/** API keys that an account may have; those of orders that are over do not count. */
export const KEYS_MAX = 50
/** With those: an order that is extended has its keys again, so they stay until they are deleted. */
export const KEYS_KEPT_MAX = 200
/** Deleted keys that are told of; a further one takes the place of the oldest. */
export const DELETED_KEYS_MAX = 100

/** Of one account within a day; then there is no further key until the day is over: the log keeps them all. */
export const DELETED_PER_DAY_MAX = 50

/** SHA-256 or HMAC-SHA-256, lower-case hex. */
export const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
/** Fingerprint of the installation's key for accounts: 8 bytes, lower-case hex. */
export const KeyId = Type.String({ pattern: '^[0-9a-f]{16}$' })
export const UserAccount = Type.String({ pattern: ACCOUNT_PATTERN })

/** What is kept of a password: HMAC of what a scheme has made of it. */
export const Password = Type.Object({
  /** Function and parameters: `scrypt-131072-8-1`. */
  scheme: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
  proof: Digest,
})
export type Password = Static<typeof Password>

/** A code that was sent by mail, and until when it counts. */
const Code = Type.Object({ hash: Digest, untilSec: UInt })

const SignUp = Type.Object({ account: UserAccount, password: Password, code: Code })
export type SignUp = Static<typeof SignUp>

const Session = Type.Object({ hash: Digest, sinceSec: UInt, seenSec: UInt })
export type Session = Static<typeof Session>

const KeyFields = {
  /** SHA-256 of the token. */
  hash: Digest,
  name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
  /** Absent: all chains. */
  chain: Type.Optional(Chain),
  sinceSec: UInt,
  /** Id of the order that it is for; absent: for none. */
  order: Type.Optional(Type.String({ pattern: ORDER_ID_PATTERN })),
}
export const UserKey = Type.Object({
  ...KeyFields,
  /** Absent: from everywhere, for everything. */
  allow: Type.Optional(AllowLists),
})
export type UserKey = Static<typeof UserKey>

/** What is left of one that its owner has deleted: its lists, which may be long, are not. */
export const DeletedKey = Type.Object({ ...KeyFields, deletedSec: UInt })
export type DeletedKey = Static<typeof DeletedKey>

const UserFields = {
  account: UserAccount,
  password: Password,
  sinceSec: UInt,
  resets: Type.Array(Code, { maxItems: RESETS_MAX }),
  sessions: Type.Array(Session, { maxItems: SESSIONS_MAX }),
  keys: Type.Array(UserKey, { maxItems: KEYS_KEPT_MAX }),
}
const User = Type.Object({
  ...UserFields,
  /** In the order in which they were deleted. */
  deletedKeys: Type.Array(DeletedKey, { maxItems: DELETED_KEYS_MAX }),
})
export type User = Static<typeof User>

const StandsFields = {
  /** HMAC of the mail address: the log never holds an address. */
  address: Digest,
  keyId: KeyId,
  signUps: Type.Array(SignUp, { maxItems: SIGN_UPS_MAX }),
}
const UserStands = Type.Object({
  ...StandsFields,
  /** Absent: nobody has verified the address, or the account was closed. */
  user: Type.Optional(User),
})
export type UserStands = Static<typeof UserStands>

const StandsBefore = Type.Object({ ...StandsFields, user: Type.Optional(Type.Object(UserFields)) })

/** Of what nobody kept anything. */
function noneDeleted({ user, ...stands }: Static<typeof StandsBefore>): UserStands {
  return user === undefined ? stands : { ...stands, user: { ...user, deletedKeys: [] } }
}

/**
 * All that stands of a mail address (decision 42): of one address the newest counts, the former ones may be dropped. Key: the address;
 * id `user.stands:<address>:<what it was asked by>`.
 */
export const userStands = jsonEvent({ name: 'user.stands', version: 4, topic: 'users' }, UserStands, {
  // Its keys had no lists.
  1: olderJson(StandsBefore, noneDeleted),
  // They were for no orders.
  2: olderJson(StandsBefore, noneDeleted),
  // Those that were deleted were gone.
  3: olderJson(StandsBefore, noneDeleted),
})
