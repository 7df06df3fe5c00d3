import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendAsyncHookHandler,
  preValidationAsyncHookHandler,
} from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { quarterHourOf } from '../../schemas/eth/utc-offset.ts'
import { type Pagination, RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import type { AnyRoute, Route } from '../../schemas/routes/route.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { envelopeErrors, RefusedRequest, sendAnswer, sendRefusal } from './answer.ts'
import { type SentAnswer, toBody } from './answers.ts'
import type { SharedParts } from './api-parts.ts'
import { openBudget } from './budget.ts'
import { chainOf, chainPath, standingOf } from './chain-path.ts'
import { COMPRESSION } from './compression.ts'
import { acceptedForm, type TaxEntry } from './csv.ts'
import type { ListPage } from './cursor.ts'
import { documentRoute } from './document.ts'
import { codedTag, entityTag, isKnown } from './etag.ts'
import { goneSignal } from './gone.ts'
import { ANSWER_MS_MAX } from './limits.ts'
import { meantName } from './meant-name.ts'
import { compileParameters, DETAIL_CHARACTERS_MAX, isGiven } from './parse-parameters.ts'
import type { AccountScope } from './seen-validators.ts'
import { REPORT_MS_MAX, sendReport } from './send-report.ts'
import type { StatementSigner } from './statement-signer.ts'
import { addVary } from './vary.ts'

/** What a handler knows beside its parameters. */
export interface RequestScope extends AccountScope {
  readonly warehouse: WarehouseReader
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  /** The chain's protocol and network as the path spells them. */
  readonly protocol: string
  readonly network: string
  readonly nowMs: number
  readonly unfundedRules: UnfundedRules
  readonly statementSigner: StatementSigner | undefined
  readonly servesUnproven: boolean
}

export interface Answer<Envelope> {
  readonly status: 'answered'
  readonly envelope: Envelope
}

/** The answer as a table. */
export interface Report {
  readonly status: 'report'
  /** Told in a header: what the figures cover. */
  readonly completeness?: Completeness
  /** Rows in pieces, each of which is in memory as a whole: they are read while the client takes them. */
  readonly rows: Iterable<readonly object[]> | AsyncIterable<readonly object[]>
  /** What tax tools are told of a row. */
  readonly toTaxEntries?: (row: object) => readonly TaxEntry[]
}

type Handler<Query, Body, Envelope> = (
  parameters: { readonly query: Query; readonly body: Body },
  scope: RequestScope,
) => Promise<Answer<Envelope> | Refusal>

/** Its statements have no budget together, but each has one of its own. */
type Reporter<Query, Body> = (
  parameters: { readonly query: Query; readonly body: Body },
  scope: RequestScope,
) => Promise<Report | Refusal>

/** A route with its handler, which is given parameters that the route's schemas have been checked with. */
export interface Operation {
  readonly route: AnyRoute
  readonly handle: Handler<unknown, unknown, unknown>
  /** Of a route with a form as CSV. */
  readonly report: Reporter<unknown, unknown> | undefined
}

export function operation<Query extends TObject, Body extends TObject, Response extends TSchema>(
  route: Route<Query, Body, Response>,
  handle: Handler<Static<Query>, Static<Body>, Static<Response>>,
  report?: Reporter<Static<Query>, Static<Body>>,
): Operation {
  // Fastify has validated both with this very route's schemas.
  const typed = ({ query, body }: { readonly query: unknown; readonly body: unknown }) => ({
    query: query as Static<Query>,
    body: body as Static<Body>,
  })
  return {
    route,
    handle: (parameters, scope) => handle(typed(parameters), scope),
    report: report === undefined ? undefined : (parameters, scope) => report(typed(parameters), scope),
  }
}

/**
 * Serves the operations of a family at their paths behind the token, within the family's plugin: parameters are validated
 * before a handler runs, refusals and failures are answered in the envelope, and the OpenAPI document has them.
 */
export function serveOperations(app: FastifyInstance, operations: readonly Operation[], parts: SharedParts): void {
  app.setErrorHandler(envelopeErrors(parts.log))
  app.setValidatorCompiler<TObject>(compileParameters)
  tagCodings(app)
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  for (const operation of operations) {
    const { route } = operation
    for (const [position, path] of route.paths.entries()) {
      app.route({
        method: route.method,
        url: chainPath(path),
        schema: documentRoute(route, position),
        config: route.scope === undefined ? {} : { scope: route.scope },
        compress: COMPRESSION,
        preValidation: refuseMembersInAddress(route),
        handler: (request, reply) => answerAsAccepted(request, reply, operation, { ...parts, closing: closing.signal }),
      })
    }
  }
}

/** Who pages or filters in the address of what is posted would be answered by what the body does not say. */
function refuseMembersInAddress({ body }: AnyRoute): preValidationAsyncHookHandler {
  const members = Object.keys(body?.properties ?? {})
  return async ({ query }) => {
    const written = Object.keys(query as object).find((key) => meantName(key, members) !== undefined)
    if (written === undefined) return
    const told = written.slice(0, DETAIL_CHARACTERS_MAX)
    throw new RefusedRequest(
      refuse('400', `${told} is not understood: ${meantName(written, members)} belongs into the body`),
    )
  }
}

/** Rows of a report that are made at once of what is in memory. */
const ROWS_MADE_AT_ONCE = 1_000

/** Rows of a report that are made of a whole list as the client takes them. */
export function* inPieces<Item>(items: readonly Item[], toRow: (item: Item) => object): Generator<readonly object[]> {
  for (let from = 0; from < items.length; from += ROWS_MADE_AT_ONCE)
    yield items.slice(from, from + ROWS_MADE_AT_ONCE).map(toRow)
}

/** The tag of an answer is that of its JSON; one that is sent compressed has its own. Behind the hook that compresses. */
function tagCodings(app: FastifyInstance): void {
  const tagCoding: onSendAsyncHookHandler = async (_request, reply) => {
    const [tag, coding] = [reply.getHeader('etag'), reply.getHeader('content-encoding')]
    if (typeof tag === 'string' && typeof coding === 'string') reply.header('etag', codedTag(tag, coding))
  }
  app.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], tagCoding].flat()
  })
}

/** As the client would have it: as CSV where the route has that form, and otherwise as JSON. */
async function answerAsAccepted(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  parts: SharedParts & { readonly closing: AbortSignal },
): Promise<FastifyReply> {
  const { route, report } = operation
  const accepted = acceptedForm(request.headers.accept, route.csv)
  if (accepted.status === 'refused') return sendRefusal(reply, accepted)
  addVary(reply, 'accept', 'accept-encoding')
  if (accepted.form === 'json' || route.csv === undefined || report === undefined)
    return answerKept(request, reply, operation, parts)
  const { query, body } = request
  const refusal = refusePaging([query, body])
  if (refusal !== undefined) return sendRefusal(reply, refusal)
  const signal = AbortSignal.any([goneSignal(reply, REPORT_MS_MAX), parts.closing])
  const scope = toScope(request, parts, {
    warehouse: eachOnItsOwn(request, parts, signal),
    shared: eachOnItsOwn(request, parts),
  })
  const found = await report({ query, body }, scope)
  if (found.status === 'refused') return sendRefusal(reply, found)
  return sendReport(request, reply, { report: found, csv: route.csv, form: accepted.form, signal, log: parts.log })
}

/** What says which of a list's items are meant. */
const PAGING = ['page', 'limit', 'cursor']

/** A client that pages would have all rows on every page. */
function refusePaging(parameters: readonly unknown[]): Refusal | undefined {
  const given = PAGING.filter((name) => parameters.some((parsed) => isGiven(parsed, name)))
  return given.length === 0 ? undefined : refuse('400', `a CSV has all rows: leave ${given.join(', ')} out`)
}

/** A warehouse where each statement has a budget of its own. */
function eachOnItsOwn({ account }: FastifyRequest, parts: SharedParts, signal?: AbortSignal): WarehouseReader {
  const budgeted = { ...parts, account, ...(signal === undefined ? {} : { signal }) }
  return { query: (sql, params) => openBudget(budgeted).query(sql, params) }
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
  // Questions without dates mean other days tomorrow, which begins at some quarter of an hour.
  const key = JSON.stringify([route.id, names.name, account, quarterHourOf(parts.now() / 1_000), query, body])
  const kept = parts.answers.kept(key, standing.position)
  if (kept !== undefined) return sendTagged(request, reply, kept)
  const question = { key, position: standing.position, signal: goneSignal(reply, answerMsMax) }
  const sent = await parts.answers.of(question, async (signal) => {
    const warehouse = openBudget({ ...parts, account, signal })
    const scope = toScope(request, parts, { warehouse, shared: openBudget({ ...parts, account }) })
    const result = await handle({ query, body }, scope)
    if (result.status === 'refused') throw new RefusedRequest(result)
    const told = toBody(JSON.stringify(result.envelope))
    const headers = { etag: entityTag(told), 'cache-control': 'private, no-cache' }
    return { httpStatus: 200, type: 'application/json; charset=utf-8', body: told, isKept: true, headers }
  })
  return sendTagged(request, reply, sent)
}

/** What has a tag is asked for again by it; of what is posted nobody keeps an answer. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, answer: SentAnswer): FastifyReply {
  const { headers = {} } = answer
  if (request.method === 'POST') return sendAnswer(reply, answer)
  reply.headers(headers)
  if (isKnown(request.headers['if-none-match'], headers.etag)) return reply.status(304).send()
  return sendAnswer(reply, answer)
}

function toScope(
  request: FastifyRequest,
  parts: SharedParts,
  readers: Pick<RequestScope, 'warehouse' | 'shared'>,
): RequestScope {
  const { account } = request
  const { names } = chainOf(request)
  const { unfundedRules, statementSigner, servesUnproven = false } = parts
  return {
    ...readers,
    chain: names.name,
    protocol: names.protocol,
    network: names.network,
    account,
    nowMs: parts.now(),
    standing: standingOf(request),
    unfundedRules,
    statementSigner,
    servesUnproven,
  }
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

/** The envelope of a page of a list that also goes on from where it has ended. */
export function answerList<Data>(
  data: Data,
  { pagination, next_cursor }: Pick<ListPage<unknown>, 'pagination' | 'next_cursor'>,
) {
  const { status, envelope } = answerPage(data, pagination)
  return { status, envelope: { ...envelope, next_cursor } } as const
}

/** Rows to leave out before a page. */
export function pageOffset(page: { readonly page: number; readonly limit: number }): number {
  return (page.page - 1) * page.limit
}
