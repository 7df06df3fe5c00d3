import type { Static, TObject, TSchema } from 'typebox'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type Pagination, RESULTS, type Refusal } from '../../schemas/routes/envelope.ts'
import type { AnyRoute, Route } from '../../schemas/routes/route.ts'
import { bodyParser, queryParser } from './parse-parameters.ts'

/** What a handler knows beside its parameters. */
export interface RequestScope {
  readonly warehouse: Warehouse
  readonly network: string
  /** The account behind the request's token. */
  readonly account: string
  readonly nowMs: number
}

export interface Answer<Envelope> {
  readonly status: 'answered'
  readonly envelope: Envelope
}

type Handler<Query, Body, Envelope> = (
  parameters: { readonly query: Query; readonly body: Body },
  scope: RequestScope,
) => Promise<Answer<Envelope> | Refusal>

/** A route with its handler: parameters are parsed before the handler runs. */
export interface Operation {
  readonly route: AnyRoute
  run(
    input: { readonly search: URLSearchParams; readonly body: string | undefined },
    scope: RequestScope,
  ): Promise<Answer<unknown> | Refusal>
}

export function operation<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
  handle: Handler<Static<Query>, Static<Body>, Static<Response>>,
): Operation {
  const parseQuery = queryParser(route.query)
  const parseBody = route.body === undefined ? undefined : bodyParser(route.body)
  return {
    route: route as unknown as AnyRoute,
    async run(input, scope) {
      const query = parseQuery(input.search)
      if (query.status === 'refused') return query
      if (parseBody === undefined) return handle({ query: query.value, body: {} as Static<Body> }, scope)
      const body = parseBody(input.body)
      if (body.status === 'refused') return body
      return handle({ query: query.value, body: body.value }, scope)
    },
  }
}

/** The envelope of a page of a list. */
export function answerPage<Data>(data: Data, pagination: Pagination) {
  return {
    status: 'answered',
    envelope: { code: '200', msg: RESULTS['200'].text, data, pagination },
  } as const
}

/** Rows to leave out before a page. */
export function pageOffset(page: { readonly page: number; readonly limit: number }): number {
  return (page.page - 1) * page.limit
}
