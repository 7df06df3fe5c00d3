import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { PublicFetch } from '../../infra/ports/public-fetch.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { WEBHOOK_ITEMS_MAX } from '../../schemas/events/webhooks.ts'
import { messageId, signedHeaders } from '../../schemas/webhooks.ts'
import { deliveredEvent, givenUpEvent } from './notice-events.ts'
import type { Notice, Telling, WebhookBook } from './webhook-book.ts'

/** A receiver that is slower should take the message first and work on it then. */
const ANSWER_MS_MAX = 10_000
/** Of an answer that nobody reads. */
const ANSWER_BYTES_MAX = 64 * 1024
/** After it a run makes room for other receivers. */
const RUN_MS_MAX = 10_000
/** So many refused messages of a run are enough to try again later. */
const REFUSED_PER_RUN_MAX = 5
/** A notice that its receiver has not taken, or that nothing could sign, for so long is not told any more: three days, over a weekend. */
export const GIVE_UP_MS = 72 * 3_600_000

/** Where a webhook leads, and what its messages are signed with. */
export interface Receiver {
  readonly url: string
  readonly secret: Uint8Array
}

export interface Delivering {
  readonly book: WebhookBook
  readonly writer: EventWriter
  readonly fetch: PublicFetch
  /** Throws AppError `webhook` where the key of the configuration does not open it, `usage` where there is none. */
  readonly receiverOf: (webhookId: string) => Receiver
  /** Unix milliseconds. */
  readonly now: () => number
}

/**
 * Tells a receiver what waits for it, in order, and what was refused before behind all else; of a validator nothing is told before what
 * came earlier has been taken or given up. True where more waits and the time of a run is over. Throws AppError `webhook` where something
 * was not taken, and as `receiverOf`: the queue tries again later.
 */
export async function deliverWaiting(parts: Delivering, webhookId: string, signal: AbortSignal): Promise<boolean> {
  const { book, writer, now } = parts
  const telling = book.of(webhookId)
  if (telling === undefined || telling.waiting.size === 0) return false
  const receiver = await knownReceiver(parts, telling)
  const endMs = now() + RUN_MS_MAX
  const held = new Set<string>()
  let failure: string | undefined
  for (const notice of inTurn(telling)) {
    if (signal.aborted || book.of(webhookId) !== telling) return false
    if (now() > endMs) break
    const subject = subjectOf(notice)
    if (held.has(subject)) continue
    const outcome = await send(parts, receiver, messageOf(webhookId, notice))
    telling.refused.delete(subject)
    if (outcome.status === 'taken') {
      await book.tell(writer, [deliveredEvent(telling, notice.id, now())])
      continue
    }
    failure = outcome.reason
    held.add(subject)
    telling.refused.add(subject)
    if (outcome.status === 'away' || held.size >= REFUSED_PER_RUN_MAX) break
  }
  if (failure === undefined) return telling.waiting.size > 0
  await giveUpOld(parts, telling, failure)
  throw new AppError('webhook', failure, { retryable: true })
}

/** What waits while the key is away ends like what its receiver does not take. */
async function knownReceiver(parts: Delivering, telling: Telling): Promise<Receiver> {
  try {
    return parts.receiverOf(telling.webhookId)
  } catch (error) {
    if (error instanceof AppError) await giveUpOld(parts, telling, error.message)
    throw error
  }
}

/** A run ends after some refusals: with those first that are always refused, it would never come to the others. */
function inTurn({ waiting, refused }: Telling): readonly Notice[] {
  const places = new Map([...refused].map((subject, place) => [subject, place]))
  const placeOf = (notice: Notice) => places.get(subjectOf(notice)) ?? -1
  return [...waiting.values()].toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** What has waited for too long ends, whether it was tried itself or waited behind others. */
async function giveUpOld({ book, writer, now }: Delivering, telling: Telling, reason: string): Promise<void> {
  const old = [...telling.waiting.values()].filter(({ atMs }) => now() - atMs > GIVE_UP_MS).map(({ id }) => id)
  for (let at = 0; at < old.length; at += WEBHOOK_ITEMS_MAX) {
    const notices = old.slice(at, at + WEBHOOK_ITEMS_MAX)
    await book.tell(writer, [givenUpEvent(telling, { notices, reason }, now())])
  }
}

/** What keeps its order. */
function subjectOf({ chain, what }: Notice): string {
  return what.kind === 'day.closed' ? `${chain} days` : `${chain} ${what.pubkey}`
}

interface Message {
  readonly id: string
  readonly body: string
}

/** The same at every attempt and after every restart: it is made of the notice alone. */
export function messageOf(webhookId: string, { id, atMs, chain, what }: Notice): Message {
  const data = { chain, ...dataOf(what) }
  const body = JSON.stringify({ type: what.kind, timestamp: formatInstant(atMs / 1_000), data })
  return { id: messageId(webhookId, id), body }
}

function dataOf(what: Notice['what']): object {
  switch (what.kind) {
    case 'validator.status': {
      const { pubkey, previous, status, epoch } = what
      return { pubkey, previous_status: previous, status, epoch }
    }
    case 'validator.exit': {
      const { pubkey, step, reason = null, exitEpoch = null } = what
      return { pubkey, step, reason, exit_epoch: exitEpoch }
    }
    case 'day.closed':
      return { day: what.day }
  }
}

type Outcome =
  | { readonly status: 'taken' }
  /** It has answered something else than 2xx. */
  | { readonly status: 'refused'; readonly reason: string }
  /** It was not reached: others of its messages would not be taken either. */
  | { readonly status: 'away'; readonly reason: string }

async function send({ fetch, now }: Delivering, { url, secret }: Receiver, { id, body }: Message): Promise<Outcome> {
  const signed = signedHeaders(secret, { id, timestampSec: Math.floor(now() / 1_000), body })
  const answer = await fetch.fetch({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'epochline', ...signed },
    body: Buffer.from(body),
    bytesMax: ANSWER_BYTES_MAX,
    timeoutMs: ANSWER_MS_MAX,
    redirectsMax: 0,
  })
  if (answer.status !== 'answered') return { status: 'away', reason: `The receiver was not told: ${answer.reason}.` }
  const { httpStatus } = answer
  if (httpStatus >= 200 && httpStatus < 300) return { status: 'taken' }
  const isRedirect = httpStatus >= 300 && httpStatus < 400
  const hint = isRedirect ? '; messages are not sent on to another address' : ''
  return { status: 'refused', reason: `The receiver has answered ${httpStatus}${hint}.` }
}
