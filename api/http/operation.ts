import type { FastifyInstance } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type Pagination, RESULTS, type Refusal } from '../../schemas/routes/envelope.ts'
import type { AnyRoute, Route } from '../../schemas/routes/route.ts'
import { envelopeErrors, sendRefusal } from './answer.ts'
import type { ApiParts } from './api-parts.ts'
import { chainOf, chainPath } from './chain-path.ts'
import { COMPRESSION } from './compression.ts'
import { documentRoute } from './document.ts'
import { compileParameters } from './parse-parameters.ts'

/** What a handler knows beside its parameters. */
export interface RequestScope {
  readonly warehouse: WarehouseReader
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  /** The chain's network as the path spells it. */
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

/** A route with its handler, which is given parameters that the route's schemas have been checked with. */
export interface Operation {
  readonly route: AnyRoute
  readonly handle: Handler<unknown, unknown, unknown>
}

export function operation<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
  handle: Handler<Static<Query>, Static<Body>, Static<Response>>,
): Operation {
  return {
    route,
    // Fastify has validated both with this very route's schemas.
    handle: ({ query, body }, scope) => handle({ query: query as Static<Query>, body: body as Static<Body> }, scope),
  }
}

/**
 * Serves the operations of a family at their paths behind the token, within the family's plugin: parameters are validated
 * before a handler runs, refusals and failures are answered in the envelope, and the OpenAPI document has them.
 */
export function serveOperations(app: FastifyInstance, operations: readonly Operation[], parts: ApiParts): void {
  app.setErrorHandler(envelopeErrors(parts.log))
  app.setValidatorCompiler<TObject>(compileParameters)
  for (const { route, handle } of operations) {
    for (const [position, path] of route.paths.entries()) {
      app.route({
        method: route.method,
        url: chainPath(path),
        schema: documentRoute(route, position),
        compress: COMPRESSION,
        handler: async (request, reply) => {
          const { names } = chainOf(request)
          const result = await handle(
            { query: request.query, body: request.body },
            {
              warehouse: parts.warehouse,
              chain: names.name,
              network: names.network,
              account: request.account,
              nowMs: parts.now(),
            },
          )
          return result.status === 'refused' ? sendRefusal(reply, result) : reply.send(result.envelope)
        },
      })
    }
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
