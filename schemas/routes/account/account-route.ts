import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { TOKEN_HASH_CHARACTERS } from '../../access-token.ts'
import { MAIL_ADDRESS_MAX } from '../../mail-address.ts'
import { ORDER_ID_PATTERN } from '../../orders.ts'
import type { RefusalCode } from '../envelope.ts'
import { Limit } from '../fields.ts'

/** What stands before the paths of people's accounts: no chain and no token, the cookie says who asks. */
export const ACCOUNT_PREFIX = '/account/v1'
export const SESSION_COOKIE = 'epochline_session'
/** What a request that changes something has to have, whatever its value: no form of another page can send it. */
export const OWN_PAGE_HEADER = 'x-requested-with'

/** One operation, whatever its body and answer are. */
export interface AnyAccountRoute {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Behind the prefix. */
  readonly path: string
  readonly summary: string
  readonly description: string
  /** Whether somebody has to be logged in. */
  readonly ofSession: boolean
  readonly params?: TObject
  readonly query?: TObject
  /** Headers that mean something, as the document tells them: the handler checks them. */
  readonly headers?: TObject
  readonly body?: TObject
  /** The whole successful answer, envelope included. */
  readonly response: TSchema
  /** Envelope codes beside 200, 404, 500 and 503, which every operation has. */
  readonly refusals: readonly RefusalCode[]
  readonly example: unknown
}

/** One operation: the value that validates requests, documents them and types their handlers. */
export interface AccountRoute<
  Params extends TObject,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
> extends AnyAccountRoute {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly response: Response
  readonly example: Static<Response>
}

/** Keeps the precise types of a route's parts. */
export function defineAccountRoute<
  Params extends TObject,
  Query extends TObject,
  Body extends TObject,
  Response extends TSchema,
>(route: AccountRoute<Params, Query, Body, Response>): AccountRoute<Params, Query, Body, Response> {
  return route
}

/** What is answered where there is nothing to tell. */
export const DONE_EXAMPLE = { code: '200', msg: 'Success' } as const

export const Email = Type.String({
  maxLength: MAIL_ADDRESS_MAX,
  description: 'A mail address; upper and lower case are the same.',
  examples: ['ann@example.org'],
})

/** NIST SP 800-63B wants eight at least where there is a second factor; here there is none. */
export const PASSWORD_CHARACTERS_MIN = 10
/** Longer ones are no safer. */
export const PASSWORD_CHARACTERS_MAX = 128

export const NewPassword = Type.String({
  minLength: PASSWORD_CHARACTERS_MIN,
  maxLength: PASSWORD_CHARACTERS_MAX,
  description: 'Any characters.',
})
/** As it was given: a wrong one is refused as wrong, whatever it is like. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: PASSWORD_CHARACTERS_MAX })

export const MailedCode = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description: 'The code of the mail; counts once.',
})

const BLOCKCHAIN_CHARACTERS_MAX = 65

export const Blockchain = Type.String({
  maxLength: BLOCKCHAIN_CHARACTERS_MAX,
  description: 'Protocol and network with a slash between them.',
  examples: ['ethereum/mainnet'],
})

const LISTED_MAX = 100

/** Of lists that fit one page for nearly everybody. */
export const ListLimit = Type.Integer({ ...Limit, maximum: LISTED_MAX, default: LISTED_MAX })

export const OrderId = Type.String({
  pattern: ORDER_ID_PATTERN,
  description: 'What an order is told by, by its operator too.',
  examples: ['ord_5f2b8c1d9e3a4f60'],
})

export const KeyId = Type.String({
  pattern: `^[0-9a-f]{${TOKEN_HASH_CHARACTERS}}$`,
  description: 'Beginning of the SHA-256 of the key, which tells it from others.',
  examples: ['3f786850e387'],
})
