import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { dayOfInstant } from '../../schemas/eth/time.ts'
import { type Pagination, RESULTS, type Refusal } from '../../schemas/routes/envelope.ts'
import type { AnyRoute, Route } from '../../schemas/routes/route.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { envelopeErrors, RefusedRequest, sendAnswer } from './answer.ts'
import type { SharedParts } from './api-parts.ts'
import { openBudget } from './budget.ts'
import { chainOf, chainPath, standingOf } from './chain-path.ts'
import { COMPRESSION } from './compression.ts'
import { documentRoute } from './document.ts'
import { goneSignal } from './gone.ts'
import { ANSWER_MS_MAX } from './limits.ts'
import { compileParameters } from './parse-parameters.ts'
import type { AccountScope } from './seen-validators.ts'

/** What a handler knows beside its parameters. */
export interface RequestScope extends AccountScope {
  readonly warehouse: WarehouseReader
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  /** The chain's network as the path spells it. */
  readonly network: string
  readonly nowMs: number
  readonly unfundedRules: UnfundedRules
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
export function serveOperations(app: FastifyInstance, operations: readonly Operation[], parts: SharedParts): void {
  app.setErrorHandler(envelopeErrors(parts.log))
  app.setValidatorCompiler<TObject>(compileParameters)
  for (const { route, handle } of operations) {
    for (const [position, path] of route.paths.entries()) {
      app.route({
        method: route.method,
        url: chainPath(path),
        schema: documentRoute(route, position),
        config: route.scope === undefined ? {} : { scope: route.scope },
        compress: COMPRESSION,
        handler: (request, reply) => answerKept(request, reply, { route, handle }, parts),
      })
    }
  }
}

/** Answers as before where nothing has changed since, and otherwise by the operation's handler. */
async function answerKept(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, handle }: Operation,
  parts: SharedParts,
): Promise<FastifyReply> {
  const { query, body, account } = request
  const { answerMsMax = ANSWER_MS_MAX } = parts
  const { names } = chainOf(request)
  const standing = standingOf(request)
  const nowMs = parts.now()
  // Questions without dates mean other days tomorrow.
  const key = JSON.stringify([route.id, names.name, account, dayOfInstant(nowMs / 1_000), query, body])
  const kept = parts.answers.kept(key, standing.position)
  if (kept !== undefined) return sendAnswer(reply, kept)
  const question = { key, position: standing.position, signal: goneSignal(reply, answerMsMax) }
  const sent = await parts.answers.of(question, async (signal) => {
    const warehouse = openBudget({ ...parts, account, signal })
    const shared = openBudget({ ...parts, account })
    const { unfundedRules } = parts
    const scope = {
      warehouse,
      shared,
      chain: names.name,
      network: names.network,
      account,
      nowMs,
      standing,
      unfundedRules,
    }
    const result = await handle({ query, body }, scope)
    if (result.status === 'refused') throw new RefusedRequest(result)
    const text = JSON.stringify(result.envelope)
    return { httpStatus: 200, type: 'application/json; charset=utf-8', body: text, isKept: true }
  })
  return sendAnswer(reply, sent)
}

/** The envelope of what is not a list. */
export function answer<Data>(data: Data) {
  return { status: 'answered', envelope: { code: '200', msg: RESULTS['200'].text, data } } as const
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
