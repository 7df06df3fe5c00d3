import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import {
  type AnyNftRoute,
  NFT_FAILURES,
  NFT_PATHS,
  type NftRefusal,
  refuseNft,
  toNftRefusal,
} from '../../schemas/routes/nft/nft-route.ts'
import { NOT_READABLE, RETRY_AFTER_SEC, RefusedRequest, toldAway } from '../http/answer.ts'
import type { SentAnswer } from '../http/answers.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { bodyText, CompressedBody, isCompressed, readBodiesAsText } from '../http/body-rules.ts'
import { openBudget } from '../http/budget.ts'
import { chainOf, refusalOf } from '../http/chain-path.ts'
import { COMPRESSION } from '../http/compression.ts'
import { isKnown } from '../http/etag.ts'
import { AnswerLate, AskerGone, goneSignal } from '../http/gone.ts'
import { ANSWER_MS_MAX, BODY_BYTES_MAX } from '../http/limits.ts'
import { takeRequest } from '../http/take-request.ts'
import { ask, formatValidAt, type NftOperation, NOTHING_INDEXED, RefusedNft, toValidAt } from './asking.ts'
import { documentNftRoute } from './document.ts'
import { nftParameterReader, type QueryTexts, type ReadNftParameters } from './read-parameters.ts'
import { NftStandings } from './standing.ts'

/** Answers otherwise than with one text, and says whether it has begun to: what it sends is sent later. */
export type Streaming = (
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Serving & { readonly values: Readonly<Record<string, unknown>> },
) => Promise<boolean>

export interface Serving {
  readonly parts: SharedParts
  readonly standings: NftStandings
  readonly operation: NftOperation
  readonly read: ReadNftParameters
  readonly stream: Streaming | undefined
  /** Aborts when the API closes: what has no end ends then. */
  readonly closing: AbortSignal
}

/** Serves the operations at all forms of their paths, within the family's plugin: bodies, errors and parameters are its own. */
export function serveNftOperations(
  app: FastifyInstance,
  operations: readonly NftOperation[],
  { parts, streams }: { readonly parts: SharedParts; readonly streams: Readonly<Record<string, Streaming>> },
): void {
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  const standings = new NftStandings(parts.warehouse, parts.standingAgeMsMax === 0 ? 0 : undefined)
  const serving = { parts, standings, closing: closing.signal }
  app.setErrorHandler(nftErrors(parts.log))
  app.setValidatorCompiler(() => () => true)
  app.addHook('onRequest', async (request, reply) => {
    const { chain: name, token } = request.params as { readonly chain?: string; readonly token?: string }
    if (name === undefined || token === undefined) return sendNftRefusal(reply, refuseNft(404))
    const chain = parts.chains().find(({ names }) => names.nftName === name)
    const refusal = await refusalOf(request, { ...parts, family: 'nft', serves: () => true }, chain, token)
    if (refusal !== undefined) return sendNftRefusal(reply, toNftRefusal(refusal))
    const limited = await takeRequest(request, reply, parts.meter)
    if (limited !== undefined) return sendNftRefusal(reply, toNftRefusal(limited))
    const waitSec = parts.nftLimit?.take(request.actor, performance.now()) ?? 0
    if (waitSec > 0) {
      reply.header('retry-after', Math.ceil(waitSec))
      return sendNftRefusal(reply, tooManyAsked(parts))
    }
  })
  for (const operation of operations) {
    const { route } = operation
    const read = nftParameterReader(route.parameters)
    const methods = methodsOf(route)
    const others = app.supportedMethods.filter((method) => !methods.includes(method))
    const config = { cors: { methods } }
    for (const [form, path] of NFT_PATHS.entries()) {
      for (const [place, name] of route.names.entries()) {
        const url = `${path.replaceAll(/\{(\w+)\}/g, ':$1')}/${name}`
        for (const method of route.methods) {
          app.route({
            method,
            url,
            config,
            schema: documentNftRoute(route, { method, isDocumented: form === 0 && place === 0 }),
            compress: COMPRESSION,
            handler: (request, reply) =>
              answer(request, reply, { ...serving, operation, read, stream: streams[route.id] }),
          })
        }
        app.route({
          method: others,
          url,
          config,
          schema: { hide: true },
          handler: async (_request, reply) => {
            reply.header('allow', methods.join(', '))
            return sendNftRefusal(reply, refuseNft(405))
          },
        })
      }
    }
  }
  app.route({
    method: app.supportedMethods,
    url: '/nft/*',
    schema: { hide: true },
    handler: async (_request, reply) => sendNftRefusal(reply, refuseNft(404)),
  })
}

export function tooManyAsked({ nftRequestsPerSecond }: Pick<SharedParts, 'nftRequestsPerSecond'>): NftRefusal {
  return refuseNft(429, `the token asks more than ${nftRequestsPerSecond} times a second`)
}

function methodsOf({ methods }: AnyNftRoute): string[] {
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : [...methods]
}

/** Takes JSON whatever its type says, of GET, too, as some clients send it. */
export function acceptBodies(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  readBodiesAsText(app)
  app.addHook('preValidation', async (request) => {
    const { headers, method, raw } = request
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    if (method !== 'GET' || !hasBody) return
    if (isCompressed(headers)) throw new CompressedBody()
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) throw new RefusedRequest({ status: 'refused', code: '400', detail: TOO_LARGE })
      chunks.push(chunk)
    }
    request.body = bodyText(Buffer.concat(chunks).toString())
  })
}

const TOO_LARGE = `the body is larger than ${BODY_BYTES_MAX} bytes`

async function answer(request: FastifyRequest, reply: FastifyReply, serving: Serving): Promise<FastifyReply> {
  const { parts, standings, operation, read } = serving
  const { body, account } = request
  const given = read(request.query as QueryTexts, typeof body === 'string' ? body : undefined)
  if (given.status === 'refused') return sendNftRefusal(reply, given)
  if ((await serving.stream?.(request, reply, { ...serving, values: given.values })) === true) return reply
  const chain = chainOf(request).names.name
  const standing = await standings.of(chain)
  if (standing === undefined) return sendNftRefusal(reply, refuseNft(503, NOTHING_INDEXED))
  const begin = () => goneSignal(reply, parts.answerMsMax ?? ANSWER_MS_MAX)
  if (operation.act !== undefined) {
    const warehouse = openBudget({ ...parts, account, signal: begin() })
    const pin = { warehouse, chain, standing, snapshot: standing.head }
    reply.header('x-valid-at', formatValidAt(toValidAt(pin.snapshot)))
    const done = await operation.act(given.values, { pin, jobs: parts.jobs })
    return done.status === 'refused' ? sendNftRefusal(reply, done) : reply.send(done.body)
  }
  const key = JSON.stringify(['nft', operation.route.id, chain, given.values])
  const kept = parts.answers.kept(key, standing.position)
  if (kept !== undefined) return sendKept(request, reply, kept)
  const question = { key, position: standing.position, signal: begin() }
  const sent = await parts.answers.of(question, (signal) => {
    const warehouse = openBudget({ ...parts, account, signal })
    return ask({ standings, operation, chain, warehouse, values: given.values })
  })
  return sendKept(request, reply, sent)
}

function sendKept(request: FastifyRequest, reply: FastifyReply, { httpStatus, type, body, headers = {} }: SentAnswer) {
  reply.headers(headers)
  // Only reads are unchanged (RFC 9110, section 13.1.2).
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && isKnown(request.headers['if-none-match'], headers.etag)) return reply.status(304).send()
  return reply.status(httpStatus).header('content-type', type).send(body)
}

export function sendNftRefusal(reply: FastifyReply, { code, detail }: NftRefusal): FastifyReply {
  if ((code === 503 || code === 429) && !reply.hasHeader('retry-after')) reply.header('retry-after', RETRY_AFTER_SEC)
  return reply.status(code).send({ code, message: NFT_FAILURES[code], data: null, detail })
}

/** What was thrown: a request that cannot be read is the caller's, everything else is ours and stays in the log. */
function nftErrors(log: Log) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof RefusedNft) return sendNftRefusal(reply, error.refusal)
    if (error instanceof RefusedRequest) return sendNftRefusal(reply, toNftRefusal(error.refusal))
    // Nobody is there to read it.
    if (error instanceof AskerGone) return sendNftRefusal(reply, refuseNft(400, error.message))
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'query_limit') return sendNftRefusal(reply, refuseNft(400, 'the question takes more than one may'))
    if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return sendNftRefusal(reply, refuseNft(400, TOO_LARGE))
    if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')
      return sendNftRefusal(reply, refuseNft(400, 'the body is not as long as Content-Length says'))
    const about = { requestId: request.id, route: request.routeOptions.url }
    if (error instanceof AnswerLate || (error instanceof AppError && error.retryable)) {
      log.warn({ ...about, reason: error.message }, 'an NFT question could not be answered')
      return sendNftRefusal(reply, refuseNft(503, error instanceof AppError ? toldAway(error).answered : NOT_READABLE))
    }
    log.error({ ...about, err: error }, 'request failed')
    return sendNftRefusal(reply, refuseNft(500))
  }
}
