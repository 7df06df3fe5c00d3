import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { type Bill, CLIENT_LEFT } from '../gateway/bill.ts'
import { limitHeaders, limitWords, NOT_COUNTED } from '../gateway/limited.ts'
import type { ClientLimit, Meter, Taken } from '../gateway/meter.ts'
import { BODY_BYTES_MAX } from './limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the request; undefined where it asks for nothing that is counted. */
    bill: Bill | undefined
  }
}

/** Takes the request of what its account may ask, whichever service it asks; the refusal where it may not. Behind `refusalOf`. */
export async function takeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  meter: Meter | undefined,
): Promise<Refusal | undefined> {
  if (meter === undefined) return undefined
  const { account, tokenHash, routeOptions, raw } = request
  const { protocol = '', network = '' } = request.chain?.names ?? {}
  const of = { account, tokenHash, place: `${protocol}/${network}` }
  const bill = meter.open(of, `${of.place} ${routeOptions.url}`)
  bill.asks(
    [{ method: `${request.method}#${nameOf(routeOptions.url ?? '')}` }],
    Math.min(Number(raw.headers['content-length'] ?? 0), BODY_BYTES_MAX),
  )
  request.bill = bill
  billAnswer(bill, reply, request.method)
  return tellLimit(await bill.take(), reply)
}

/** Takes a request without a token of what its client may ask, by its network address; the refusal where it may not. */
export async function takeOfClient(
  request: FastifyRequest,
  reply: FastifyReply,
  { meter, limit }: { readonly meter: Meter | undefined; readonly limit: ClientLimit },
): Promise<Refusal | undefined> {
  return meter && tellLimit(await meter.takeOfClient(request.raw, limit), reply)
}

function tellLimit(taken: Taken, reply: FastifyReply): Refusal | undefined {
  if (taken.status === 'unknown') return refuse('503', NOT_COUNTED)
  if (taken.status === 'limited') {
    reply.headers(limitHeaders(taken)).header('x-reason', taken.reason)
    return refuse('429', limitWords(taken), taken.reason)
  }
  return undefined
}

/** A path's pattern without what it has of every request. */
function nameOf(pattern: string): string {
  return pattern.replaceAll(/\/:(protocol|network|chain|token)(?=\/|$)/g, '')
}

/** Statuses that have no body, whatever length they tell. */
const BODILESS = [204, 304]

/** Also of a client that leaves: the framework says nothing of it. Of a body whose length nobody says, what went over the connection. */
function billAnswer(bill: Bill, reply: FastifyReply, method: string): void {
  const { raw } = reply
  const { socket } = raw
  const before = socket?.bytesWritten ?? 0
  raw.once('close', () => {
    const hasBody = method !== 'HEAD' && !BODILESS.includes(raw.statusCode)
    const bytes = hasBody ? Number(reply.getHeader('content-length') ?? (socket?.bytesWritten ?? 0) - before) : 0
    if (!raw.headersSent) bill.answered(CLIENT_LEFT, 0)
    else if (raw.statusCode >= 500) bill.failed(raw.statusCode, bytes)
    else bill.answered(raw.statusCode, bytes)
  })
}
