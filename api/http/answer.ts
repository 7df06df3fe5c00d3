import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../infra/ports/log.ts'
import { AppError, type ErrorCode } from '../../schemas/errors.ts'
import { formatMessage, RESULTS, type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import type { SentAnswer } from './answers.ts'
import { AnswerLate, AskerGone } from './gone.ts'
import { BODY_BYTES_MAX } from './limits.ts'

/** What is answered to a question that takes more of the warehouse than one may. */
export const TOO_MUCH = 'the question takes more time or rows than one may: ask for fewer days or validators at a time'

/** What is answered while the warehouse is away. */
export const NOT_READABLE = 'the tables cannot be read at the moment'

/** What is away, as the log and the answer name it: operators go and look there. */
const AWAY: Partial<Record<ErrorCode, { readonly told: string; readonly answered: string }>> = {
  warehouse: { told: 'the warehouse could not be asked', answered: NOT_READABLE },
  event_log: { told: 'the event log could not be asked', answered: 'the event log cannot be read at the moment' },
  job_queue: { told: 'the job queue could not be asked', answered: 'the job queue does not answer at the moment' },
  counters: { told: 'the counters could not be asked', answered: 'the counters do not answer at the moment' },
}
const SOMETHING_AWAY = { told: 'something that answers are made with could not be asked', answered: NOT_READABLE }

/** How a failure that may pass is told in the log, and what is answered. */
export function toldAway({ code }: AppError): { readonly told: string; readonly answered: string } {
  return AWAY[code] ?? SOMETHING_AWAY
}

/** Carries a refusal through Fastify, whose validation knows nothing but errors. */
export class RefusedRequest extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.detail)
    this.refusal = refusal
  }
}

/** Of a body that is nothing that anybody could read, it costs nothing of a plan. */
export class UnreadableBody extends RefusedRequest {
  constructor(detail: string) {
    super(refuse('400', detail))
  }
}

export function sendAnswer(reply: FastifyReply, { httpStatus, type, body }: SentAnswer): FastifyReply {
  return reply.status(httpStatus).header('content-type', type).send(body)
}

/** Tables that are being filled have their accounts within seconds, and a warehouse that is away comes back as fast or not at all. */
export const RETRY_AFTER_SEC = 5

export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { httpStatus } = RESULTS[refusal.code]
  if (refusal.code === '503') reply.header('retry-after', RETRY_AFTER_SEC)
  const { code, detail, reason } = refusal
  const envelope = { code, msg: formatMessage(code, detail), data: null }
  return reply.status(httpStatus).send(reason === undefined ? envelope : { ...envelope, reason })
}

/** What of a body the framework refuses to read. */
const UNREAD_BODIES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: `the body is larger than ${BODY_BYTES_MAX} bytes`,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body is not as long as Content-Length says',
}
/** Whoever sent it has left in the middle: nobody reads it. */
const BODY_CUT = 'the body was not sent to its end'

/**
 * Answers in the envelope what was thrown: a request that cannot be read is the caller's, everything else is ours and stays
 * in the log.
 */
export function envelopeErrors(log: Log) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error instanceof UnreadableBody) request.bill?.costsNothing()
    if (error instanceof RefusedRequest) return sendRefusal(reply, error.refusal)
    // Nobody is there to read it.
    if (error instanceof AskerGone) return sendRefusal(reply, refuse('400', error.message))
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'query_limit') return sendRefusal(reply, refuse('400', TOO_MUCH))
    const unread = code === 'ECONNRESET' && request.raw.readableAborted ? BODY_CUT : UNREAD_BODIES[code as string]
    if (unread !== undefined) {
      request.bill?.costsNothing()
      return sendRefusal(reply, refuse('400', unread))
    }
    const about = { requestId: request.id, route: request.routeOptions.url }
    if (error instanceof AnswerLate || code === 'FST_ERR_HANDLER_TIMEOUT') {
      log.warn(about, 'an answer was not ready in time')
      return sendRefusal(reply, refuse('503', new AnswerLate().message))
    }
    if (error instanceof AppError && error.retryable) {
      const { told, answered } = toldAway(error)
      log.warn({ ...about, reason: error.message }, told)
      return sendRefusal(reply, refuse('503', answered))
    }
    log.error({ ...about, err: error }, 'request failed')
    return sendRefusal(reply, refuse('500'))
  }
}
