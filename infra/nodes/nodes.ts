import querystring from 'node:querystring'
import { type Dispatcher, Pool } from 'undici'
import { AppError, type ErrorCode } from '../../schemas/errors.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { basicCredentials } from '../basic-credentials.ts'
import { retryAfterMs } from './retry-after.ts'

/** What a node is allowed: each has a name in messages ("beacon node 2"), never its address. */
export interface NodeLimits {
  readonly connectTimeoutMs: number
  /** Until the first byte of an answer: states of long ago take nodes seconds to minutes. */
  readonly headersTimeoutMs: number
  /** Between two pieces of an answer. */
  readonly bodyTimeoutMs: number
  /** What a whole answer may take whatever its size; more, as its bytes take at the slowest pace that is borne. */
  readonly bodyFloorMs: number
  readonly bodyBytesPerSecMin: number
  readonly bodyBytesMax: number
  readonly connections: number
  /** Tries of one question on one node before the next node is asked. */
  readonly attemptsPerNode: number
  /** Wait before the second try; doubles with each further one. */
  readonly retryDelayMs: number
  /** A try that took longer is the last one on this node: what passes within moments does not take so long. */
  readonly retryWithinMs: number
  /** The longest pause that a node gets when it asks for one (Retry-After). */
  readonly retryAfterMaxMs: number
  /** How long a node that has failed all tries is asked only after the others. */
  readonly restMs: number
}

export const DEFAULT_LIMITS: NodeLimits = {
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 30_000,
  bodyFloorMs: 60_000,
  bodyBytesPerSecMin: 128 * 1024, // 1 Mbit/s: the half gigabyte below gets an hour, a byte now and then a minute
  bodyBytesMax: 1 << 30, // the registry of a million validators is 0.5 GB of JSON
  connections: 16,
  attemptsPerNode: 3,
  retryDelayMs: 200,
  retryWithinMs: 10_000,
  retryAfterMaxMs: 60_000,
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

/** Of a refusal that is looked at, and of it that is told. */
const REFUSAL_BYTES_MAX = 4_096
const QUOTE_CHARACTERS_MAX = 200

/** The HTTP client's code for a body above `bodyBytesMax`. */
const TOO_LARGE = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'

/** A fault like any other, unless whoever has asked knows that the size of the answer is not the node's doing. */
export class AnswerTooLarge extends AppError {
  constructor(message: string) {
    super('node_unreachable', message, { retryable: true })
  }
}

type Body = Dispatcher.ResponseData['body']

/** What comes before a body: its length in bytes where that is told, and 0 otherwise, and how long it may be. */
export interface BodyBeginning extends Pick<NodeAnswer, 'headers'> {
  readonly toldBytes: number
  readonly bytesMax: number
}

/** Gives what takes the pieces of a body, each of which is gone behind the next one. */
export type BodyReader = (beginning: BodyBeginning) => (piece: Uint8Array) => void

/** One node: an HTTP address with a pool of kept-alive connections. */
export class ChainNode implements AsyncDisposable {
  readonly name: string
  readonly #pool: Pool
  readonly #basePath: string
  /** Some providers take their key as a query. */
  readonly #query: string
  readonly #authorization: string | undefined
  readonly #limits: NodeLimits
  /** Parts of the address, and what is sent of it as a header, longest first. */
  readonly #secrets: readonly string[]
  #welcomeFromMs = 0

  constructor(name: string, url: string, limits: NodeLimits) {
    this.name = name
    this.#limits = limits
    const address = parseNodeUrl(name, url)
    this.#basePath = address.pathname.replace(/\/+$/, '')
    this.#query = address.search.slice(1)
    this.#authorization = address.username === '' ? undefined : `Basic ${basicCredentials(address)}`
    this.#secrets = secretsOf(address)
    this.#pool = new Pool(address.origin, {
      connections: limits.connections,
      connectTimeout: limits.connectTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      bodyTimeout: limits.bodyTimeoutMs,
      maxResponseSize: limits.bodyBytesMax,
      // Over HTTP/2 pieces of several answers lie in one memory, which is given back with the first of them that ends.
      allowH2: false,
    })
  }

  /** Time by `performance.now()` before which the node does not want to be asked again. */
  get welcomeFromMs(): number {
    return this.#welcomeFromMs
  }

  /** The answer of a 2xx, or undefined for 404: only the caller knows what a missing thing means. Throws AppError. */
  async request(request: NodeRequest): Promise<NodeAnswer | undefined> {
    const begun = await this.#begin(request)
    if (begun === undefined) return undefined
    return { headers: begun.headers, body: await this.#whole(begun.body) }
  }

  /** As `request`, of the body no more than its first bytes: the rest is not waited for. */
  async readFirst(request: NodeRequest, bytesMax: number): Promise<NodeAnswer | undefined> {
    const begun = await this.#begin(request)
    if (begun === undefined) return undefined
    const pieces: Uint8Array[] = []
    let missing = bytesMax
    await this.#take(begun.body, (piece) => {
      pieces.push(piece)
      missing -= piece.length
      return missing <= 0
    })
    return { headers: begun.headers, body: Buffer.concat(pieces).subarray(0, bytesMax) }
  }

  /** As `read`, with whoever takes the pieces chosen by what comes before them. */
  async readBy(request: NodeRequest, reader: BodyReader): Promise<boolean> {
    const begun = await this.#begin(request)
    if (begun === undefined) return false
    const bytesMax = this.#limits.bodyBytesMax
    const toldBytes = Math.min(Number(begun.headers['content-length'] ?? 0), bytesMax)
    try {
      const take = reader({ headers: begun.headers, toldBytes, bytesMax })
      let last: Uint8Array = new Uint8Array(0)
      await this.#take(begun.body, (piece) => {
        take(piece)
        // Who has read the socket is done with a memory when a piece of the next one is there.
        if (piece.buffer !== last.buffer) giveBackWhole([last])
        last = piece
        return false
      })
      giveBackWhole([last])
    } finally {
      begun.body.destroy()
    }
    return true
  }

  /**
   * As `request`, handing the body to `take` while it arrives; false for 404. Throws AppError, and what `take` throws; after a throw
   * the body is not whole.
   */
  async read(request: NodeRequest, take: (piece: Uint8Array) => void): Promise<boolean> {
    const begun = await this.#begin(request)
    if (begun !== undefined) await this.#take(begun.body, (piece) => void take(piece))
    return begun !== undefined
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
    if (statusCode === 429 || statusCode === 503) this.#noteWish(headers['retry-after'])
    const text = await this.#whole(body) // read, so that the connection can serve the next question
    if (statusCode === 404) return undefined
    throw this.#statusFault(statusCode, request, text)
  }

  #noteWish(retryAfter: string | string[] | undefined): void {
    const pauseMs = Math.min(retryAfterMs(String(retryAfter), Date.now()), this.#limits.retryAfterMaxMs)
    this.#welcomeFromMs = Math.max(this.#welcomeFromMs, performance.now() + pauseMs)
  }

  async #whole(body: Body): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    await this.#take(body, (piece) => void pieces.push(piece))
    const whole = Buffer.concat(pieces)
    giveBackWhole(pieces) // the first of them lies behind the answer's head, and nothing lies behind the last
    return whole
  }

  /** Hands over the pieces until they end, or one is the last that is wanted: then `take` is true. */
  async #take(body: Body, take: (piece: Uint8Array) => boolean | undefined): Promise<void> {
    const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
    const begunMs = performance.now()
    let bytes = 0
    try {
      for (;;) {
        const { done, value } = await this.#answered(() => pieces.next())
        if (done === true) return
        bytes += value.length
        this.#refuseTrickle(bytes, performance.now() - begunMs)
        if (take(value) === true) return
      }
    } finally {
      body.destroy()
    }
  }

  /** Looked at with every piece: how long the next one may take, the pool watches. */
  #refuseTrickle(bytes: number, tookMs: number): void {
    const { bodyFloorMs, bodyBytesPerSecMin } = this.#limits
    if (tookMs <= bodyFloorMs + (bytes / bodyBytesPerSecMin) * 1_000) return
    throw this.fault('node_unreachable', `answers too slowly (${bytes} bytes in ${Math.round(tookMs / 1_000)} s)`)
  }

  /** What goes wrong on the way is told as one fault. */
  async #answered<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      const reason = reasonOf(error)
      if (reason === TOO_LARGE) throw new AnswerTooLarge(`${this.name} did not answer (${reason})`)
      throw this.fault('node_unreachable', `did not answer (${reason})`)
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

  async *#pieces(body: Body, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const pieces: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.#streamed(signal, () => pieces.next())
        if (done === true) return
        yield value
      }
    } finally {
      body.destroy() // whoever stops in the middle would keep the connection for ever
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
    const text = Buffer.from(body.subarray(0, REFUSAL_BYTES_MAX)).toString('utf8')
    return new AppError('node_refused', `${this.name} refused ${what}: HTTP ${status} ${this.quote(text)}`)
  }

  /** What the node says in its own words, cut short, without anything of its address: nodes repeat what they were asked. */
  quote(text: string): string {
    const hidden = this.#secrets.reduce((left, secret) => left.replaceAll(secret, '(hidden)'), withoutUrls(text))
    return hidden.replace(/\s+/g, ' ').slice(0, QUOTE_CHARACTERS_MAX)
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

/** Words as short as these name versions and protocols rather than owners. */
const SECRET_CHARACTERS_MIN = 5

function secretsOf(address: URL): readonly string[] {
  const { host, hostname, username, password, pathname, search } = address
  const parts = [
    host,
    hostname,
    username,
    password,
    basicCredentials(address),
    search.slice(1),
    ...address.searchParams.values(),
    ...pathname.split('/'),
  ]
  const spelled = parts.flatMap((part) => [part, querystring.unescape(part)])
  return [...new Set(spelled)]
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
    .toSorted((a, b) => b.length - a.length)
}

/** Begun at the beginning of a word only: a long one, of a contract perhaps, would be gone over once for each of its letters. */
function withoutUrls(text: string): string {
  return text.replace(/(?<![a-z])[a-z]+:\/\/\S+/gi, '(address)')
}
