import type { FastifyReply } from 'fastify'

/** Why work for a request ends early: its client has closed the connection. */
export class AskerGone extends Error {
  constructor() {
    super('the client has closed the connection')
  }
}

/** Aborts when the client closes the connection before its answer was written. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => {
    if (!raw.writableFinished) gone.abort(new AskerGone())
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return gone.signal
}
