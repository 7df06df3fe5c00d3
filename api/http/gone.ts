import type { FastifyReply, FastifyRequest } from 'fastify'

/** Why work for a request ends early: nobody waits for its answer any more. */
export class AskerGone extends Error {}

/** Aborts when the client closes the connection before its answer was written, and when the request has taken too long. */
export function goneSignal({ signal }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => {
    if (!raw.writableFinished) gone.abort(new AskerGone('the client has closed the connection'))
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  // Fastify's signal aborts with the connection as well, and then gives no such reason.
  const late = (): void => {
    if (isTimeout(signal.reason)) gone.abort(new AskerGone('the answer was not ready in time'))
  }
  if (signal.aborted) late()
  else signal.addEventListener('abort', late, { once: true })
  return gone.signal
}

/** Whether it says that a request has taken longer than `HANDLER_TIMEOUT_MS`. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && reason.code === 'FST_ERR_HANDLER_TIMEOUT'
}
