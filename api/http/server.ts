import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { formatMessage, RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { PREFIX, PROTOCOL } from '../../schemas/routes/route.ts'
import { serveGraphql } from '../graphql/serve.ts'
import { OPERATIONS } from '../operations.ts'
import { type Health, toReadyAnswer } from './health.ts'
import { buildOpenApi } from './openapi-document.ts'
import { selectAccountOfToken } from './select-accounts.ts'

/** The largest request names 1,000 public keys: about 100 kB. */
export const BODY_BYTES_MAX = 1024 * 1024
/** 1,000 validator indices as repeated keys. */
export const URL_CHARACTERS_MAX = 32_768
const HEADER_BYTES_MAX = 65_536
export const TOKEN_CHARACTERS_MAX = 256
/** Until the whole request has arrived. */
const REQUEST_TIMEOUT_MS = 30_000
/** Until the answer is ready; also how long a close can take. */
const HANDLER_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 5_000

const NETWORK_NAME = /^[a-z0-9][a-z0-9-]*$/

export interface ApiOptions {
  readonly warehouse: Warehouse
  /** Name of the network in the path. */
  readonly network: string
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  readonly health: () => Promise<Health>
}

export interface Api extends AsyncDisposable {
  /** Base address, without a slash at the end. */
  readonly url: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The account behind the token; empty outside the token's paths. */
    account: string
  }
}

/**
 * Listens for HTTP until disposed; disposal accepts nothing new and lets running requests finish.
 * Throws AppError `config` for an impossible network name, `usage` when the address is taken.
 */
export async function openApi(options: ApiOptions): Promise<Api> {
  const { network, host, port } = options
  if (!NETWORK_NAME.test(network)) {
    throw new AppError('config', 'The network name is lower-case letters, digits and dashes, for example mainnet.')
  }
  const app = Fastify({
    // Fastify's own lines hold the address, and with it the token.
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    handlerTimeout: HANDLER_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // What arrives on an open connection while closing is still answered; the connection then closes.
    return503OnClosing: false,
    routerOptions: { maxParamLength: TOKEN_CHARACTERS_MAX },
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      sendRefusal(reply, refuse('404'))
    },
    clientErrorHandler: (_error, socket) => {
      if (socket.writable) socket.end(RAW_BAD_REQUEST)
    },
    http: { maxHeaderSize: HEADER_BYTES_MAX },
  })
  addHooks(app, options)
  app.setNotFoundHandler((_request, reply) => sendRefusal(reply, refuse('404')))
  app.setErrorHandler((error, request, reply) => sendError({ error, request, reply }, options.log))
  addOpenPaths(app, options)
  addOperations(app, options)
  await serveGraphql(app, { ...options, path: routerPath('/graphql', network), authenticate: authenticate(options) })
  try {
    return { url: await app.listen({ host, port }), [Symbol.asyncDispose]: () => app.close() }
  } catch (error) {
    await app.close()
    throw listenFailure(error, options)
  }
}

function listenFailure(error: unknown, { host, port }: ApiOptions): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return new AppError('usage', `Port ${port} is taken: stop the other program, or set PORT, for example 8081.`)
  }
  if (code === 'EACCES') {
    return new AppError('config', `PORT ${port} may not be listened on by this user, for example PORT=8080 may.`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new AppError(
      'config',
      `HOST is not an address of this machine: ${JSON.stringify(host)}; e.g. HOST=127.0.0.1.`,
    )
  }
  return error
}

/** A request that HTTP's own parser refuses has no route and no reply object. */
const RAW_BAD_REQUEST = (() => {
  const body = JSON.stringify({ code: '400', msg: formatMessage('400', 'the request cannot be read'), data: null })
  return [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
})()

function addHooks(app: FastifyInstance, options: ApiOptions): void {
  app.decorateRequest('account', '')
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (request.url.length > URL_CHARACTERS_MAX) {
      sendRefusal(reply, refuse('400', `the address is longer than ${URL_CHARACTERS_MAX} characters`))
      return reply
    }
    // Bodies are JSON whatever their type says, so a wrong or missing type must not refuse them.
    delete request.headers['content-type']
  })
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    // A client that keeps its connection would hold up the close until the keep-alive timeout.
    if (closing) reply.header('connection', 'close')
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('onResponse', async (request, reply) => {
    options.log.debug(
      {
        requestId: request.id,
        method: request.method,
        // The pattern, never the address: that one holds the token.
        route: request.routeOptions.url ?? '(unknown path)',
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        ...(request.account === '' ? {} : { account: request.account }),
      },
      'request',
    )
  })
}

function addOpenPaths(app: FastifyInstance, options: ApiOptions): void {
  const document = buildOpenApi()
  app.get('/openapi.json', async () => document)
  app.get('/health', async () => ({ status: 'ok' }))
  app.get('/ready', async (_request, reply) => {
    const answer = toReadyAnswer(await options.health())
    return reply.status(answer.status === 'ready' ? 200 : 503).send(answer)
  })
}

function addOperations(app: FastifyInstance, options: ApiOptions): void {
  const onRequest = authenticate(options)
  for (const operation of OPERATIONS) {
    for (const path of operation.route.paths) {
      app.route({
        method: operation.route.method,
        url: routerPath(path, options.network),
        onRequest,
        handler: async (request, reply) => {
          const result = await operation.run(
            { search: searchOf(request), body: request.body as string | undefined },
            {
              warehouse: options.warehouse,
              network: options.network,
              account: request.account,
              nowMs: options.now(),
            },
          )
          return result.status === 'refused' ? sendRefusal(reply, result) : reply.send(result.envelope)
        },
      })
    }
  }
}

/** The path as the router takes it. Protocol and network are literal in it: another one is an unknown path. */
function routerPath(path: string, network: string): string {
  return `${PREFIX.replace('{protocol}', PROTOCOL).replace('{network}', network).replace('{token}', ':token')}${path}`
}

/** Runs before the body is read: an unknown token learns nothing and costs little. */
function authenticate(options: ApiOptions) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { token } = request.params as { token: string }
    const account = await selectAccountOfToken(options.warehouse, hashToken(token))
    if (account === undefined) return sendRefusal(reply, refuse('401'))
    request.account = account
  }
}

function searchOf(request: FastifyRequest): URLSearchParams {
  const mark = request.url.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : request.url.slice(mark + 1))
}

function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { httpStatus } = RESULTS[refusal.code]
  return reply
    .status(httpStatus)
    .send({ code: refusal.code, msg: formatMessage(refusal.code, refusal.detail), data: null })
}

/** What was thrown: a body that cannot be read is the caller's, everything else is ours and stays in the log. */
function sendError(
  failed: { readonly error: unknown; readonly request: FastifyRequest; readonly reply: FastifyReply },
  log: Log,
): FastifyReply {
  const { error, request, reply } = failed
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return sendRefusal(reply, refuse('400', `the body is larger than ${BODY_BYTES_MAX} bytes`))
  }
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return sendRefusal(reply, refuse('400', 'the body is not as long as Content-Length says'))
  }
  // A method that needs a content type is asked for one before anything else, on unknown paths too.
  if (code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE') return sendRefusal(reply, refuse('404'))
  log.error({ requestId: request.id, route: request.routeOptions.url, err: error }, 'request failed')
  return sendRefusal(reply, refuse('500'))
}
