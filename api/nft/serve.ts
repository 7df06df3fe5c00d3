import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Log } from '../../infra/ports/log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import type { ValidAt } from '../../schemas/routes/nft/fields.ts'
import {
  type AnyNftRoute,
  NFT_FAILURES,
  NFT_PATHS,
  type NftRefusal,
  type NftRoute,
  refuseNft,
  toNftRefusal,
} from '../../schemas/routes/nft/nft-route.ts'
import { RefusedRequest } from '../http/answer.ts'
import type { SentAnswer } from '../http/answers.ts'
import type { SharedParts } from '../http/api-parts.ts'
import { openBudget } from '../http/budget.ts'
import { chainOf, refusalOf } from '../http/chain-path.ts'
import { COMPRESSION } from '../http/compression.ts'
import { AnswerLate, AskerGone, goneSignal } from '../http/gone.ts'
import { ANSWER_MS_MAX, BODY_BYTES_MAX } from '../http/limits.ts'
import { documentNftRoute } from './document.ts'
import { formatPageKey, type PageKey, readPageKey } from './page-key.ts'
import { nftParameterReader, type QueryTexts, type ReadNftParameters } from './read-parameters.ts'
import { checkSnapshot, findSnapshot } from './snapshot.ts'
import { type NftStanding, NftStandings, type Snapshot } from './standing.ts'

/** What a handler knows beside its parameters. */
export interface NftScope {
  readonly warehouse: WarehouseReader
  /** Name of the path's chain, as in the tables. */
  readonly chain: string
  readonly standing: NftStanding
  /** The block that the answer is of. */
  readonly snapshot: Snapshot
  /** Behind this sort key the page begins. */
  readonly after: readonly string[] | undefined
  /** The page key for what comes behind this sort key. */
  readonly pageKeyAfter: (after: readonly string[]) => string
}

interface NftAnswered<Body> {
  readonly status: 'answered'
  readonly body: Body
}

type NftHandler<Parameters, Body> = (parameters: Parameters, scope: NftScope) => Promise<NftAnswered<Body> | NftRefusal>

export interface NftOperation {
  readonly route: AnyNftRoute
  readonly handle: NftHandler<unknown, unknown>
}

export function nftOperation<Parameters extends TObject, Response extends TSchema>(
  route: NftRoute<Parameters, Response>,
  handle: NftHandler<Static<Parameters>, Static<Response>>,
): NftOperation {
  // They were read with this very route's schema.
  return { route, handle: (parameters, scope) => handle(parameters as Static<Parameters>, scope) }
}

export function answered<Body>(body: Body): NftAnswered<Body> {
  return { status: 'answered', body }
}

export function toValidAt({ number, hash, timeSec }: Snapshot): ValidAt {
  return { block_number: number, block_hash: hash, block_timestamp: timeSec }
}

/** Reverts come one at a time; who is asked while many come is told to ask again. */
const TRIES_MAX = 4
const NOTHING_INDEXED = 'no block of the chain is indexed yet'
const REVERTED_MEANWHILE = 'blocks are being reverted at the moment'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

interface Serving {
  readonly parts: SharedParts
  readonly standings: NftStandings
  readonly operation: NftOperation
  readonly read: ReadNftParameters
}

/** Serves the operations at all forms of their paths, within the family's plugin: bodies, errors and parameters are its own. */
export function serveNftOperations(
  app: FastifyInstance,
  operations: readonly NftOperation[],
  parts: SharedParts,
): void {
  const standings = new NftStandings(parts.warehouse, parts.standingAgeMsMax === 0 ? 0 : undefined)
  app.setErrorHandler(nftErrors(parts.log))
  app.setValidatorCompiler(() => () => true)
  app.addHook('onRequest', async (request, reply) => {
    const { chain: name, token } = request.params as { readonly chain?: string; readonly token?: string }
    if (name === undefined || token === undefined) return sendNftRefusal(reply, refuseNft(404))
    const chain = parts.chains().find(({ names }) => names.nftName === name)
    const refusal = await refusalOf(request, { ...parts, family: 'nft', serves: () => true }, chain, token)
    if (refusal !== undefined) return sendNftRefusal(reply, toNftRefusal(refusal))
  })
  for (const operation of operations) {
    const { route } = operation
    const read = nftParameterReader(route.parameters)
    const others = METHODS.filter((method) => !methodsOf(route).includes(method))
    for (const [form, path] of NFT_PATHS.entries()) {
      for (const [place, name] of route.names.entries()) {
        const url = `${path.replaceAll(/\{(\w+)\}/g, ':$1')}/${name}`
        for (const method of route.methods) {
          app.route({
            method,
            url,
            schema: documentNftRoute(route, { method, isDocumented: form === 0 && place === 0 }),
            compress: COMPRESSION,
            handler: (request, reply) => answer(request, reply, { parts, standings, operation, read }),
          })
        }
        app.route({
          method: others,
          url,
          schema: { hide: true },
          handler: async (_request, reply) => {
            reply.header('allow', methodsOf(route).join(', '))
            return sendNftRefusal(reply, refuseNft(405))
          },
        })
      }
    }
  }
  app.route({
    method: [...METHODS],
    url: '/nft/*',
    schema: { hide: true },
    handler: async (_request, reply) => sendNftRefusal(reply, refuseNft(404)),
  })
}

function methodsOf({ methods }: AnyNftRoute): readonly string[] {
  return methods.includes('GET') ? ['GET', 'HEAD', ...methods.filter((method) => method !== 'GET')] : methods
}

/** Takes JSON whatever its type says, of GET, too, as some clients send it. */
export function acceptBodies(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    delete request.headers['content-type']
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('preValidation', async (request) => {
    const { headers, method, raw } = request
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    if (method !== 'GET' || !hasBody) return
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) throw new RefusedRequest({ status: 'refused', code: '400', detail: TOO_LARGE })
      chunks.push(chunk)
    }
    request.body = Buffer.concat(chunks).toString()
  })
}

const TOO_LARGE = `the body is larger than ${BODY_BYTES_MAX} bytes`

async function answer(request: FastifyRequest, reply: FastifyReply, serving: Serving): Promise<FastifyReply> {
  const { parts, standings, operation, read } = serving
  const { body, account } = request
  const given = read(request.query as QueryTexts, typeof body === 'string' ? body : undefined)
  if (given.status === 'refused') return sendNftRefusal(reply, given)
  const chain = chainOf(request).names.name
  const standing = await standings.of(chain)
  if (standing === undefined) return sendNftRefusal(reply, refuseNft(503, NOTHING_INDEXED))
  const key = JSON.stringify(['nft', operation.route.id, chain, given.values])
  const kept = parts.answers.kept(key, standing.position)
  if (kept !== undefined) return sendKept(request, reply, kept)
  const question = { key, position: standing.position, signal: goneSignal(reply, parts.answerMsMax ?? ANSWER_MS_MAX) }
  const sent = await parts.answers.of(question, (signal) => {
    const warehouse = openBudget({ ...parts, account, signal })
    return ask({ standings, operation, chain, warehouse, values: given.values, key })
  })
  return sendKept(request, reply, sent)
}

interface Asking {
  readonly standings: NftStandings
  readonly operation: NftOperation
  readonly chain: string
  readonly warehouse: WarehouseReader
  readonly values: Readonly<Record<string, unknown>>
  readonly key: string
}

/** Asks again where a block was reverted meanwhile: no answer has rows of two branches. */
async function ask(asking: Asking): Promise<SentAnswer> {
  const { standings, chain, warehouse, values, operation, key } = asking
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (tries > 0) standings.forget(chain)
    const standing = await standings.of(chain)
    if (standing === undefined) throw new RefusedNft(refuseNft(503, NOTHING_INDEXED))
    const { page_key: pageKey, page_size: _size, max_count: _count, ...filter } = values
    const of = { secret: standing.secret, chain, operation: operation.route.id, filter: JSON.stringify(filter) }
    const page = typeof pageKey === 'string' ? readPageKey(of, pageKey) : undefined
    if (pageKey !== undefined && page === undefined)
      throw new RefusedNft(refuseNft(400, 'page_key is none of this question'))
    const found = await snapshotOf({ warehouse, chain, standing }, values, page)
    if (found.status === 'refused') throw new RefusedNft(found)
    const { snapshot } = found
    const pageKeyAfter = (after: readonly string[]) => formatPageKey(of, { start: standing.start, ...snapshot, after })
    const scope: NftScope = { warehouse, chain, standing, snapshot, after: page?.after, pageKeyAfter }
    const result = await operation.handle(values, scope)
    // What is final does not change any more.
    const isFinal = standing.finalizedNumber !== undefined && snapshot.number <= standing.finalizedNumber
    if (!isFinal && !(await standings.isUnreverted(chain, standing))) continue
    if (result.status === 'refused') throw new RefusedNft(result)
    const etag = createHash('sha256').update(`${standing.position} ${key}`).digest('base64url').slice(0, 22)
    return {
      httpStatus: 200,
      type: 'application/json; charset=utf-8',
      body: JSON.stringify(result.body),
      isKept: true,
      headers: { etag: `W/"${etag}"`, 'x-valid-at': formatValidAt(snapshot), 'cache-control': 'private, no-cache' },
    }
  }
  throw new RefusedNft(refuseNft(503, REVERTED_MEANWHILE))
}

async function snapshotOf(
  tables: Parameters<typeof findSnapshot>[0],
  values: Readonly<Record<string, unknown>>,
  page: PageKey | undefined,
): ReturnType<typeof findSnapshot> {
  if (page !== undefined) {
    if (page.start !== tables.standing.start)
      return refuseNft(400, 'earlier blocks are indexed since the first page: begin again')
    return await checkSnapshot(tables, page)
  }
  const { block, block_hash: hash } = values as { readonly block?: string; readonly block_hash?: string }
  if (block !== undefined && hash !== undefined && block !== hash)
    return refuseNft(400, 'block and block_hash are both given')
  if (hash !== undefined && !hash.startsWith('0x')) return refuseNft(400, 'block_hash is not a hash')
  return await findSnapshot(tables, block ?? hash ?? 'latest')
}

/** As a dictionary of structured fields (RFC 8941). */
function formatValidAt({ number, hash, timeSec }: Snapshot): string {
  return `block_number=${number}, block_hash="${hash}", block_timestamp=${timeSec}`
}

function sendKept(request: FastifyRequest, reply: FastifyReply, { httpStatus, type, body, headers = {} }: SentAnswer) {
  reply.headers(headers)
  if (isKnown(request.headers['if-none-match'], headers.etag)) return reply.status(304).send()
  return reply.status(httpStatus).header('content-type', type).send(body)
}

function isKnown(known: string | undefined, etag: string | undefined): boolean {
  if (known === undefined || etag === undefined) return false
  return known === etag || known.trim() === '*' || known.split(',').some((one) => bare(one) === bare(etag))
}

const bare = (etag: string): string => etag.trim().replace(/^W\//, '')

class RefusedNft extends Error {
  readonly refusal: NftRefusal

  constructor(refusal: NftRefusal) {
    super(refusal.detail ?? undefined)
    this.refusal = refusal
  }
}

const RETRY_AFTER_SEC = 5

export function sendNftRefusal(reply: FastifyReply, { code, detail }: NftRefusal): FastifyReply {
  if (code === 503) reply.header('retry-after', RETRY_AFTER_SEC)
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
      return sendNftRefusal(reply, refuseNft(503, 'the tables cannot be read at the moment'))
    }
    log.error({ ...about, err: error }, 'request failed')
    return sendNftRefusal(reply, refuseNft(500))
  }
}
