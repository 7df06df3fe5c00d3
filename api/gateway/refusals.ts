import type { Log } from '../../infra/ports/log.ts'
import type { UpstreamFault } from '../../infra/ports/upstreams.ts'
import { AppError } from '../../schemas/errors.ts'
import { type NotAllowed, notAllowedWords } from '../http/allowed-use.ts'
import { toldAway } from '../http/answer.ts'
import { type Limited, limitHeaders, limitWords, NOT_COUNTED } from './limited.ts'

/** Why a call is not answered by a node: all that clients may hear of it. */
export type Refusal =
  | { readonly kind: 'not-found' }
  | { readonly kind: 'unauthenticated'; readonly why?: string }
  | { readonly kind: 'method'; readonly method: string }
  | { readonly kind: 'not-allowed'; readonly of: NotAllowed }
  | { readonly kind: 'unreadable'; readonly fault: 'parse' | 'request' | 'large'; readonly why: string }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'media' }
  | { readonly kind: 'filling' }
  | { readonly kind: 'limited'; readonly limited: Limited }
  | { readonly kind: 'uncounted' }
  | { readonly kind: 'sockets' }
  | { readonly kind: 'streams' }
  | { readonly kind: 'subscriptions' }
  | { readonly kind: 'socket-version' }
  | { readonly kind: 'long-answer' }
  | { readonly kind: 'no-upstream' }
  | { readonly kind: 'no-socket' }
  | { readonly kind: 'none-healthy' }
  | { readonly kind: 'stopping' }
  | { readonly kind: 'bad-answer' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'away'; readonly why: string }
  | { readonly kind: 'failed' }

/** A refusal as it is told. */
export interface Told {
  /** HTTP, and the code of REST bodies. */
  readonly status: number
  /** Of JSON-RPC bodies. */
  readonly code: number
  readonly message: string
  /** What programs go by. */
  readonly data?: { readonly reason: string; readonly retry_after?: number; readonly remaining?: number }
  readonly headers?: Readonly<Record<string, string>>
}

/** Methods are the client's own text: of a long one the beginning is told. */
const METHOD_SHOWN_MAX = 128

/** What a refusal is told as (gateway.md, section 4). */
export function tellRefusal(refusal: Refusal): Told {
  switch (refusal.kind) {
    case 'not-found':
      return { status: 404, code: -32601, message: 'Path Not Found' }
    case 'unauthenticated':
      return { status: 401, code: -32001, message: withDetail('Authentication failed', refusal.why) }
    case 'method':
      return { status: 403, code: -32601, message: `Method not allowed: ${refusal.method.slice(0, METHOD_SHOWN_MAX)}` }
    case 'not-allowed': {
      const data = { reason: refusal.of.what }
      return { status: 403, code: -32600, message: notAllowedWords(refusal.of), data }
    }
    case 'unreadable':
      if (refusal.fault === 'large') return { status: 413, code: -32600, message: `Invalid Request: ${refusal.why}` }
      if (refusal.fault === 'parse') return { status: 400, code: -32700, message: `Parse error: ${refusal.why}` }
      return { status: 400, code: -32600, message: `Invalid Request: ${refusal.why}` }
    case 'too-large':
      return { status: 413, code: -32600, message: 'Invalid Request: the body is too large' }
    case 'media':
      return { status: 415, code: -32600, message: 'Invalid Request: the body is compressed' }
    case 'filling':
      return { status: 503, code: -32011, message: 'Service Unavailable: accounts are being read from the log' }
    case 'limited': {
      const { limited } = refusal
      return {
        status: 429,
        code: -32005,
        message: `Too Many Requests: ${limitWords(limited)}`,
        data: {
          reason: limited.reason,
          retry_after: limited.retryAfterSec,
          ...(limited.remaining === 0 ? {} : { remaining: limited.remaining }),
        },
        headers: limitHeaders(limited),
      }
    }
    case 'uncounted':
      return { status: 503, code: -32011, message: `Service Unavailable: ${NOT_COUNTED}` }
    case 'streams':
      return { status: 429, code: -32005, message: 'Too Many Requests: too many open streams' }
    case 'subscriptions':
      return { status: 429, code: -32005, message: 'Too Many Requests: too many subscriptions' }
    case 'sockets':
      return { status: 429, code: -32005, message: 'Too Many Requests: too many open sockets' }
    case 'socket-version':
      return { status: 426, code: -32600, message: 'Upgrade Required: another version of WebSocket' }
    case 'long-answer':
      return { status: 502, code: -32603, message: 'Bad Gateway: the answer is too long for one message' }
    case 'no-upstream':
      return { status: 503, code: -32011, message: 'Service Unavailable: no node is configured for this network' }
    case 'no-socket':
      return {
        status: 503,
        code: -32011,
        message: 'Service Unavailable: no node with a WebSocket is configured for this network',
      }
    case 'none-healthy':
      return { status: 503, code: -32011, message: 'Service Unavailable: no node of this network is healthy' }
    case 'stopping':
      return { status: 503, code: -32011, message: 'Service Unavailable: the service stops' }
    case 'bad-answer':
      return { status: 502, code: -32603, message: 'Bad Gateway: the node did not answer' }
    case 'timeout':
      return { status: 504, code: -32015, message: 'Gateway Timeout: the node did not answer in time' }
    case 'away':
      return { status: 503, code: -32011, message: `Service Unavailable: ${refusal.why}` }
    case 'failed':
      return { status: 500, code: -32603, message: 'Server error' }
  }
}

function withDetail(message: string, detail: string | undefined): string {
  return detail === undefined ? message : `${message}: ${detail}`
}

/** A JSON-RPC answer; `id` is the call's as it was written. */
export function rpcRefusal({ code, message, data }: Told, id = 'null'): string {
  const more = data === undefined ? '' : `,"data":${JSON.stringify(data)}`
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${more}}}`
}

export function restRefusal({ status, message, data }: Told): string {
  return JSON.stringify({ code: status, message, ...data })
}

/** Says in the log why a call, or a handshake, was not looked after: something is away, as the tables that tell of keys, or we have failed. */
export function tellFailure(log: Log, error: unknown, network?: string): Refusal {
  if (error instanceof AppError && error.retryable) {
    const { told, answered } = toldAway(error)
    log.warn({ network, reason: error.message }, told)
    return { kind: 'away', why: answered }
  }
  log.error({ err: error, network }, 'a gateway call failed')
  return { kind: 'failed' }
}

/** What a client hears of a call that no node has answered. */
export function refusalOf(fault: UpstreamFault): Refusal {
  if (fault === 'unreached') return { kind: 'none-healthy' }
  return fault === 'silent' ? { kind: 'timeout' } : { kind: 'bad-answer' }
}
