import { timingSafeEqual } from 'node:crypto'
import { TOKEN_HASH_CHARACTERS } from '../../schemas/access-token.ts'
import { DAY_SEC } from '../../schemas/eth/time.ts'
import type { TokenCreated, TokenRevoked } from '../../schemas/events/accounts.ts'
import type { OrderExtended, OrderMove, OrderPlaced } from '../../schemas/events/orders.ts'
import {
  DELETED_KEYS_MAX,
  DELETED_PER_DAY_MAX,
  KEYS_KEPT_MAX,
  KEYS_MAX,
  type Password,
  RESETS_MAX,
  SESSIONS_MAX,
  SIGN_UPS_MAX,
  type User,
  type UserStands,
} from '../../schemas/events/users.ts'
import type { AskUsers, UsersAnswer } from '../../schemas/jobs/ask-users.ts'
import { cancelAll, cancelOwnOrder, findOrder, isOverAt, keyLimitsOf, listOrders, placeOrder } from './decide-order.ts'
import { isOpen, SESSION_NOTED_SEC, withoutExpired } from './expiry.ts'
import type { OrderBook } from './order-book.ts'
import type { UserBook } from './user-book.ts'

/** Somebody verifies within a day, or signs up again. */
export const SIGN_UP_SEC = 86_400
/** Who asks for a new password sits before the mail program. */
export const RESET_SEC = 3_600

/**
 * Of what the log is told where somebody asks for an address of which nothing stands: the key is no address's, so that a topic which keeps
 * the newest of each key keeps one for all that were ever asked for.
 */
const NO_ADDRESS = '0'.repeat(64)

/** What of one asking the log is to be told, and what is answered. */
export interface Decision {
  readonly answer: UsersAnswer
  /** What stands of the address from now on; absent: nothing has changed. */
  readonly stands?: UserStands
  /** Facts of the topic `accounts`, which come first (decision 42). */
  readonly created?: TokenCreated
  readonly revoked?: readonly TokenRevoked[]
  readonly placed?: OrderPlaced
  readonly moved?: readonly OrderMove[]
  readonly extended?: OrderExtended
}

/** What stands of everybody. */
export interface Books {
  readonly book: UserBook
  readonly orders: OrderBook
}

interface Asked {
  readonly keyId: string
  readonly nowSec: number
}

type Of<Kind extends AskUsers['kind']> = Extract<AskUsers, { readonly kind: Kind }>

/** Decides what is asked by what stands. Asked twice, it comes to the same but for codes, which count once. */
export function decide({ book, orders }: Books, ask: AskUsers, asked: Asked): Decision {
  switch (ask.kind) {
    case 'sign-up':
      return signUp(book, ask, asked)
    case 'verify':
      return verify(book, ask, asked)
    case 'log-in':
      return logIn(book, ask, asked)
    case 'request-reset':
      return requestReset(book, ask, asked)
    case 'reset':
      return reset(book, ask, asked)
    case 'log-out':
    case 'look':
    case 'create-key':
    case 'list-deleted-keys':
    case 'delete-key':
    case 'place-order':
    case 'list-orders':
    case 'find-order':
    case 'cancel-order':
    case 'close':
      return decideOfSession({ book, orders }, ask, asked)
  }
}

/** Each sign-up waits by itself, with its own password: the one whose code is used, with that password, opens the account. */
function signUp(book: UserBook, { address, account, password, code }: Of<'sign-up'>, asked: Asked): Decision {
  const { keyId, nowSec } = asked
  const stands = withoutExpired(book.ofAddress(address) ?? { address, keyId, signUps: [] }, nowSec)
  // Told the log again as it is: an address with an account is to take as long as one without.
  if (stands.user !== undefined) return { answer: { status: 'has-account' }, stands }
  const others = stands.signUps.filter((one) => one.code.hash !== code)
  const waiting = { account, password, code: { hash: code, untilSec: nowSec + SIGN_UP_SEC } }
  return {
    answer: { status: 'done' },
    stands: { ...stands, signUps: [...others.slice(1 - SIGN_UPS_MAX), waiting] },
  }
}

/** Whoever takes the code of another's sign-up does not open the account with that one's password. */
function verify(book: UserBook, { code, address, password }: Of<'verify'>, { nowSec }: Asked): Decision {
  const found = book.ofCode(code)
  const stands = found === undefined ? undefined : withoutExpired(found, nowSec)
  const signUp = stands?.signUps.find((one) => one.code.hash === code)
  if (stands?.address !== address || signUp === undefined || !isSame(signUp.password, password))
    return { answer: { status: 'no-code' } }
  const { account } = signUp
  const user: User = { account, password, sinceSec: nowSec, resets: [], sessions: [], keys: [], deletedKeys: [] }
  // The other sign-ups of the address are gone with it: one address has one account.
  return { answer: { status: 'done' }, stands: { ...stands, signUps: [], user } }
}

function logIn(book: UserBook, { address, password, session }: Of<'log-in'>, { nowSec }: Asked): Decision {
  const found = book.ofAddress(address)
  const stands = found === undefined ? undefined : withoutExpired(found, nowSec)
  if (stands?.user === undefined || !isSame(stands.user.password, password))
    return { answer: { status: 'wrong-password' } }
  const others = stands.user.sessions.filter(({ hash }) => hash !== session)
  const sessions = [...others.slice(1 - SESSIONS_MAX), { hash: session, sinceSec: nowSec, seenSec: nowSec }]
  return { answer: { status: 'done' }, stands: { ...stands, user: { ...stands.user, sessions } } }
}

function requestReset(book: UserBook, { address, code }: Of<'request-reset'>, { keyId, nowSec }: Asked): Decision {
  const stands = withoutExpired(book.ofAddress(address) ?? { address: NO_ADDRESS, keyId, signUps: [] }, nowSec)
  // As with a sign-up: to tell the log takes as long as if there was something to tell.
  if (stands.user === undefined) return { answer: { status: 'has-none' }, stands }
  const others = stands.user.resets.filter(({ hash }) => hash !== code)
  const resets = [...others.slice(1 - RESETS_MAX), { hash: code, untilSec: nowSec + RESET_SEC }]
  return { answer: { status: 'done' }, stands: { ...stands, user: { ...stands.user, resets } } }
}

/** The address has to be the one that the code was sent to: the password was made for it. */
function reset(book: UserBook, { code, address, password }: Of<'reset'>, { nowSec }: Asked): Decision {
  const found = book.ofCode(code)
  const stands = found === undefined ? undefined : withoutExpired(found, nowSec)
  const isSent = stands?.user?.resets.some(({ hash }) => hash === code) === true
  if (stands?.user === undefined || !isSent || stands.address !== address) return { answer: { status: 'no-code' } }
  const user = { ...stands.user, password, resets: [], sessions: [] }
  return { answer: { status: 'done' }, stands: { ...stands, user } }
}

type OfSession = Exclude<Extract<AskUsers, { readonly session: string }>, { readonly kind: 'log-in' }>

function decideOfSession({ book, orders }: Books, ask: OfSession, { nowSec }: Asked): Decision {
  const found = book.ofSession(ask.session)
  const open = found?.user?.sessions.find(({ hash }) => hash === ask.session)
  if (found?.user === undefined || open === undefined || !isOpen(open, nowSec))
    return { answer: { status: 'no-session' } }
  const isNoted = nowSec - open.seenSec < SESSION_NOTED_SEC
  const sessions = found.user.sessions.map((one) => (one === open && !isNoted ? { ...one, seenSec: nowSec } : one))
  const user: User = { ...found.user, sessions }
  const stands = withoutExpired({ ...found, user }, nowSec)
  // Of what changes nothing that stands of the address.
  const noted = isNoted ? {} : { stands }
  switch (ask.kind) {
    case 'look': {
      const { account, sinceSec, keys } = user
      return { answer: { status: 'found', user: { account, sinceSec, keys } }, ...noted }
    }
    case 'log-out': {
      const others = sessions.filter(({ hash }) => hash !== ask.session)
      return { answer: { status: 'done' }, stands: { ...stands, user: { ...user, sessions: others } } }
    }
    case 'create-key':
      return createKey(orders, { stands, user }, ask, nowSec)
    case 'delete-key':
      return deleteKey({ stands, user }, ask, nowSec)
    case 'list-deleted-keys':
      return { answer: { status: 'deleted-keys', keys: user.deletedKeys.toReversed() }, ...noted }
    case 'close':
      return close(orders, { stands, user }, ask, nowSec)
    case 'place-order':
      return { ...placeOrder(orders, user.account, ask, nowSec), ...noted }
    case 'list-orders':
      return { ...listOrders(orders, user.account, ask, nowSec), ...noted }
    case 'find-order':
      return { ...findOrder(orders, user.account, ask.orderId, nowSec), ...noted }
    case 'cancel-order':
      return { ...cancelOwnOrder(orders, user.account, ask.orderId, nowSec), ...noted }
  }
}

/** Of whoever is logged in. */
interface Whose {
  readonly stands: UserStands
  readonly user: User
}

function createKey(
  orders: OrderBook,
  { stands, user }: Whose,
  { hash, name, chain, allow, order }: Of<'create-key'>,
  nowSec: number,
): Decision {
  const others = user.keys.filter((key) => key.hash !== hash)
  const counted = others.filter((key) => key.order === undefined || !isOverAt(orders, key.order, nowSec))
  if (counted.length >= KEYS_MAX || others.length >= KEYS_KEPT_MAX) return { answer: { status: 'too-many-keys' } }
  // It is not the deleting that is refused: who has lost a key has to be rid of it at once.
  const recent = user.deletedKeys.filter(({ deletedSec }) => deletedSec > nowSec - DAY_SEC)
  if (others.length === user.keys.length && recent.length >= DELETED_PER_DAY_MAX)
    return { answer: { status: 'too-many-deleted' } }
  const ofOrder = order === undefined ? undefined : keyLimitsOf(orders, user.account, order, nowSec)
  if (ofOrder !== undefined && 'status' in ofOrder) return { answer: ofOrder }
  const onChain = ofOrder?.chain ?? chain
  const limits = { ...(onChain === undefined ? {} : { chain: onChain }), ...(allow === undefined ? {} : { allow }) }
  const key = { hash, name, ...limits, sinceSec: nowSec, ...(order === undefined ? {} : { order }) }
  const made: TokenCreated = { account: user.account, tokenHash: hash, name, scopes: ['read'], ...limits }
  return {
    answer: { status: 'made', key },
    created: ofOrder === undefined ? made : { ...made, families: ['gateway'], order: ofOrder.order },
    stands: { ...stands, user: { ...user, keys: [...others, key] } },
  }
}

function deleteKey({ stands, user }: Whose, { keyId }: Of<'delete-key'>, nowSec: number): Decision {
  const key = user.keys.find(({ hash }) => hash.slice(0, TOKEN_HASH_CHARACTERS) === keyId)
  if (key === undefined) return { answer: { status: 'no-key' } }
  const keys = user.keys.filter((one) => one !== key)
  const { allow, ...left } = key
  const deletedKeys = [...user.deletedKeys.slice(1 - DELETED_KEYS_MAX), { ...left, deletedSec: nowSec }]
  return {
    answer: { status: 'done' },
    revoked: [{ tokenHash: key.hash }],
    stands: { ...stands, user: { ...user, keys, deletedKeys } },
  }
}

/** What is left is that there was something: compaction drops the rest. */
function close(
  orders: OrderBook,
  { stands, user }: Whose,
  { address, password }: Of<'close'>,
  nowSec: number,
): Decision {
  if (stands.address !== address || !isSame(user.password, password)) return { answer: { status: 'wrong-password' } }
  return {
    answer: { status: 'done' },
    revoked: user.keys.map(({ hash }) => ({ tokenHash: hash })),
    moved: cancelAll(orders, user.account, nowSec),
    stands: { address, keyId: stands.keyId, signUps: [] },
  }
}

/** Takes as long wherever two passwords differ. */
function isSame(known: Password, given: Password): boolean {
  const isEqual = timingSafeEqual(Buffer.from(known.proof, 'hex'), Buffer.from(given.proof, 'hex'))
  return isEqual && known.scheme === given.scheme
}
