import type { Calls, Unreadable } from './calls.ts'
import type { ClientRequest, ClientResponse } from './client-exchange.ts'
import { type PreparedCalls, refusalBody } from './prepare-calls.ts'
import { restRefusal, rpcRefusal, type Told } from './refusals.ts'

// What the gateway answers itself over HTTP.

/** Pages of any origin may ask: what they need is in the address, and no cookie is. */
export const ANY_ORIGIN = ['access-control-allow-origin', '*', 'access-control-expose-headers', '*'] as const
const PREFLIGHT = [
  ...['access-control-allow-origin', '*', 'access-control-allow-methods', 'GET, HEAD, POST, OPTIONS'],
  ...['access-control-allow-headers', '*', 'access-control-max-age', '600', 'content-length', '0'],
] as const

export interface Refused {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly isRpc: boolean
}

/** Says why a request is not answered, if nothing of an answer is out. Returns how many bytes of a body are sent. */
export function refuse(
  { request, response, isRpc }: Refused,
  told: Told,
  read?: Calls | Unreadable,
  prepared?: Pick<PreparedCalls, 'own' | 'answers'>,
): number {
  if (response.headersSent || response.destroyed) return 0
  // What has not been read yet is not waited for.
  if (!request.complete) response.shouldKeepAlive = false
  const body = isRpc ? rpcBody(told, read, prepared) : restRefusal(told)
  for (const [name, value] of Object.entries(told.headers ?? {})) response.setHeader(name, value)
  return send(request, response, { status: told.status, body })
}

/** Of each item of a batch, with its id. */
function rpcBody(
  told: Told,
  read: Calls | Unreadable | undefined,
  prepared: Pick<PreparedCalls, 'own' | 'answers'> | undefined,
): string {
  if (read?.status !== 'read') return rpcRefusal(told, read?.id)
  return refusalBody(read, told, prepared)
}

/** Sends a body of JSON. Returns how many bytes of it are sent. */
export function send(
  request: ClientRequest,
  response: ClientResponse,
  { status, body }: { readonly status: number; readonly body: string },
): number {
  const bytes = Buffer.from(body)
  const length = String(bytes.length)
  const headers = ['content-type', 'application/json', 'content-length', length, 'cache-control', 'no-store']
  if (request.headers.origin !== undefined) headers.push(...ANY_ORIGIN)
  response.writeHead(status, headers)
  response.end(bytes)
  return request.method === 'HEAD' ? 0 : bytes.length
}

/** Answers a browser that asks whether its page may ask. */
export function sendPreflight(response: ClientResponse): void {
  response.writeHead(204, [...PREFLIGHT])
  response.end()
}
