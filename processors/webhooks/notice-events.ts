import type { WebhookFact } from '../../schemas/account-book.ts'
import { formatDay, formatInstant, parseDay } from '../../schemas/eth/time.ts'
import { type EncodedEvent, type EventType, encodeEvent } from '../../schemas/events/codec.ts'
import {
  type ClosedSpan,
  GIVEN_UP_REASON_CHARACTERS_MAX,
  type Noticed,
  WEBHOOK_ITEMS_MAX,
  webhookBegan,
  webhookDelivered,
  webhookEnded,
  webhookFollowed,
  webhookGivenUp,
  webhookNoticed,
} from '../../schemas/events/webhooks.ts'
import type { AccountStanding } from './notice-changes.ts'
import type { Followed, Telling } from './webhook-book.ts'

// The facts of the topic `webhooks`; times are Unix milliseconds.

interface Fact<Name extends string, Data> {
  readonly type: EventType<Name, Data>
  readonly id: string
  readonly data: Data
}

function fact<Name extends string, Data extends { readonly account: string }>(
  { type, id, data }: Fact<Name, Data>,
  nowMs: number,
): EncodedEvent {
  return encodeEvent(type, { id, key: data.account, time: formatInstant(nowMs / 1_000), data })
}

interface Following {
  readonly account: string
  readonly chain: string
  readonly accountsNext: bigint
}

/** How an account stands on a chain when it begins to be followed there. */
export function followedEvents(
  { account, chain, accountsNext }: Following,
  { epoch, closedDays, validators }: AccountStanding,
  nowMs: number,
): readonly EncodedEvent[] {
  const closed = closedSpans(closedDays)
  const events = Math.max(1, Math.ceil(validators.length / WEBHOOK_ITEMS_MAX))
  return Array.from({ length: events }, (_, number) => {
    const some = validators.slice(number * WEBHOOK_ITEMS_MAX, (number + 1) * WEBHOOK_ITEMS_MAX)
    const data = {
      ...{ account, chain, accountsNext: `${accountsNext}` },
      epoch: epoch ?? null,
      closed,
      statuses: some.map(({ pubkey, status }) => ({ pubkey, status })),
      ...{ number, isLast: number === events - 1 },
    }
    return fact(
      { type: webhookFollowed, id: `webhook.followed:${account}:${chain}:${accountsNext}:${number}`, data },
      nowMs,
    )
  })
}

/** A year of days one behind the other is one span. */
function closedSpans(days: readonly string[]): ClosedSpan[] {
  const spans: { from: string; through: string }[] = []
  for (const day of days) {
    const last = spans.at(-1)
    if (last !== undefined && dayAfter(last.through) === day) last.through = day
    else spans.push({ from: day, through: day })
  }
  return spans
}

function dayAfter(day: string): string {
  return formatDay((parseDay(day) ?? 0) + 1)
}

export function beganEvent({ account, webhookId, kinds }: WebhookFact, nowMs: number): EncodedEvent {
  return fact({ type: webhookBegan, id: `webhook.began:${webhookId}`, data: { account, webhookId, kinds } }, nowMs)
}

export function endedEvent({ account, webhookId }: Telling, nowMs: number): EncodedEvent {
  return fact({ type: webhookEnded, id: `webhook.ended:${webhookId}`, data: { account, webhookId } }, nowMs)
}

interface NoticedOf {
  readonly account: string
  readonly chain: string
  readonly followed: Followed
}

export function noticeEvent({ account, chain, followed }: NoticedOf, what: Noticed, nowMs: number): EncodedEvent {
  const id = `${account}:${chain}:${followed.since}:${nameOf(what)}`
  return fact({ type: webhookNoticed, id, data: { account, chain, what } }, nowMs)
}

function nameOf(what: Noticed): string {
  switch (what.kind) {
    case 'validator.status':
      return `status:${what.pubkey}:${what.number}`
    case 'validator.exit':
      return `exit:${what.pubkey}:${what.offset}`
    case 'day.closed':
      return `day:${what.day}`
  }
}

export function deliveredEvent({ account, webhookId }: Telling, notice: string, nowMs: number): EncodedEvent {
  const id = `webhook.delivered:${webhookId}:${notice}`
  return fact({ type: webhookDelivered, id, data: { account, webhookId, notice } }, nowMs)
}

interface GivenUp {
  /** Not empty, at most `WEBHOOK_ITEMS_MAX`. */
  readonly notices: readonly string[]
  /** Its beginning is told where it is longer than `GIVEN_UP_REASON_CHARACTERS_MAX`. */
  readonly reason: string
}

export function givenUpEvent(
  { account, webhookId }: Telling,
  { notices, reason }: GivenUp,
  nowMs: number,
): EncodedEvent {
  const id = `webhook.given-up:${webhookId}:${notices[0]}`
  const data = { account, webhookId, notices: [...notices], reason: reason.slice(0, GIVEN_UP_REASON_CHARACTERS_MAX) }
  return fact({ type: webhookGivenUp, id, data }, nowMs)
}
