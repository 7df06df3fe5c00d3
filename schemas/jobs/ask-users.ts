import { type Static, type TSchema, Type } from 'typebox'
import { TOKEN_HASH_CHARACTERS, TOKEN_NAME_PATTERN } from '../access-token.ts'
import { AllowLists } from '../allow-lists.ts'
import { Chain, UInt } from '../events/fields.ts'
import { OrderFields, OrderId, PaidDays, WantedFields } from '../events/orders.ts'
import { DeletedKey, Digest, KeyId, Password, UserAccount, UserKey } from '../events/users.ts'
import { ORDER_STATES } from '../orders.ts'
import { answeringJob } from './job.ts'

const ask = <Kind extends string, Fields extends Record<string, TSchema>>(kind: Kind, fields: Fields) =>
  Type.Object({ kind: Type.Literal(kind), ...fields })

/** What may be asked: addresses, passwords, codes and sessions are digests everywhere here. */
const Ask = Type.Union([
  ask('sign-up', { address: Digest, account: UserAccount, password: Password, code: Digest }),
  ask('verify', { code: Digest, address: Digest, password: Password }),
  ask('log-in', { address: Digest, password: Password, session: Digest }),
  ask('log-out', { session: Digest }),
  ask('look', { session: Digest }),
  ask('request-reset', { address: Digest, code: Digest }),
  ask('reset', { code: Digest, address: Digest, password: Password }),
  ask('create-key', {
    session: Digest,
    hash: Digest,
    name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
    chain: Type.Optional(Chain),
    allow: Type.Optional(AllowLists),
    /** Whose nodes it is for, which have their chain. */
    order: Type.Optional(OrderId),
  }),
  /** The newest first. */
  ask('list-deleted-keys', { session: Digest }),
  ask('delete-key', { session: Digest, keyId: Type.String({ pattern: `^[0-9a-f]{${TOKEN_HASH_CHARACTERS}}$` }) }),
  /** `request` tells it from others of the account: asked for again, it is answered with the same order. */
  ask('place-order', { session: Digest, request: Digest, wanted: Type.Object(WantedFields) }),
  ask('list-orders', { session: Digest, offset: UInt, limit: UInt }),
  ask('find-order', { session: Digest, orderId: OrderId }),
  ask('cancel-order', { session: Digest, orderId: OrderId }),
  ask('close', { session: Digest, address: Digest, password: Password }),
])
export type AskUsers = Static<typeof Ask>

const answered = <Status extends string>(status: Status) => Type.Object({ status: Type.Literal(status) })

/** What is known of somebody who is logged in. */
const UserView = Type.Object({ account: UserAccount, sinceSec: UInt, keys: Type.Array(UserKey) })
export type UserView = Static<typeof UserView>

const OrderState = Type.Enum([...ORDER_STATES])
export const OrderView = Type.Object({
  ...OrderFields,
  days: PaidDays,
  account: UserAccount,
  state: OrderState,
  placedSec: UInt,
  /** When it came to its state. */
  movedSec: UInt,
  /** Absent of one that never ran, or was cancelled. */
  endsSec: Type.Optional(UInt),
})
export type OrderView = Static<typeof OrderView>

const Answer = Type.Union([
  answered('done'),
  Type.Object({ status: Type.Literal('made'), key: UserKey }),
  Type.Object({ status: Type.Literal('order'), order: OrderView }),
  /** Those of a page; `total` is of all of them. */
  Type.Object({ status: Type.Literal('orders'), orders: Type.Array(OrderView), total: UInt }),
  Type.Object({ status: Type.Literal('found'), user: UserView }),
  Type.Object({ status: Type.Literal('deleted-keys'), keys: Type.Array(DeletedKey) }),
  /** The address has an account already; or, of a reset, none. */
  answered('has-account'),
  answered('has-none'),
  /** The code was never sent, was used, or is too old. */
  answered('no-code'),
  answered('no-session'),
  answered('wrong-password'),
  answered('too-many-keys'),
  answered('too-many-deleted'),
  answered('no-key'),
  answered('too-many-orders'),
  /** What has the same name wanted something else. */
  answered('other-request'),
  answered('no-order'),
  /** The order is not in a state for it. */
  Type.Object({ status: Type.Literal('wrong-state'), state: OrderState }),
  /** What was asked was made with another key of the installation than what there is. */
  answered('other-key'),
  /** Nobody waits for the answer any more: nothing was done. */
  answered('late'),
])
export type UsersAnswer = Static<typeof Answer>

const Input = Type.Object({
  /** Of this asking: done twice, it comes to the same. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  keyId: KeyId,
  ask: Ask,
  /** Unix milliseconds on the machine of who asks. */
  notAfterMs: UInt,
})
export type AskUsersInput = Static<typeof Input>

/** Asks the one process that decides about people's accounts. */
export const askUsers = answeringJob('ask-users', { input: Input, output: Answer }, ({ requestId }) => requestId)
