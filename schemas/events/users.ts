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
/** API keys that an account may have. */
export const KEYS_MAX = 50

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

export const UserKey = Type.Object({
  /** SHA-256 of the token. */
  hash: Digest,
  name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
  /** Absent: all chains. */
  chain: Type.Optional(Chain),
  sinceSec: UInt,
  /** Absent: from everywhere, for everything. */
  allow: Type.Optional(AllowLists),
  /** Id of the order that it is for; absent: for none. */
  order: Type.Optional(Type.String({ pattern: ORDER_ID_PATTERN })),
})
export type UserKey = Static<typeof UserKey>

const User = Type.Object({
  account: UserAccount,
  password: Password,
  sinceSec: UInt,
  resets: Type.Array(Code, { maxItems: RESETS_MAX }),
  sessions: Type.Array(Session, { maxItems: SESSIONS_MAX }),
  keys: Type.Array(UserKey, { maxItems: KEYS_MAX }),
})
export type User = Static<typeof User>

const UserStands = Type.Object({
  /** HMAC of the mail address: the log never holds an address. */
  address: Digest,
  keyId: KeyId,
  signUps: Type.Array(SignUp, { maxItems: SIGN_UPS_MAX }),
  /** Absent: nobody has verified the address, or the account was closed. */
  user: Type.Optional(User),
})
export type UserStands = Static<typeof UserStands>

/**
 * All that stands of a mail address (decision 42): of one address the newest counts, the former ones may be dropped. Key: the address;
 * id `user.stands:<address>:<what it was asked by>`.
 */
export const userStands = jsonEvent({ name: 'user.stands', version: 3, topic: 'users' }, UserStands, {
  // Its keys had no lists.
  1: olderJson(UserStands, (data) => data),
  // They were for no orders.
  2: olderJson(UserStands, (data) => data),
})
