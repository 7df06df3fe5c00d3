import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
// graphql comes in two builds, and values of one are foreign to the other: this is the one that graphql-yoga loads.
import { type ExecutionResult, GraphQLError, parse } from 'graphql/index.js'
import { createSchema, createYoga, type Plugin } from 'graphql-yoga'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { quarterHourOf } from '../../schemas/eth/utc-offset.ts'
import { formatMessage, RESULTS, refuse } from '../../schemas/routes/envelope.ts'
import { NFT_FAILURES, type NftRefusal } from '../../schemas/routes/nft/nft-route.ts'
import { envelopeErrors, RefusedRequest, sendAnswer, TOO_MUCH, toldAway } from '../http/answer.ts'
import { type SentAnswer, toBody } from '../http/answers.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { acceptTextOfAnyType, COMPRESSED, CompressedBody } from '../http/body-rules.ts'
import { openBudget } from '../http/budget.ts'
import { chainOf, chainPath, requireChainAndAccount, standingOf } from '../http/chain-path.ts'
import { COMPRESSION } from '../http/compression.ts'
import { AnswerLate, AskerGone, goneSignal } from '../http/gone.ts'
import { ANSWER_MS_MAX } from '../http/limits.ts'
import { DETAIL_CHARACTERS_MAX } from '../http/parse-parameters.ts'
import { formatValidAt, REVERTED_MEANWHILE, RefusedNft, TRIES_MAX, toValidAt } from '../nft/asking.ts'
import { tooManyAsked } from '../nft/serve.ts'
import { NftStandings } from '../nft/standing.ts'
import { analystResolvers } from './analyst-resolvers.ts'
import { asksOfTokens, givenTwice, isReadable, TOKENS_MAX } from './asks-of-tokens.ts'
import { createContext, type GraphqlContext } from './context.ts'
import { costRefusal, measureCost } from './cost.ts'
import { GRAPHQL_SCHEMAS } from './document.ts'
import { evidenceResolvers } from './evidence-resolvers.ts'
import { localDayResolvers } from './local-day-resolvers.ts'
import { networkResolvers } from './network-resolvers.ts'
import { NftQuestions } from './nft-questions.ts'
import { nftResolvers, resolveFromRest } from './nft-resolvers.ts'
import { proofResolvers } from './proof-resolvers.ts'
import { refusalError } from './refusals.ts'
import { resolvers } from './resolvers.ts'

const SDL = ['schema.graphql', 'analysts.graphql', 'proof.graphql', 'nft.graphql'].map(
  (file) => new URL(`../../schemas/${file}`, import.meta.url),
)
/** What GraphiQL begins with. */
const FIRST_QUERY = `# The account's validators on this chain; dates are UTC+8 days.
{
  newestEpoch
  days { date consensusReward { eth } executionReward { eth } validatorsCount }
  validators(first: 10) { totalCount nodes { index status balance { eth } } }
}
`
const FIRST_QUERY_OF_TOKENS = `# The chain's tokens, all as of one block.
{
  nft {
    validAt { blockNumber blockHash }
    transfers(maxCount: 10) { transfers { blockNumber from to amount token { tokenId metadata { title } } contract { name } } }
  }
}
`
/** The library sees this address instead of the one with the token. */
const INNER_URL = 'http://localhost/graphql'

/** The account's GraphQL on one chain at GET and POST behind the token: one operation per request, bounded before it runs. */
export async function graphqlPlugin(app: FastifyInstance, parts: SharedParts): Promise<void> {
  const { log, now, unfundedRules, servesUnproven = false, answerMsMax = ANSWER_MS_MAX } = parts
  const envelope = envelopeErrors(log)
  app.setErrorHandler((error, request, reply) =>
    error instanceof CompressedBody ? sendUnsupported(reply) : envelope(error, request, reply),
  )
  acceptTextOfAnyType(app)
  requireChainAndAccount(app, { ...parts, family: 'graphql', serves: () => true })
  const typeDefs = await Promise.all(SDL.map((file) => readFile(file, 'utf8')))
  const schema = createSchema<GraphqlContext>({
    typeDefs,
    resolvers: [
      resolvers,
      localDayResolvers,
      evidenceResolvers,
      analystResolvers,
      networkResolvers,
      proofResolvers,
      nftResolvers,
    ],
  })
  resolveFromRest(schema)
  const nftStandings = new NftStandings(parts.warehouse, parts.standingAgeMsMax === 0 ? 0 : undefined)
  const yoga = createYoga<GraphqlContext>({
    schema,
    plugins: [limitPlugin(), maskPlugin(log)],
    graphqlEndpoint: '/graphql',
    batching: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
    // What fails outside of fields: parsing, validation and the library itself.
    maskedErrors: { maskError: (error) => requestFault(error) ?? maskError(error, { log }) },
  })
  // The library reads and checks what it is asked; the schemas of the routes are for the document.
  app.setValidatorCompiler(() => () => true)
  const answer: RouteHandlerMethod = async (request, reply) => {
    const { names, hasBeacon } = chainOf(request)
    if (wantsPage(request))
      return reply
        .type('text/html; charset=utf-8')
        .send(await graphiqlPage(hasBeacon ? FIRST_QUERY : FIRST_QUERY_OF_TOKENS))
    const { account, actor } = request
    const chain = names.name
    const standing = standingOf(request)
    const nowMs = now()
    const init = toInit(request)
    if (init.body !== undefined && !isReadable(init.body)) request.bill?.costsNothing()
    const asked = { search: searchText(request), body: init.body }
    const isOfTokens = asksOfTokens(asked)
    // As of REST every question counts, answered from memory or with others, too.
    const waitSec = isOfTokens ? (parts.nftLimit?.take(actor, performance.now()) ?? 0) : 0
    if (waitSec > 0) return sendTooMany(reply, waitSec, parts)
    // The library takes the last one of a body and the first of an address, and who looks over either may have seen the other.
    const twice = givenTwice(asked)
    if (twice !== undefined) return sendGivenTwice(reply, twice)
    const position = `${standing.position} ${isOfTokens ? (await nftStandings.of(chain))?.position : ''}`
    // Questions without dates mean other days tomorrow, which begins at some quarter of an hour.
    const key = JSON.stringify(['graphql', chain, account, quarterHourOf(nowMs / 1_000), asked.search, init])
    const kept = parts.answers.kept(key, position)
    if (kept !== undefined) return sendAnswer(reply.headers(kept.headers ?? {}), kept)
    const question = { key, position, signal: goneSignal(reply, answerMsMax) }
    const made = await parts.answers.of(question, async (signal) => {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        if (tries > 0) nftStandings.forget(chain)
        const warehouse = openBudget({ ...parts, account, signal })
        const shared = openBudget({ ...parts, account })
        const nft = new NftQuestions({ standings: nftStandings, chain, warehouse })
        const context = {
          warehouse,
          shared,
          account,
          nowMs,
          unfundedRules,
          servesUnproven,
          requestId: request.id,
          standing,
          hasBeacon,
          nft,
        }
        const response = await yoga.fetch(`${INNER_URL}${asked.search}`, init, createContext(context))
        // No answer has rows of two branches: it is asked again where a block was reverted meanwhile.
        if (!(await nft.isOfOneChain())) continue
        const block = await nft.block()
        const headers = block === undefined ? {} : { 'x-valid-at': formatValidAt(toValidAt(block)) }
        return { ...(await toSentAnswer(response)), headers }
      }
      throw new RefusedRequest(refuse('503', REVERTED_MEANWHILE))
    })
    return sendAnswer(reply.headers(made.headers ?? {}), made)
  }
  for (const method of ['GET', 'POST'] as const) {
    app.route({
      // A GET that is also registered for HEAD would run the query for nothing.
      exposeHeadRoute: false,
      method,
      url: chainPath('/graphql'),
      schema: GRAPHQL_SCHEMAS[method],
      compress: COMPRESSION,
      handler: answer,
    })
  }
}

/** As GraphQL over HTTP has it for what is no JSON. */
function sendUnsupported(reply: FastifyReply): FastifyReply {
  const errors = [new GraphQLError(`Unsupported Media Type: ${COMPRESSED}`, { extensions: { code: '415' } })]
  return reply.status(415).send({ errors })
}

function sendGivenTwice(reply: FastifyReply, name: string): FastifyReply {
  const errors = [refusalError('400', `${name.slice(0, DETAIL_CHARACTERS_MAX)} is given more than once`)]
  return reply.status(400).send({ errors })
}

function sendTooMany(reply: FastifyReply, waitSec: number, parts: SharedParts): FastifyReply {
  const errors = [nftError(tooManyAsked(parts))]
  return reply.status(429).header('retry-after', Math.ceil(waitSec)).send({ errors })
}

/** A browser that opens the address, rather than a program that asks there. */
function wantsPage({ method, headers, query }: FastifyRequest): boolean {
  const asked = typeof query === 'object' && query !== null && 'query' in query
  return method === 'GET' && !asked && headers.accept?.includes('text/html') === true
}

/** GraphiQL with everything in it: nine megabytes, so it is read when the first person comes. */
async function graphiqlPage(defaultQuery: string): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  return renderGraphiQL({ title: 'epochline', defaultQuery })
}

function searchText(request: FastifyRequest): string {
  const mark = request.url.indexOf('?')
  return mark === -1 ? '' : request.url.slice(mark)
}

async function toSentAnswer(response: Response): Promise<SentAnswer> {
  const body = await response.text()
  return {
    httpStatus: httpStatusOf(response.status, body),
    type: response.headers.get('content-type') ?? 'application/json; charset=utf-8',
    body: toBody(body),
    // A field may have failed for the moment only. Text of the query's own that looks alike is only answered anew.
    isKept: response.ok && !body.includes('"errors":'),
  }
}

const ERRORS_FIRST = '{"errors":'

/** The library answers 200 for most of what is wrong with a query: without data it is the caller's 400, or a failure of ours. */
function httpStatusOf(status: number, body: string): number {
  if (status !== 200 || !body.startsWith(ERRORS_FIRST)) return status
  const { data, errors } = JSON.parse(body) as {
    readonly data?: object | null
    readonly errors: readonly { readonly extensions?: { readonly code?: string } }[]
  }
  if (data != null) return status
  return [404, 429, 500, 503].find((ours) => errors.some(({ extensions }) => extensions?.code === String(ours))) ?? 400
}

interface Init {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

function toInit(request: FastifyRequest): Init {
  // Two media types of GraphQL over HTTP; streams and pages are not offered.
  const wanted = request.headers.accept?.includes('application/graphql-response+json')
  const accept = wanted === true ? 'application/graphql-response+json' : 'application/json'
  if (request.method === 'GET') return { method: 'GET', headers: { accept } }
  const body = typeof request.body === 'string' ? request.body : ''
  return { method: 'POST', headers: { accept, 'content-type': 'application/json' }, body }
}

/** Refuses what is too large before it costs anything. */
function limitPlugin(): Plugin<GraphqlContext> {
  return {
    onParse: ({ setParseFn }) =>
      setParseFn((source, parseOptions) => parse(source, { ...parseOptions, maxTokens: TOKENS_MAX })),
    onExecute: ({ args, setResultAndStopExecution }) => {
      const cost = measureCost({
        schema: args.schema,
        document: args.document,
        operationName: args.operationName ?? undefined,
        variables: args.variableValues ?? {},
        nowMs: args.contextValue.nowMs,
        validators: args.contextValue.standing.validatorsOf(args.contextValue.account),
      })
      const refusal = cost === undefined ? undefined : costRefusal(cost)
      args.contextValue.nft.pageKeys = cost?.pageKeys ?? []
      if (refusal !== undefined) setResultAndStopExecution({ errors: [refusalError('400', refusal)] })
    },
  }
}

/** Failures that are ours are logged under the request's id and leave only their text. */
function maskPlugin(log: Log): Plugin<GraphqlContext> {
  return {
    onExecute: ({ args }) => ({
      onExecuteDone: ({ result, setResult }) => {
        const { errors } = result as ExecutionResult
        if (errors === undefined) return
        const known = { log, requestId: args.contextValue.requestId }
        setResult({ ...(result as ExecutionResult), errors: errors.map((error) => maskError(error, known)) })
      },
    }),
  }
}

/** What reading, parsing and checking a query throws where the library expects no failure; undefined for failures of ours. */
function requestFault(error: unknown): GraphQLError | undefined {
  const cause = error instanceof GraphQLError ? error.originalError : error
  if (cause instanceof SyntaxError) return refusalError('400', 'variables and extensions are JSON objects')
  // The call stack's end.
  if (cause instanceof RangeError) return refusalError('400', 'the query is nested too deeply')
  return undefined
}

function maskError(
  error: unknown,
  { log, requestId }: { readonly log: Log; readonly requestId?: string },
): GraphQLError {
  const cause = error instanceof GraphQLError ? error.originalError : error
  // Without another error below it is about the query; refusals of ours are thrown as GraphQLError.
  if (error instanceof GraphQLError && (cause == null || cause instanceof GraphQLError)) return error
  const path = error instanceof GraphQLError ? error.path : undefined
  if (cause instanceof RefusedNft) return nftError(cause.refusal, path)
  if (cause instanceof Error && 'code' in cause && cause.code === 'query_limit') {
    return new GraphQLError(formatMessage('400', TOO_MUCH), { path: path ?? null, extensions: { code: '400' } })
  }
  // Nobody reads it.
  if (cause instanceof AskerGone || cause instanceof AnswerLate)
    return new GraphQLError(cause.message, { path: path ?? null })
  if (cause instanceof AppError && cause.retryable) {
    const { told, answered } = toldAway(cause)
    log.warn({ requestId, path, reason: cause.message }, told)
    return new GraphQLError(formatMessage('503', answered), { path: path ?? null, extensions: { code: '503' } })
  }
  log.error({ requestId, path, err: cause }, 'graphql failed')
  return new GraphQLError(RESULTS['500'].text, { path: path ?? null, extensions: { code: '500', requestId } })
}

/** What REST answers to the same question. */
function nftError({ code, detail }: NftRefusal, path?: GraphQLError['path']): GraphQLError {
  const text = NFT_FAILURES[code]
  const message = detail === null ? text : `${text}: ${detail}`
  return new GraphQLError(message, { path: path ?? null, extensions: { code: String(code) } })
}
