import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { limitHeaders, limitWords, NOT_COUNTED } from '../gateway/limited.ts'
import type { Meter, Passed } from '../gateway/meter.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What has been taken for the request; undefined where nothing was. */
    passed: Passed | undefined
  }
}

/** Takes the request of what its account may ask, whichever service it asks; the refusal where it may not. Behind `refusalOf`. */
export async function takeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  meter: Meter | undefined,
): Promise<Refusal | undefined> {
  if (meter === undefined) return undefined
  const { account, tokenHash, chain, routeOptions } = request
  const endpoint = `${chain?.names.name} ${routeOptions.url}`
  const taken = await meter.take({ account, tokenHash, endpoint, units: 1 })
  if (taken.status === 'unknown') return refuse('503', NOT_COUNTED)
  if (taken.status === 'limited') {
    reply.headers(limitHeaders(taken)).header('x-reason', taken.reason)
    return refuse('429', limitWords(taken), taken.reason)
  }
  request.passed = taken
  return undefined
}
