import { setTimeout as wait } from 'node:timers/promises'
import pRetry from 'p-retry'
import { Pool } from 'undici'
import { AppError, type ErrorCode, isNodeFault } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'

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
  async request(request: NodeRequest): Promise<NodeAnswer | undefined> {
    const begun = await this.#begin(request)
    if (begun === undefined) return undefined
    const { headers, body } = begun
    return { headers, body: new Uint8Array(await this.#answered(() => body.arrayBuffer())) }
  }

  /**
   * As `request`, handing the body to `take` while it arrives; false for 404. Throws AppError, and what `take` throws; after a throw
   * the body is not whole.
   */
  async read(request: NodeRequest, take: (piece: Uint8Array) => void): Promise<boolean> {
    const begun = await this.#begin(request)
    if (begun === undefined) return false
    const pieces = begun.body[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.#answered(() => pieces.next())
        if (done === true) return true
        take(value)
      }
    } finally {
      begun.body.destroy()
    }
  }

  /** A 2xx whose body has not been read yet; undefined for 404. */
  async #begin(request: NodeRequest) {
    const { statusCode, headers, body } = await this.#answered(() =>
      this.#pool.request({
        method: request.method,
        path: this.#fullPath(request.path),
        headers: this.#headers(request),
        body: request.body ?? null,
      }),
    )
    if (statusCode >= 200 && statusCode < 300) return { headers, body }
    const text = await this.#answered(() => body.arrayBuffer()) // read, so that the connection can serve the next question
    if (statusCode === 404) return undefined
    throw this.#statusFault(statusCode, request, new Uint8Array(text))
  }

  /** What goes wrong on the way is told as one fault. */
  async #answered<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw this.fault('node_unreachable', `did not answer (${reasonOf(error)})`)
    }
  }

  /**
   * Opens a long answer (server-sent events): resolves when the node has begun it, then gives its pieces of bytes and ends with
   * it. Throws AppError when it is refused or breaks.
   */
  async stream(path: string, silenceMs: number, signal: AbortSignal): Promise<AsyncGenerator<Uint8Array>> {
    const answer = await this.#streamed(signal, () =>
      this.#pool.request({
        method: 'GET',
        path: this.#fullPath(path),
        headers: this.#headers({ accept: 'text/event-stream' }),
        bodyTimeout: silenceMs,
        signal,
      }),
    )
    if (answer.statusCode === 200) return this.#pieces(answer.body, signal)
    await answer.body.dump()
    throw this.fault('node_unreachable', `has no event stream (HTTP ${answer.statusCode})`)
  }

  async *#pieces(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const pieces = body[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await this.#streamed(signal, () => pieces.next())
      if (done === true) return
      yield value
    }
  }

  async #streamed<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted) throw error
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
    return new AppError('node_refused', `${this.name} refused ${what}: HTTP ${status} ${withoutUrls(text)}`)
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

/** A node that a group asks; its name is the one in messages. */
export interface Askable extends AsyncDisposable {
  readonly name: string
}

interface Member<Node> {
  readonly node: Node
  restsUntilMs: number
  /** Resolves when the node is known to be on the group's chain; undefined while nobody has asked. */
  identified: Promise<void> | undefined
  status: NodeStatus
}

/**
 * The main node and its fallbacks. A question is tried on the main node with growing waits, then on the next one. A node that
 * failed rests: others are asked first for a while, so that a dead main node does not cost its timeout on every question.
 * Nothing is asked before the first question; which chain a node is on is found out when it answers for the first time.
 */
export class NodeGroup<Node extends Askable> implements AsyncDisposable {
  readonly #members: readonly Member<Node>[]
  readonly #limits: NodeLimits
  readonly #log: Log
  readonly #identify: (node: Node) => Promise<string>
  readonly #onStatus: ((status: readonly NodeStatus[]) => void) | undefined
  #identity: string | undefined

  constructor(options: {
    readonly nodes: readonly Node[]
    readonly limits: NodeLimits
    readonly log: Log
    /** Text that is equal for all nodes of one chain. */
    readonly identify: (node: Node) => Promise<string>
    /** Hears how the nodes are whenever that has changed. */
    readonly onStatus?: ((status: readonly NodeStatus[]) => void) | undefined
  }) {
    this.#members = options.nodes.map((node) => {
      return { node, restsUntilMs: 0, identified: undefined, status: { name: node.name, state: 'unknown' } }
    })
    this.#limits = options.limits
    this.#log = options.log
    this.#identify = options.identify
    this.#onStatus = options.onStatus
  }

  get nodes(): readonly Node[] {
    return this.#members.map(({ node }) => node)
  }

  /** What is known of each node from the questions so far; asks nothing. */
  status(): readonly NodeStatus[] {
    return this.#members.map(({ status }) => status)
  }

  /** Asks in turn until one answers. The question throws AppErrors of a node fault; others end it at once. */
  async ask<Answer>(question: (node: Node) => Promise<Answer>): Promise<Answer> {
    let last: AppError | undefined
    for (const member of this.#inOrder()) {
      try {
        const answer = await this.#askOne(member, question)
        this.#noteState(member, 'up')
        return answer
      } catch (error) {
        if (!isNodeFault(error)) throw error
        last = named(member.node.name, error)
        // Being behind is no reason to be passed over for everything else: the node is there.
        if (error.code === 'node_lagging') this.#noteState(member, 'up')
        else {
          member.restsUntilMs = Date.now() + this.#limits.restMs
          this.#noteState(member, 'away', error.code)
        }
        if (this.#members.length > 1) this.#log.warn({ code: error.code }, `${last.message}; asking another node`)
      }
    }
    throw last ?? new AppError('config', 'no node is configured')
  }

  #noteState(member: Member<Node>, state: 'up' | 'away', fault?: ErrorCode): void {
    const { status } = member
    if (status.state === state && status.fault === fault) return
    const since = status.state === state ? (status.since ?? Date.now()) : Date.now()
    member.status = { name: status.name, state, since, ...(fault === undefined ? {} : { fault }) }
    this.#onStatus?.(this.status())
  }

  #inOrder(): readonly Member<Node>[] {
    if (this.#members.length === 1) return this.#members
    const now = Date.now()
    const ready = this.#members.filter((member) => member.restsUntilMs <= now)
    return [...ready, ...this.#members.filter((member) => member.restsUntilMs > now)]
  }

  /** The first try goes without ceremony: hundreds of questions a second succeed at once. */
  async #askOne<Answer>(member: Member<Node>, question: (node: Node) => Promise<Answer>): Promise<Answer> {
    const attempt = async () => {
      await this.#identified(member)
      return question(member.node)
    }
    try {
      return await attempt()
    } catch (error) {
      if (!isNodeFault(error) || !error.retryable || this.#limits.attemptsPerNode < 2) throw error
    }
    await wait(this.#limits.retryDelayMs)
    return pRetry(attempt, {
      retries: this.#limits.attemptsPerNode - 2,
      minTimeout: this.#limits.retryDelayMs * 2,
      factor: 2,
      randomize: true,
      shouldRetry: ({ error }) => isNodeFault(error) && error.retryable,
    })
  }

  /** Resolves when the node is on the group's chain; throws `node_inconsistent` when it is on another one. */
  async check(node: Node): Promise<void> {
    const member = this.#members.find((one) => one.node === node)
    if (member !== undefined) await this.#identified(member)
  }

  /** Questions that come while the node is being identified wait for that one answer. */
  #identified(member: Member<Node>): Promise<void> {
    member.identified ??= this.#learnChain(member.node).catch((error: unknown) => {
      member.identified = undefined
      throw error
    })
    return member.identified
  }

  async #learnChain(node: Node): Promise<void> {
    const identity = await this.#identify(node)
    this.#identity ??= identity
    if (identity === this.#identity) return
    throw new AppError('node_inconsistent', `${node.name} is on another chain (${identity}) than ${this.#identity}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map(({ node }) => node[Symbol.asyncDispose]()))
  }
}

/** What reads an answer does not know whose it is. */
function named(name: string, error: AppError): AppError {
  if (error.message.startsWith(name)) return error
  return new AppError(error.code, `${name}: ${error.message}`, { retryable: error.retryable, cause: error.cause })
}
