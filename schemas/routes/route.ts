import { type Static, type TObject, type TSchema, Type } from 'typebox'
import type { TokenScope } from '../access-token.ts'

/** What stands before the path of every operation: the chain, and the account behind the token. */
export const PREFIX = '/{protocol}/{network}/{token}'

export const PrefixParams = Type.Object({
  protocol: Type.String({ description: 'Protocol of the chain.', examples: ['ethereum'] }),
  network: Type.String({ description: 'Network of the protocol.', examples: ['mainnet'] }),
  token: Type.String({ description: 'Access token: stands for the account and authenticates the request.' }),
})

/** The answer as a table, for `Accept: text/csv`: all its items, of which no page can be asked for, in the order of the list. */
export interface CsvForm {
  /** Its columns: those of objects in it are named with dots. */
  readonly row: TObject
  /** Whether there is also a form that tax tools read (`TAX_MEDIA_TYPE`). */
  readonly hasTaxForm?: boolean
}

export const CSV_MEDIA_TYPE = 'text/csv'
/** Name of that form in `Accept: text/csv; profile=…`: Koinly's simple template (decision 51). */
export const TAX_PROFILE = 'koinly'
export const TAX_MEDIA_TYPE = `${CSV_MEDIA_TYPE}; profile=${TAX_PROFILE}`

/** One operation, whatever its parameters and answer are. */
export interface AnyRoute {
  readonly id: string
  readonly method: 'GET' | 'POST'
  /** What a token has to be for; absent: `read`. */
  readonly scope?: TokenScope
  /** Paths behind the prefix; the first one is the canonical one, the others answer the same. */
  readonly paths: readonly [string, ...string[]]
  readonly summary: string
  readonly description: string
  readonly query: TObject
  /** Headers that mean something, as the document tells them: the handler checks them. */
  readonly headers?: TObject
  /** JSON whatever the Content-Type says; absent on GET. */
  readonly body?: TObject
  /** The whole successful answer, envelope included. */
  readonly response: TSchema
  readonly csv?: CsvForm
  /** Envelope codes beside 200, 401, 404 and 500, which every operation has. */
  readonly refusals: readonly ('400' | '4001' | '4002' | '4003')[]
  readonly example: unknown
}

/**
 * One operation: the value that validates requests, documents them and types their handlers.
 * Query parameters and members of the body that look like no name of `query` or `body` are ignored.
 */
export interface Route<Query extends TObject, Body extends TObject, Response extends TSchema> extends AnyRoute {
  readonly query: Query
  readonly body?: Body
  readonly response: Response
  readonly example: Static<Response>
}

export const NoParameters = Type.Object({})

/** Keeps the precise types of a route's parts. */
export function defineRoute<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
): Route<Query, Body, Response> {
  return route
}
