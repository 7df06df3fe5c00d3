import { type Static, type TObject, type TSchema, Type } from 'typebox'

/** What stands before the path of every operation: the network and the account behind the token. */
export const PREFIX = '/{protocol}/{network}/{token}'
export const PROTOCOL = 'ethereum'

export const PrefixParams = Type.Object({
  protocol: Type.Literal(PROTOCOL, { description: 'Protocol.' }),
  network: Type.String({ description: 'Name of the configured network.', examples: ['mainnet'] }),
  token: Type.String({ description: 'Access token: stands for the account and authenticates the request.' }),
})

/**
 * One operation: the value that validates requests, documents them and types their handlers.
 * Query parameters that are not named in `query`, and unknown members of the body, are ignored.
 */
export interface Route<Query extends TObject, Body extends TObject, Response extends TSchema> {
  readonly id: string
  readonly method: 'GET' | 'POST'
  /** Paths behind the prefix; the first one is the canonical one, the others answer the same. */
  readonly paths: readonly [string, ...string[]]
  readonly summary: string
  readonly description: string
  readonly query: Query
  /** JSON whatever the Content-Type says; absent on GET. */
  readonly body?: Body
  /** The whole successful answer, envelope included. */
  readonly response: Response
  /** Envelope codes beside 200, 401 and 500, which every operation has. */
  readonly refusals: readonly ('400' | '4001' | '4002' | '4003')[]
  readonly example: Static<Response>
}

export type AnyRoute = Route<TObject, TObject, TSchema>

export const NoParameters = Type.Object({})

/** Keeps the precise types of a route's parts. */
export function defineRoute<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
): Route<Query, Body, Response> {
  return route
}
