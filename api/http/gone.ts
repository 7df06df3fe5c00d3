import type { FastifyReply } from 'fastify'

/** Why work for a request ends early: its client has closed the connection. */
export class AskerGone extends Error {
  constructor() {
    super('the client has closed the connection')
  }
}

/** Why a request is answered without what it asks for: that has taken too long. */
export class AnswerLate extends Error {
  constructor() {
    super('the answer was not ready in time')
  }
}

/**
 * Aborts when the client closes the connection before its answer was written, and when the answer takes longer than so many
 * milliseconds. Not Fastify's signal and timeout: they end for a POST when its body has been read, and cost every request a tenth.
 */
export function goneSignal({ raw }: FastifyReply, timeMsMax: number): AbortSignal {
  const gone = new AbortController()
  const timer = setTimeout(() => gone.abort(new AnswerLate()), timeMsMax)
  const leave = (): void => {
    clearTimeout(timer)
    if (!raw.writableFinished) gone.abort(new AskerGone())
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return gone.signal
}
