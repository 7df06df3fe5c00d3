import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import {
  type AnyQuoteRoute,
  QUOTE_FAILURES,
  QUOTES_PREFIX,
  type QuoteFailure,
  type QuoteRefusal,
  type QuoteRoute,
  refuseQuote,
} from '../../schemas/routes/quotes/quote-route.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { RETRY_AFTER_SEC, RefusedRequest, sendRefusal, toldAway } from '../http/answer.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { openBudget } from '../http/budget.ts'
import { clientOf } from '../http/client.ts'
import { COMPRESSION } from '../http/compression.ts'
import { toInput } from '../http/document.ts'
import { AnswerLate, AskerGone, goneSignal } from '../http/gone.ts'
import { ANSWER_MS_MAX } from '../http/limits.ts'
import { compileParameters } from '../http/parse-parameters.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { takeOfClient } from '../http/take-request.ts'
import { KnownYields } from './yields.ts'

/** Questions of one client, by its network address, whatever they are: each takes statements, nodes or keys, and asks for no token. */
export const QUOTES_PER_MINUTE = 60
const CLIENT_LIMIT = { name: 'quotes', perMinute: QUOTES_PER_MINUTE }

/** What quotes are made for. */
export interface QuoteParts {
  /** Name of the chain, as in the tables. */
  readonly chain: string
  readonly account: string
}

/** What a handler knows beside its parameters. */
export interface QuoteScope extends QuoteParts, AccountScope {
  readonly unfundedRules: UnfundedRules
  readonly warehouse: WarehouseReader
  readonly jobs: Pick<JobQueue, 'add' | 'result' | 'withdraw'>
  readonly yields: KnownYields
  readonly nowMs: number
  /** Unix milliseconds on the machine, by which questions wait. */
  readonly wallNow: () => number
  /** Tells clients apart: no address. */
  readonly client: string
  /** Nobody reads the answer (HEAD): what changes something is not done for it. */
  readonly isHead: boolean
}

type QuoteHandler<Query, Answer> = (
  query: Query,
  scope: QuoteScope,
) => Promise<
  | { readonly status: 'quoted'; readonly answer: Answer }
  /** The question can be asked; of HEAD alone. */
  | { readonly status: 'askable' }
  | QuoteRefusal
>

export interface Quote {
  readonly route: AnyQuoteRoute
  readonly handle: QuoteHandler<unknown, unknown>
}

export function quote<Query extends TObject, Response extends TSchema>(
  route: QuoteRoute<Query, Response>,
  handle: QuoteHandler<Static<Query>, Static<Response>>,
): Quote {
  // Fastify has validated it with this very route's schema.
  return { route, handle: (query, scope) => handle(query as Static<Query>, scope) }
}

/** Serves quotes at their paths, within the family's plugin: without a token and an envelope, and with failures as text. */
export function serveQuotes(app: FastifyInstance, quotes: readonly Quote[], parts: SharedParts): void {
  const yields = new KnownYields()
  app.setErrorHandler(textErrors(parts.log))
  app.setValidatorCompiler<TObject>(compileParameters)
  app.addHook('onRequest', async (request, reply) => {
    if (configured(parts) === undefined) return sendRefusal(reply, refuse('404'))
    const limited = await takeOfClient(request, reply, { meter: parts.meter, limit: CLIENT_LIMIT })
    if (limited !== undefined)
      return sendText(reply, refuseQuote(limited.code === '429' ? 429 : 503, limited.detail ?? ''))
  })
  for (const { route, handle } of quotes) {
    app.route({
      method: 'GET',
      url: `${QUOTES_PREFIX}${route.path}`,
      schema: documentQuote(route),
      compress: COMPRESSION,
      handler: async (request, reply) => {
        const result = await handle(request.query, await scopeOf(request, reply, { ...parts, yields }))
        switch (result.status) {
          case 'quoted':
            return reply.send(result.answer)
          case 'askable':
            return reply.type('application/json; charset=utf-8').send()
          case 'refused':
            return sendText(reply, result)
        }
      },
    })
  }
}

/** Undefined where there are no quotes: nothing is configured, or the chain is not served any more. */
function configured({ quotes, chains }: SharedParts): QuoteParts | undefined {
  return chains().some(({ names, hasBeacon }) => hasBeacon && names.name === quotes?.chain) ? quotes : undefined
}

async function scopeOf(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: SharedParts & { readonly yields: KnownYields },
): Promise<QuoteScope> {
  const quotes = configured(parts)
  if (quotes === undefined) throw new Error('the routes of quotes are there where they are configured')
  const { answerMsMax = ANSWER_MS_MAX } = parts
  const { chain, account } = quotes
  // Of one that has gone meanwhile nothing tells it any more.
  const client = clientOf(parts.addresses.of(request.raw))
  const warehouse = openBudget({ ...parts, account, signal: goneSignal(reply, answerMsMax) })
  const shared = openBudget({ ...parts, account })
  const standing = await parts.standings.of(chain)
  const { jobs, yields, unfundedRules } = parts
  return {
    ...{ chain, account, warehouse, shared, standing, jobs, yields, unfundedRules },
    nowMs: parts.now(),
    wallNow: parts.wallNow,
    client,
    isHead: request.method === 'HEAD',
  }
}

const NOT_PRINTABLE = /[^\x20-\x7e]/g

function sendText(reply: FastifyReply, { httpStatus, reason }: Omit<QuoteRefusal, 'status'>): FastifyReply {
  if (httpStatus === 405) reply.header('allow', 'GET, HEAD')
  if (httpStatus === 503) reply.header('retry-after', RETRY_AFTER_SEC)
  return reply
    .status(httpStatus)
    .header('x-reason', reason.replace(NOT_PRINTABLE, '?'))
    .type('text/plain; charset=utf-8')
    .send(QUOTE_FAILURES[httpStatus])
}

/** Answers as text what was thrown: a question that cannot be read is the caller's, everything else is ours and stays in the log. */
function textErrors(log: Log) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof RefusedRequest) return sendText(reply, refuseQuote(405, error.message))
    const about = { requestId: request.id, route: request.routeOptions.url }
    if (error instanceof AnswerLate || (error instanceof AppError && error.retryable)) {
      log.warn({ ...about, reason: error.message }, 'a quote could not be made')
      return sendText(reply, refuseQuote(503, error instanceof AppError ? toldAway(error).answered : error.message))
    }
    if (!(error instanceof AskerGone)) log.error({ ...about, err: error }, 'a quote failed')
    return sendText(reply, refuseQuote(500, 'no quote can be made at the moment'))
  }
}

const DESCRIPTIONS: Readonly<Record<QuoteFailure, string>> = {
  405: 'A parameter is missing or is not what it should be',
  429: `A client has asked ${QUOTES_PER_MINUTE} times in a minute, and \`Retry-After\` says when to come back; or too many prepared validators wait for their deposits`,
  500: 'No node could be asked, or the question failed',
  503: 'The tables cannot be read or clients cannot be counted at the moment; `Retry-After` says when to come back',
}

function documentQuote(route: AnyQuoteRoute): FastifySchema {
  const failures = Object.entries(QUOTE_FAILURES).map(([status, text]) => [
    status,
    {
      description: DESCRIPTIONS[Number(status) as QuoteFailure],
      content: { 'text/plain': { schema: { type: 'string', const: text } } },
    },
  ])
  return {
    operationId: route.id,
    summary: route.summary,
    description: route.description,
    querystring: toInput(route.query),
    response: {
      '200': {
        description: 'The answer, without an envelope',
        content: { 'application/json': { schema: route.response, example: route.example } },
      },
      ...Object.fromEntries(failures),
    },
  }
}
