import pRetry from 'p-retry'
import { Pool } from 'undici'
import { AppError, type ErrorCode, isNodeFault } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'

/** What a node is allowed: each has a name in messages ("beacon node 2"), never its address. */
export interface NodeLimits {
  readonly connectTimeoutMs: number
  /** Until the first byte of an answer: states of long ago take nodes seconds to minutes. */
  readonly headersTimeoutMs: number
  /** Between two pieces of an answer. */
  readonly bodyTimeoutMs: number
  readonly bodyBytesMax: number
  readonly connections: number
  /** Tries of one question on one node before the next node is asked. */
  readonly attemptsPerNode: number
  /** Wait before the second try; doubles with each further one. */
  readonly retryDelayMs: number
  /** How long a node that has failed all tries is asked only after the others. */
  readonly restMs: number
}

export const DEFAULT_LIMITS: NodeLimits = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 30_000,
  bodyBytesMax: 1 << 30, // the registry of a million validators is 0.5 GB of JSON
  connections: 16,
  attemptsPerNode: 3,
  retryDelayMs: 200,
  restMs: 10_000,
}

export interface NodeRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query below the node's base address. */
  readonly path: string
  readonly accept: string
  /** JSON. */
  readonly body?: Uint8Array | string
}

export interface NodeAnswer {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

/** One node: an HTTP address with a pool of kept-alive connections. */
export class ChainNode implements AsyncDisposable {
  readonly name: string
  readonly #pool: Pool
  readonly #basePath: string
  /** Some providers take their key as a query. */
  readonly #query: string
  readonly #authorization: string | undefined
  /** What the chain of this node is told by; undefined until it was asked. */
  chainIdentity: string | undefined
  restsUntilMs = 0

  constructor(name: string, url: string, limits: NodeLimits) {
    this.name = name
    const address = parseNodeUrl(name, url)
    this.#basePath = address.pathname.replace(/\/+$/, '')
    this.#query = address.search.slice(1)
    const credentials = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`
    this.#authorization = address.username === '' ? undefined : `Basic ${btoa(credentials)}`
    this.#pool = new Pool(address.origin, {
      connections: limits.connections,
      connectTimeout: limits.connectTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      bodyTimeout: limits.bodyTimeoutMs,
      maxResponseSize: limits.bodyBytesMax,
    })
  }

  /** The answer of a 2xx, or undefined for 404: only the caller knows what a missing thing means. Throws AppError. */
  async get(request: NodeRequest): Promise<NodeAnswer | undefined> {
    const { statusCode, headers, body } = await this.#send(request)
    if (statusCode >= 200 && statusCode < 300) return { headers, body }
    if (statusCode === 404) return undefined
    throw this.#statusFault(statusCode, request, body)
  }

  async #send(request: NodeRequest) {
    try {
      const answer = await this.#pool.request({
        method: request.method,
        path: this.#fullPath(request.path),
        headers: this.#headers(request),
        body: request.body ?? null,
      })
      const body = new Uint8Array(await answer.body.arrayBuffer())
      return { statusCode: answer.statusCode, headers: answer.headers, body }
    } catch (error) {
      throw this.fault('node_unreachable', `did not answer (${reasonOf(error)})`)
    }
  }

  /** The stream of a long answer (server-sent events) as pieces of bytes; ends with it, throws AppError when it breaks. */
  async *stream(path: string, silenceMs: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      const request = { method: 'GET', path, accept: 'text/event-stream' } as const
      const answer = await this.#pool.request({
        ...request,
        path: this.#fullPath(path),
        headers: this.#headers(request),
        bodyTimeout: silenceMs,
        signal,
      })
      if (answer.statusCode !== 200) {
        await answer.body.dump()
        throw this.fault('node_unreachable', `has no event stream (HTTP ${answer.statusCode})`)
      }
      for await (const piece of answer.body) yield piece as Uint8Array
    } catch (error) {
      if (signal.aborted || error instanceof AppError) throw error
      throw this.fault('node_unreachable', `ended its event stream (${reasonOf(error)})`)
    }
  }

  #fullPath(path: string): string {
    const full = this.#basePath + path === '' ? '/' : this.#basePath + path
    return this.#query === '' ? full : `${full}${full.includes('?') ? '&' : '?'}${this.#query}`
  }

  #headers({ accept, body }: Pick<NodeRequest, 'accept' | 'body'>): Record<string, string> {
    const headers: Record<string, string> = { accept }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (this.#authorization !== undefined) headers.authorization = this.#authorization
    return headers
  }

  #statusFault(status: number, request: NodeRequest, body: Uint8Array): AppError {
    const what = `${request.method} ${request.path.split('?')[0]}`
    // 503 is the Beacon API's "currently syncing".
    if (status === 503) return this.fault('node_lagging', `is not ready: HTTP 503 on ${what}`)
    if (status >= 500 || status === 429 || status === 408) {
      return this.fault('node_unreachable', `answered HTTP ${status} on ${what}`)
    }
    // Asking the same again will not help; another node may know better.
    const text = Buffer.from(body.subarray(0, 200)).toString('utf8').replace(/\s+/g, ' ')
    return new AppError('node_malformed', `${this.name} refused ${what}: HTTP ${status} ${withoutUrls(text)}`)
  }

  fault(code: ErrorCode, what: string): AppError {
    return new AppError(code, `${this.name} ${what}`, { retryable: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }
}

export function parseNodeUrl(name: string, url: string): URL {
  if (URL.canParse(url)) {
    const parsed = new URL(url)
    if (parsed.protocol === 'http:' || parsed.protocol === 'https:') return parsed
  }
  throw new AppError('config', `the address of ${name} is not an http or https URL, for example http://127.0.0.1:5052`)
}

/** Errors of the HTTP client carry addresses: only their code or kind is told. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  if (code !== undefined) return code
  return error.cause instanceof Error ? reasonOf(error.cause) : error.name
}

export function withoutUrls(text: string): string {
  return text.replace(/[a-z]+:\/\/\S+/gi, '(address)')
}

export interface Askable extends AsyncDisposable {
  readonly name: string
  chainIdentity: string | undefined
  restsUntilMs: number
}

/**
 * The main node and its fallbacks. A question is tried on the main node with growing waits, then on the next one. A node that
 * failed rests: others are asked first for a while, so that a dead main node does not cost its timeout on every question.
 */
export class NodeGroup<Node extends Askable> implements AsyncDisposable {
  readonly nodes: readonly Node[]
  readonly #limits: NodeLimits
  readonly #log: Log
  readonly #identify: (node: Node) => Promise<string>
  #identity: string | undefined

  constructor(options: {
    readonly nodes: readonly Node[]
    readonly limits: NodeLimits
    readonly log: Log
    /** Text that is equal for all nodes of one chain. */
    readonly identify: (node: Node) => Promise<string>
  }) {
    this.nodes = options.nodes
    this.#limits = options.limits
    this.#log = options.log
    this.#identify = options.identify
  }

  /** Asks in turn until one answers. The question throws AppErrors of a node fault; others end it at once. */
  async ask<Answer>(question: (node: Node) => Promise<Answer>): Promise<Answer> {
    let last: AppError | undefined
    for (const node of this.#inOrder()) {
      try {
        return await this.#askOne(node, question)
      } catch (error) {
        if (!isNodeFault(error)) throw error
        last = named(node.name, error)
        // Being behind is no reason to be passed over for everything else.
        if (error.code !== 'node_lagging') node.restsUntilMs = Date.now() + this.#limits.restMs
        if (this.nodes.length > 1) this.#log.warn({ code: error.code }, `${last.message}; asking another node`)
      }
    }
    throw last ?? new AppError('config', 'no node is configured')
  }

  #inOrder(): readonly Node[] {
    if (this.nodes.length === 1) return this.nodes
    const now = Date.now()
    const ready = this.nodes.filter((node) => node.restsUntilMs <= now)
    return [...ready, ...this.nodes.filter((node) => node.restsUntilMs > now)]
  }

  /** The first try goes without ceremony: hundreds of questions a second succeed at once. */
  async #askOne<Answer>(node: Node, question: (node: Node) => Promise<Answer>): Promise<Answer> {
    const attempt = async () => {
      if (node.chainIdentity === undefined) await this.check(node)
      return question(node)
    }
    try {
      return await attempt()
    } catch (error) {
      if (!isNodeFault(error) || !error.retryable || this.#limits.attemptsPerNode < 2) throw error
    }
    await waitMs(this.#limits.retryDelayMs)
    return pRetry(attempt, {
      retries: this.#limits.attemptsPerNode - 2,
      minTimeout: this.#limits.retryDelayMs * 2,
      factor: 2,
      randomize: true,
      shouldRetry: ({ error }) => isNodeFault(error) && error.retryable,
    })
  }

  /** Learns the node's chain; throws `node_inconsistent` when it is another one than that of the nodes before. */
  async check(node: Node): Promise<void> {
    const identity = await this.#identify(node)
    this.#identity ??= identity
    if (identity !== this.#identity) {
      throw new AppError('node_inconsistent', `${node.name} is on another chain (${identity}) than ${this.#identity}`)
    }
    node.chainIdentity = identity
  }

  /** Checks all nodes that answer; throws when none does, or when two are on different chains. */
  async open(): Promise<void> {
    let answered = false
    let last: unknown
    for (const node of this.nodes) {
      try {
        await this.#askOne(node, async () => undefined)
        answered = true
      } catch (error) {
        if (!isNodeFault(error) || error.code === 'node_inconsistent') throw error
        last = error
        node.restsUntilMs = Date.now() + this.#limits.restMs
        this.#log.warn({ code: error.code }, named(node.name, error).message)
      }
    }
    if (!answered) throw last ?? new AppError('config', 'no node is configured')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()))
  }
}

/** What reads an answer does not know whose it is. */
function named(name: string, error: AppError): AppError {
  if (error.message.startsWith(name)) return error
  return new AppError(error.code, `${name}: ${error.message}`, { retryable: error.retryable, cause: error.cause })
}

/** Resolves after the time, or at once when the signal aborts. */
export function waitMs(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
