import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import swagger from '@fastify/swagger'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onSendAsyncHookHandler,
} from 'fastify'
import { formatMessage, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { isNftPath, toNftRefusal } from '../../schemas/routes/nft/nft-route.ts'
import { STATEMENT_KEY_PATH } from '../../schemas/routes/rewards/statement.ts'
import { FAMILIES, type Family } from '../families.ts'
import { ClientAddresses } from '../gateway/client-address.ts'
import { Gateway } from '../gateway/gateway.ts'
import { type GatewayHost, Hosts } from '../gateway/hosts.ts'
import { asksForWebSocket, hasSeveralHosts } from '../gateway/socket-address.ts'
import { sendNftRefusal } from '../nft/serve.ts'
import { envelopeErrors, sendRefusal } from './answer.ts'
import { Answers } from './answers.ts'
import type { ApiParts } from './api-parts.ts'
import { boundedWordsReader } from './bounded-reader.ts'
import { STATEMENT_GIVEN_UP_MS } from './budget.ts'
import { COMPRESSION, readAcceptedCodings } from './compression.ts'
import {
  DOCUMENT_OPTIONS,
  ERROR_ENVELOPE,
  HEALTH_SCHEMA,
  NFT_ERROR,
  PEM_TYPE,
  READY_SCHEMA,
  STATEMENT_KEY_SCHEMA,
  UNDOCUMENTED,
} from './document.ts'
import { toReadyAnswer } from './health.ts'
import {
  ANSWER_MS_MAX,
  BODY_BYTES_MAX,
  HEADER_BYTES_MAX,
  KEEP_ALIVE_TIMEOUT_MS,
  PREFLIGHT_AGE_SEC,
  REQUEST_TIMEOUT_MS,
  SEGMENT_CHARACTERS_MAX,
  URL_CHARACTERS_MAX,
} from './limits.ts'
import { formatMetrics, METRICS_TYPE } from './metrics.ts'
import { RequestLimit } from './request-limit.ts'
import { Standings } from './standings.ts'
import { StatementQueue } from './statement-queue.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What pages of other origins may do at this path, where it is not what they may do everywhere. */
    cors?: { readonly methods: string[] }
  }
}

const NO_HOSTS: readonly GatewayHost[] = []

/** The whole API with its families, ready to listen or to be asked for its document. */
export async function buildApp(parts: ApiParts, families: readonly Family[] = FAMILIES): Promise<FastifyInstance> {
  const standings = new Standings(parts.warehouse, {
    ageMsMax: parts.standingAgeMsMax,
    keptMsMax: parts.standingKeptMsMax,
  })
  const { upstreams, gatewayHosts = () => NO_HOSTS, accountsKnown, meter, wallNow, log } = parts
  const addresses = new ClientAddresses(parts.trustedProxies)
  const gateway =
    upstreams === undefined
      ? undefined
      : new Gateway({
          upstreams,
          hosts: new Hosts(gatewayHosts),
          standings,
          accountsKnown,
          addresses,
          meter,
          wallNow,
          log,
        })
  const app = Fastify({
    // Fastify's own lines hold the address, and with it the token.
    logger: false,
    ...(parts.trustedProxies === undefined || parts.trustedProxies.length === 0
      ? {}
      : { trustProxy: [...parts.trustedProxies] }),
    genReqId: () => randomUUID(),
    bodyLimit: BODY_BYTES_MAX,
    // A machine that was suspended for ten seconds of the start, or has much else to do, is no reason to end the program.
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    // What arrives on an open connection while closing is still answered; the connection then closes.
    return503OnClosing: false,
    routerOptions: { maxParamLength: SEGMENT_CHARACTERS_MAX, ignoreTrailingSlash: true },
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      addOriginHeaders(request, reply, parts.corsOrigins ?? [])
      refuseEarly(request, reply, refuse('404'))
    },
    clientErrorHandler: (_error, socket) => {
      // What is behind a request that is being answered must not get into its answer.
      if (isBeingAnswered(socket)) socket.destroy()
      else if (socket.writable) socket.end(RAW_BAD_REQUEST)
    },
    serverFactory: (handler) => createListener(handler, gateway),
  })
  // Node's own answer has no body.
  app.server.on('checkExpectation', (_request, response) => response.socket?.end(RAW_BAD_REQUEST))
  addHooks(app, parts, gateway)
  await addBrowserRules(app, parts.corsOrigins ?? [])
  addEarlyRefusals(app)
  readAcceptedCodings(app)
  await app.register(compress, { global: false })
  app.setErrorHandler(envelopeErrors(parts.log))
  // A serializer made from a schema would leave out what the schema does not name, and nobody would see it.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  await app.register(swagger, DOCUMENT_OPTIONS)
  app.addSchema(ERROR_ENVELOPE)
  app.addSchema(NFT_ERROR)
  addOpenPaths(app, parts)
  const shared = {
    ...parts,
    warehouse: boundedWordsReader(parts.warehouse, STATEMENT_GIVEN_UP_MS),
    standings,
    addresses,
    answers: new Answers(),
    queue: new StatementQueue(),
    nftLimit: parts.nftRequestsPerSecond === undefined ? undefined : new RequestLimit(parts.nftRequestsPerSecond),
  }
  for (const family of families) await app.register(family, shared)
  await app.ready()
  return app
}

/** What the gateway takes goes no further: what the framework does for each request takes longer than to forward it. */
function createListener(handler: RequestListener, gateway: Gateway | undefined): Server {
  const options: ServerOptions = {
    maxHeaderSize: HEADER_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // What Node's own check would answer has no envelope: the families' hook and the gateway check it.
    requireHostHeader: false,
    ...(gateway === undefined ? {} : { shouldUpgradeCallback: asksForWebSocket }),
  }
  const server = createServer(options, (request, response) => {
    // What comes behind a request for a protocol that is not spoken Node drops: nobody is to wait for its answer.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    if (request.url?.startsWith('/') !== true) refuseUnread(response, WRONG_TARGET)
    else if (hasSeveralHosts(request)) refuseUnread(response, SEVERAL_HOSTS)
    else if (gateway?.handle(request, response) !== true) handler(request, response)
  })
  gateway?.serve(server)
  return server
}

const badRequestBody = (detail: string): string =>
  JSON.stringify({ code: '400', msg: formatMessage('400', detail), data: null })

/** Whole addresses (`GET http://…`) are for proxies: whom such a request is for, its Host header and its target may tell differently. */
const WRONG_TARGET = badRequestBody('the target of the request is not a path')
/** Likewise of two Host headers, of which Node has the first (RFC 9112, section 3.2). */
const SEVERAL_HOSTS = badRequestBody('the request has several Host headers')

/** Before anybody looks whose the request is. */
function refuseUnread(response: ServerResponse, body: string): void {
  response.shouldKeepAlive = false // its body is not read
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) }
  response.writeHead(400, headers).end(body)
}

/** Whether something of an answer is out, and not all of it: Node keeps it at its connection, and looks at it likewise where nobody listens to errors. */
function isBeingAnswered(socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

/** A request that HTTP's own parser refuses has no route and no reply object. */
const RAW_BAD_REQUEST = (() => {
  const body = badRequestBody('the request cannot be read')
  return [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
})()

function addHooks(app: FastifyInstance, { log, stopMsMax = ANSWER_MS_MAX }: ApiParts, gateway?: Gateway): void {
  app.decorateRequest('chain', undefined)
  app.decorateRequest('account', '')
  app.decorateRequest('actor', '')
  app.decorateRequest('tokenHash', '')
  app.decorateRequest('bill', undefined)
  app.decorateRequest('standing', undefined)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  // Of HEAD the framework tells a length of 0, which whoever keeps the answer would take for its own (RFC 9110, 8.6).
  const leaveOutLength: onSendAsyncHookHandler = async (_request, reply) => {
    if (reply.statusCode === 304) reply.removeHeader('content-length')
  }
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], leaveOutLength].flat()
  })
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    gateway?.stop()
    const cutting = setTimeout(() => {
      gateway?.cut()
      app.server.closeAllConnections()
    }, stopMsMax).unref()
    app.server.once('close', () => clearTimeout(cutting))
  })
  app.addHook('onSend', async (request, reply) => {
    request.bill?.begins()
    // A client that keeps its connection would hold up the close until the keep-alive timeout.
    if (closing) reply.header('connection', 'close')
  })
  app.addHook('onResponse', async (request, reply) => {
    log.debug(
      {
        requestId: request.id,
        method: request.method,
        route: loggedRoute(request),
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        ...(request.chain === undefined ? {} : { chain: request.chain.names.name }),
        ...(request.account === '' ? {} : { account: request.account }),
      },
      'request',
    )
  })
}

/** Behind the rules for browsers, which have to read refusals, too. */
function addEarlyRefusals(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.length > URL_CHARACTERS_MAX) {
      const detail = `the address is longer than ${URL_CHARACTERS_MAX} characters`
      return refuseEarly(request, reply, refuse('400', detail))
    }
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      return refuseEarly(request, reply, refuse('400', 'the request has no Host header'))
    }
    // Here, before the body is read: what its type says means nothing where nobody wants it.
    if (request.is404) return refuseEarly(request, reply, refuse('404'))
  })
}

/** Before any family has the request: in the shape of the one whose path it is. */
function refuseEarly(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  return isNftPath(request.url) ? sendNftRefusal(reply, toNftRefusal(refusal)) : sendRefusal(reply, refusal)
}

/** No answer has a header that its client may not read. */
const EXPOSED_HEADERS = ['*']

/** What the rules for browsers add, where the framework answers before any hook: of a path that nobody can decode. */
function addOriginHeaders({ headers }: FastifyRequest, reply: FastifyReply, origins: readonly string[]): void {
  if (origins.length === 0) return
  reply.header('vary', 'Origin').header('access-control-expose-headers', EXPOSED_HEADERS.join(', '))
  const allowed = origins.find((origin) => origin === '*' || origin === headers.origin)
  if (allowed !== undefined) reply.header('access-control-allow-origin', allowed)
}

/** Which pages may ask, and what a browser asks before it does; nothing without origins. */
async function addBrowserRules(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  await app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_AGE_SEC,
    strictPreflight: false,
  })
}

/** The pattern with the chain in it, never the address: that one holds the token. */
function loggedRoute({ routeOptions, chain }: FastifyRequest): string {
  const pattern = routeOptions.url ?? '(unknown path)'
  if (chain === undefined) return pattern
  return pattern.replace(':protocol', chain.names.protocol).replace(':network', chain.names.network)
}

function addOpenPaths(app: FastifyInstance, parts: ApiParts): void {
  app.get('/openapi.json', { schema: UNDOCUMENTED, compress: COMPRESSION }, async () => app.swagger())
  app.get(STATEMENT_KEY_PATH, { schema: STATEMENT_KEY_SCHEMA }, async (_request, reply) => {
    if (parts.statementSigner === undefined) return sendRefusal(reply, refuse('404'))
    return reply.header('content-type', PEM_TYPE).send(parts.statementSigner.publicKeyPem())
  })
  app.get('/health', { schema: HEALTH_SCHEMA }, async () => ({ status: 'ok' }))
  app.get('/ready', { schema: READY_SCHEMA, handlerTimeout: ANSWER_MS_MAX }, async (_request, reply) => {
    const answer = toReadyAnswer(await parts.health())
    return reply.status(answer.status === 'ready' ? 200 : 503).send(answer)
  })
  const { unprovenDays } = parts
  if (unprovenDays === undefined) return
  app.get('/metrics', { schema: UNDOCUMENTED, handlerTimeout: ANSWER_MS_MAX }, async (_request, reply) =>
    reply
      .type(METRICS_TYPE)
      .send(formatMetrics({ unproven: await unprovenDays(), differences: parts.nodeDifferences?.() ?? [] })),
  )
}
