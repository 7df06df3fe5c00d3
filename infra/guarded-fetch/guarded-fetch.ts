import { lookup } from 'node:dns/promises'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { PublicAnswer, PublicFetch, PublicRequest, RefusalKind } from '../ports/public-fetch.ts'
import { hostOf, isAllowedServer } from './named-server.ts'
import { isPublicAddress } from './public-address.ts'
import { type Resolved, resolveName } from './resolve-name.ts'

export interface GuardedFetchOptions {
  /** One server that is not public and may be asked all the same, over http too: `host:port`, as a URL spells them. */
  readonly allowed?: string
  /**
   * All addresses of a name. Unless told those of name servers (`resolveName`), and as the system finds them of the server that is allowed,
   * which somebody has configured. Rejects where there are none.
   */
  readonly resolve?: (host: string) => Promise<readonly Resolved[]>
}

const NO_BYTES = new Uint8Array()
const UNPACKING: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const HEADER_BYTES_MAX = 16 * 1024
const URL_CHARACTERS_MAX = 8_192

/**
 * Opens the way to servers that strangers name. A name is resolved once for each connection, every address of it has to be public, and
 * what is connected to are those addresses and no name: it cannot be bound anew in between. Each connection is one of its own.
 */
export function openGuardedFetch({ allowed, resolve }: GuardedFetchOptions = {}): PublicFetch {
  return {
    async fetch(request) {
      const deadline = AbortSignal.timeout(request.timeoutMs)
      try {
        return await followed(request, { allowed, resolve, deadline })
      } catch (error) {
        if (error instanceof Refused) return { status: 'refused', kind: error.kind, reason: error.message }
        if (deadline.aborted)
          return { status: 'failed', isLate: true, reason: `no answer within ${request.timeoutMs} ms` }
        if (!(error instanceof Error && 'code' in error)) throw error
        // Its message names the server.
        return { status: 'failed', isLate: false, reason: `the server could not be asked (${String(error.code)})` }
      }
    },
  }
}

/** Ends a question; the message holds no URL. */
class Refused extends Error {
  readonly kind: RefusalKind

  constructor(kind: RefusalKind, reason: string) {
    super(reason)
    this.kind = kind
  }
}

interface Asking {
  readonly allowed: string | undefined
  readonly resolve: GuardedFetchOptions['resolve']
  readonly deadline: AbortSignal
}

async function followed(request: PublicRequest, asking: Asking): Promise<PublicAnswer> {
  let url = parseUrl(request.url, undefined)
  for (let redirects = 0; ; redirects++) {
    const message = await open(request, url, asking)
    try {
      const { statusCode: httpStatus = 0, headers } = message
      const { location } = headers
      if (!REDIRECTS.has(httpStatus) || location === undefined || request.method === 'POST') {
        const type = headers['content-type'] ?? ''
        if (request.method === 'HEAD') return { status: 'answered', httpStatus, type, body: NO_BYTES }
        if (request.types?.test(type.split(';')[0]?.trim().toLowerCase() ?? '') === false)
          throw new Refused('type', 'the answer is of a type that is not read')
        const body = await bodyOf(unpacked(message), request.bytesMax)
        return { status: 'answered', httpStatus, type, body }
      }
      if (redirects >= request.redirectsMax)
        throw new Refused('redirects', `it was sent on more than ${request.redirectsMax} times`)
      url = parseUrl(location, url)
    } finally {
      message.destroy()
    }
  }
}

function parseUrl(text: string, from: URL | undefined): URL {
  if (text.length > URL_CHARACTERS_MAX)
    throw new Refused('url', `the URL is longer than ${URL_CHARACTERS_MAX} characters`)
  const url = URL.parse(text, from?.href)
  if (url === null) throw new Refused('url', 'it is no URL')
  if (url.username !== '' || url.password !== '') throw new Refused('url', 'the URL has a user or a password in it')
  if (from?.protocol === 'https:' && url.protocol !== 'https:')
    throw new Refused('url', 'it was sent on from https to another scheme')
  return url
}

/** Connects to a vetted address, and resolves with the head of the answer. */
async function open(
  request: PublicRequest,
  url: URL,
  { allowed, resolve, deadline }: Asking,
): Promise<IncomingMessage> {
  const isAllowed = isAllowedServer(url, allowed)
  const isPlain = url.protocol === 'http:' && (isAllowed || (request.plainHttp === true && request.method !== 'POST'))
  if (url.protocol !== 'https:' && !isPlain)
    throw new Refused('url', `the scheme is not ${request.plainHttp === true ? 'http or ' : ''}https`)
  const host = hostOf(url)
  const resolveHost = resolve ?? (isAllowed ? resolveByTheSystem : resolveName)
  const addresses =
    isIP(host) === 0 ? await raced(resolveHost(host), deadline) : [{ address: host, family: isIP(host) }]
  if (addresses.length === 0) throw new Refused('address', 'the name has no address')
  if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address)))
    throw new Refused('address', 'it has an address that is not of the public internet')
  const isHttps = url.protocol === 'https:'
  const options: RequestOptions = {
    method: request.method,
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    // One of its own: the shared one may be told of proxies by the environment, and keeps connections by names.
    agent: isHttps ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false }),
    lookup: lookupOf(addresses),
    maxHeaderSize: HEADER_BYTES_MAX,
    signal: deadline,
  }
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = (isHttps ? httpsRequest : httpRequest)(url, options, answered)
  sent.on('error', reject)
  // Of a server that changes to another protocol (101) node closes the connection and tells nothing else, when it is late neither.
  sent.on('close', () => reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' })))
  sent.end(request.body)
  return await promise
}

/** Answers what was vetted, whatever is asked for. */
function lookupOf(addresses: readonly Resolved[]): LookupFunction {
  const [first] = addresses
  return (_host, { all }, done) => {
    if (all === true) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
}

/**
 * Some servers hold what they have packed, and send it so whatever is asked for. It is unpacked as it comes, so that what is counted is
 * what was unpacked; what is packed twice is not read.
 */
function unpacked(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return message
  const open = Object.hasOwn(UNPACKING, encoding) ? UNPACKING[encoding] : undefined
  if (open === undefined) throw new Refused('type', 'the answer is packed in a way that is not read')
  const unpacking = open()
  message.on('error', (error) => unpacking.destroy(error))
  // Its end is no clean one where the connection broke.
  message.on('close', () => {
    if (!message.complete) unpacking.destroy(Object.assign(new Error('cut off'), { code: 'ECONNRESET' }))
  })
  return message.pipe(unpacking)
}

async function bodyOf(message: Readable, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of message as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > bytesMax) throw new Refused('size', `the answer is longer than ${bytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** A name server may take longer than anybody waits. */
async function raced<Value>(value: Promise<Value>, deadline: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>()
  const give = (): void => reject(deadline.reason)
  deadline.addEventListener('abort', give, { once: true })
  try {
    return await Promise.race([value, promise])
  } finally {
    deadline.removeEventListener('abort', give)
  }
}

function resolveByTheSystem(host: string): Promise<readonly Resolved[]> {
  return lookup(host, { all: true, verbatim: true })
}
