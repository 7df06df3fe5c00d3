import { createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Dispatcher, Pool } from 'undici'
import { isRedirect } from '../../schemas/redirects.ts'
import { basicCredentials } from '../basic-credentials.ts'
import type { AnswerHandler, Upstream, UpstreamFault, UpstreamRequest } from '../ports/upstreams.ts'
import { Breaker } from './breaker.ts'
import { countPassed } from './passed-bytes.ts'
import { isPlainUpstream, isPlainUpstreamRequest, PlainPool } from './plain/plain-pool.ts'

/** One upstream as it is configured. Address and headers may hold secrets. */
export interface UpstreamOptions {
  readonly url: string
  /** Of its WebSocket; absent: it has none. */
  readonly wsUrl?: string
  readonly headers: Readonly<Record<string, string>>
  readonly weight: number
  /** Has the states of all blocks. */
  readonly isArchive?: boolean
}

/** Of requests whose bytes are known, and as many of those whose bodies come as streams. */
const CONNECTIONS_MAX = 256
const CONNECT_TIMEOUT_MS = 2_000
/** Until a connection is free: then another node is asked, and two of them are waited for no longer than one answer. */
const QUEUE_TIMEOUT_MS = 10_000
/** Until the first byte of an answer: traces and logs of many blocks take nodes long. */
const HEADERS_TIMEOUT_MS = 30_000
/** Between two pieces of an answer. */
const BODY_TIMEOUT_MS = 60_000
/** Shorter than nodes keep connections that nobody uses: a request on one that is being closed is lost. */
const KEEP_ALIVE_MS = 4_000
const POOL_OPTIONS: Pool.Options = {
  pipelining: 1,
  connectTimeout: CONNECT_TIMEOUT_MS,
  headersTimeout: HEADERS_TIMEOUT_MS,
  bodyTimeout: BODY_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
}
const ID_CHARACTERS = 8
/** Of a new answer's time in the averages; the rest is what it was. */
const NEWEST_SHARE = 0.1
/** A shorter silence says nothing: this process is as silent where it is busy. */
const SILENT_MS_MIN = 100
/** Beyond the average; of times that vary as waits do, about one in twenty takes longer. */
const USUAL_DEVIATIONS = 3

/** Statuses that are about us and not about the call: our key, our bill, our rate, or an address that has moved. */
const isAboutUs = (status: number): boolean =>
  (status >= 300 && status < 400 && status !== 304) ||
  status === 401 ||
  status === 402 ||
  status === 403 ||
  status === 407 ||
  status === 429

/** The request is larger than the node takes. */
const TOO_LARGE = 413
/** Of a search: nobody was found in time. */
const GATEWAY_TIMEOUT = 504
/** Likewise, without a word. */
const NOT_FOUND_IN_TIME: ReadonlySet<UpstreamFault> = new Set<UpstreamFault>(['silent', 'cut'])
/** A path of a node, with its query: no other host, by none of the ways in which browsers read one. */
const PATH = /^\/(?![/\\])[!-[\]-~]*$/

/** Before anything was sent. */
const UNREACHED: ReadonlySet<string | undefined> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...[
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'CERT_HAS_EXPIRED',
    'UND_ERR_DESTROYED',
    'UND_ERR_CLOSED',
  ],
])
const SILENT: ReadonlySet<string | undefined> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const GIVEN_UP = new Error('the client has gone')
const NOT_PASSED_ON = new Error('the answer is not passed on')

/** An HTTP address with a pool of kept-alive connections, and how its calls go. */
export class HttpUpstream implements Upstream, AsyncDisposable {
  readonly id: string
  readonly weight: number
  readonly isArchive: boolean
  readonly breaker = new Breaker()
  readonly #options: UpstreamOptions
  readonly #pool: Pool
  /** Of requests that come as slowly as their clients like: they keep none of the others' connections. */
  readonly #slow: Pool
  /** Of answers without end: how many there may be is for who asks for them, none waits for another's end. */
  readonly #endless: Pool
  /** For what is plain, without what undici does for the rest (decision 66); undefined: nothing is. */
  readonly #plain: PlainPool | undefined
  readonly #basePath: string
  /** Some providers take their key as a query. */
  readonly #query: string
  readonly #headers: readonly string[]
  #inFlight = 0
  /** Of these, those whose answers have not begun. */
  #unheard = 0
  /** Since when nothing was heard of these. */
  #silentSinceMs = 0
  /** Moving average of the time until answers begin. */
  #answerMs = 1
  /** Of how far answers' times are from it. */
  #deviationMs = 0

  /** `secret`: without it nobody can tell from its id which address it has. */
  constructor(options: UpstreamOptions, secret: string) {
    const { url, headers, weight, isArchive = false } = options
    this.#options = options
    const parsed = new URL(url)
    const { origin, pathname, search, username } = parsed
    this.id = createHmac('sha256', secret).update(`upstream ${url}`).digest('hex').slice(0, ID_CHARACTERS)
    this.weight = weight
    this.isArchive = isArchive
    this.#basePath = pathname.replace(/\/+$/, '')
    this.#query = search.slice(1)
    this.#headers = [
      ...(username === '' ? [] : ['authorization', `Basic ${basicCredentials(parsed)}`]),
      ...Object.entries(headers).flat(),
    ]
    this.#pool = new Pool(origin, {
      ...POOL_OPTIONS,
      connections: CONNECTIONS_MAX,
    })
    this.#slow = new Pool(origin, { ...POOL_OPTIONS, connections: CONNECTIONS_MAX })
    this.#endless = new Pool(origin, { ...POOL_OPTIONS, connections: null, bodyTimeout: 0 })
    if (!isPlainUpstream(parsed, this.#headers)) return
    this.#plain = new PlainPool({
      origin: parsed,
      headers: this.#headers,
      connectionsMax: CONNECTIONS_MAX,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      queueTimeoutMs: QUEUE_TIMEOUT_MS,
      headersTimeoutMs: HEADERS_TIMEOUT_MS,
      bodyTimeoutMs: BODY_TIMEOUT_MS,
      keepAliveMs: KEEP_ALIVE_MS,
    })
  }

  /** Whether it would be configured likewise. */
  is(options: UpstreamOptions): boolean {
    return isDeepStrictEqual(options, this.#options)
  }

  isAt({ url }: UpstreamOptions): boolean {
    return url === this.#options.url
  }

  /** Calls that have no whole answer yet. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** What a call may have to wait for: how long answers take, or how long nothing was heard of what is waited for. */
  waitMs(nowMs: number): number {
    const silentMs = this.#unheard === 0 ? 0 : nowMs - this.#silentSinceMs
    return silentMs < SILENT_MS_MIN ? this.#answerMs : Math.max(this.#answerMs, silentMs)
  }

  /** Milliseconds within which nearly all its answers begin. */
  get usualMs(): number {
    return this.#answerMs + USUAL_DEVIATIONS * this.#deviationMs
  }

  send(request: UpstreamRequest, handler: AnswerHandler): () => void {
    const sending = new Sending(handler, {
      leadTo: request.leadTo && ((location) => this.#leadTo(location, request)),
      isSearch: request.isSearch === true,
      onHeard: (nowMs) => this.#hear(nowMs),
      onEnd: (outcome, answerMs) => this.#end(outcome, answerMs, sending.waitedMs),
    })
    if (this.#unheard++ === 0) this.#silentSinceMs = sending.beganMs
    this.#inFlight++
    this.breaker.begin()
    const path = this.#pathOf(request.path)
    if (this.#plain !== undefined && isPlainUpstreamRequest(request, path)) {
      this.#plain.dispatch(request, path, sending)
      return () => sending.giveUp()
    }
    const { verb, headers, body } = request
    const options: Dispatcher.DispatchOptions = {
      method: verb,
      path,
      headers: this.#headers.length === 0 ? (headers as string[]) : [...headers, ...this.#headers],
      body: body as Buffer | null,
    }
    this.#poolOf(request).dispatch(options, sending)
    sending.waitInQueue(QUEUE_TIMEOUT_MS)
    return () => sending.giveUp()
  }

  #poolOf({ body, isEndless }: UpstreamRequest): Pool {
    if (isEndless) return this.#endless
    return body === null || body instanceof Uint8Array ? this.#pool : this.#slow
  }

  /** An answer begins, or none will come. */
  #hear(nowMs: number): void {
    this.#unheard--
    this.#silentSinceMs = nowMs
  }

  #end(outcome: Outcome, answerMs: number | undefined, waitedMs: number): void {
    this.#inFlight--
    if (outcome === 'of the call') {
      this.breaker.forget()
      return
    }
    if (outcome === 'given up') {
      // It would have taken longer; one that never answers must not seem quick.
      this.#note(answerMs ?? Math.max(this.#answerMs, waitedMs))
      this.breaker.forget()
      return
    }
    // What fails at once is not quick.
    if (outcome === 'answered' && answerMs !== undefined) this.#note(answerMs)
    this.breaker.end(outcome === 'answered', performance.now())
  }

  #note(answerMs: number): void {
    const distanceMs = answerMs - this.#answerMs
    this.#answerMs += distanceMs * NEWEST_SHARE
    this.#deviationMs += (Math.abs(distanceMs) - this.#deviationMs) * NEWEST_SHARE
  }

  #pathOf(path: string): string {
    if (this.#query === '') return this.#basePath === '' ? path : this.#basePath + path
    return `${this.#basePath}${path}${path.includes('?') ? '&' : '?'}${this.#query}`
  }

  /** Undefined where a client cannot follow, or could see by it what of our address is a secret. */
  #leadTo(location: unknown, { leadTo }: UpstreamRequest): string | undefined {
    if (typeof location !== 'string' || !PATH.test(location) || this.#query !== '') return undefined
    const isBelow = this.#basePath !== '' && location.startsWith(`${this.#basePath}/`)
    return leadTo?.(isBelow ? location.slice(this.#basePath.length) : location)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pools = [this.#pool, this.#slow, this.#endless]
    await Promise.all([...pools.map((pool) => pool.destroy()), this.#plain?.destroy()])
  }

  /** Accepts nothing new, and ends when what runs has ended. */
  async drain(): Promise<void> {
    const pools = [this.#pool, this.#slow, this.#endless]
    await Promise.all([...pools.map((pool) => pool.close()), this.#plain?.close()])
  }
}

/** `of the call`: it is about what was asked, which says nothing of the node: clients could have it left out by asking so. */
type Outcome = 'answered' | 'failed' | 'given up' | 'of the call'

interface SendingListener {
  /** Of a native interface: what a client is told of where the node leads it; undefined: nothing. */
  readonly leadTo: ((location: unknown) => string | undefined) | undefined
  readonly isSearch: boolean
  /** Once: its answer begins, or none will come. */
  onHeard(nowMs: number): void
  onEnd(outcome: Outcome, answerMs: number | undefined): void
}

/** One request on its way. */
class Sending implements Dispatcher.DispatchHandler {
  readonly beganMs = performance.now()
  readonly #handler: AnswerHandler
  readonly #listener: SendingListener
  #controller: Dispatcher.DispatchController | undefined
  #answerMs: number | undefined
  #queued: NodeJS.Timeout | undefined
  #status = 0
  #isOver = false

  constructor(handler: AnswerHandler, listener: SendingListener) {
    this.#handler = handler
    this.#listener = listener
  }

  get waitedMs(): number {
    return performance.now() - this.beganMs
  }

  /** To be called once it is dispatched: without a connection until then no node has seen it. */
  waitInQueue(ms: number): void {
    if (this.#controller === undefined && !this.#isOver) this.#queued = setTimeout(() => this.#fail('unreached'), ms)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#queued)
    this.#controller = controller
    if (this.#isOver) controller.abort(GIVEN_UP)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Dispatcher.ResponseData['headers'],
  ): void {
    if (this.#isOver || status < 200) return
    this.#status = status
    const { leadTo } = this.#listener
    const location = isRedirect(status) ? leadTo?.(headers.location) : undefined
    if (location === undefined && isAboutUs(status)) {
      // Which path is asked of a native interface is the client's to say.
      this.#fail('refused', status < 400 && leadTo !== undefined ? 'of the call' : 'failed')
      controller.abort(NOT_PASSED_ON)
      return
    }
    const nowMs = performance.now()
    this.#answerMs = nowMs - this.beganMs
    this.#listener.onHeard(nowMs)
    this.#handler.onHeaders(status, location === undefined ? headers : { ...headers, location }, controller)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    countPassed(chunk.length)
    if (!this.#isOver) this.#handler.onData(chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    let isAnswer = false
    try {
      isAnswer = this.#handler.onEnd()
    } finally {
      const isOfCall = this.#status === TOO_LARGE || (this.#listener.isSearch && this.#status === GATEWAY_TIMEOUT)
      const failure = isOfCall ? 'of the call' : 'failed'
      this.#listener.onEnd(isAnswer ? 'answered' : failure, this.#answerMs)
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    const fault = this.#faultOf(error)
    this.#fail(fault, this.#listener.isSearch && NOT_FOUND_IN_TIME.has(fault) ? 'of the call' : 'failed')
  }

  giveUp(): void {
    if (this.#isOver) return
    this.#end('given up')
    this.#controller?.abort(GIVEN_UP)
  }

  #faultOf(error: Error & { readonly code?: string }): UpstreamFault {
    if (this.#answerMs !== undefined) return 'cut'
    if (UNREACHED.has(error.code)) return 'unreached'
    return SILENT.has(error.code) ? 'silent' : 'lost'
  }

  #fail(fault: UpstreamFault, outcome: Outcome = 'failed'): void {
    this.#end(outcome)
    this.#handler.onFault(fault)
  }

  #end(outcome: Outcome): void {
    clearTimeout(this.#queued)
    this.#isOver = true
    if (this.#answerMs === undefined) this.#listener.onHeard(performance.now())
    this.#listener.onEnd(outcome, this.#answerMs)
  }
}
