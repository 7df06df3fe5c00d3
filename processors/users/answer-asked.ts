import type { EventWriter } from '../../infra/ports/event-log.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { type UserStands, userStands } from '../../schemas/events/users.ts'
import type { AskUsersInput, UsersAnswer } from '../../schemas/jobs/ask-users.ts'
import { type Decision, decide } from './decide.ts'
import { hasExpiredSignUps, withoutExpired } from './expiry.ts'
import type { UserBook } from './user-book.ts'

export interface UsersParts {
  readonly book: UserBook
  readonly writer: EventWriter
  /** Unix milliseconds on the machine. */
  readonly now: () => number
}

/** Answers what was asked when the log has what follows from it. One at a time: the next decision counts on this one. */
export async function answerAsked(parts: UsersParts, input: AskUsersInput): Promise<UsersAnswer> {
  const { book, writer, now } = parts
  const { requestId, keyId, ask, notAfterMs } = input
  const nowMs = now()
  if (nowMs > notAfterMs) return { status: 'late' }
  if (book.keyId !== undefined && book.keyId !== keyId) return { status: 'other-key' }
  const decision = decide(book, ask, { keyId, nowSec: Math.floor(nowMs / 1_000) })
  const facts = accountFacts(decision, nowMs)
  if (facts.length > 0) await writer.append('accounts', facts)
  if (decision.stands !== undefined) await tell(parts, decision.stands, requestId)
  return decision.answer
}

/** Drops passwords of sign-ups that nobody has verified in time. */
export async function dropExpiredSignUps(parts: UsersParts): Promise<void> {
  const nowSec = Math.floor(parts.now() / 1_000)
  const expired = [...parts.book.all()].filter((stands) => hasExpiredSignUps(stands, nowSec))
  for (const stands of expired) await tell(parts, withoutExpired(stands, nowSec), `expired-${nowSec}`)
}

async function tell({ book, writer, now }: UsersParts, stands: UserStands, asking: string): Promise<void> {
  const { address } = stands
  const id = `${userStands.name}:${address}:${asking}`
  const event = { id, key: address, time: timeOf(now()), data: stands }
  await writer.append('users', [encodeEvent(userStands, event)])
  book.put(stands)
}

function accountFacts({ created, revoked = [] }: Decision, nowMs: number): readonly EncodedEvent[] {
  const envelope = { key: ACCOUNTS_KEY, time: timeOf(nowMs) }
  const revocations = revoked.map((data) =>
    encodeEvent(tokenRevoked, { ...envelope, id: `${tokenRevoked.name}:${data.tokenHash}`, data }),
  )
  if (created === undefined) return revocations
  const id = `${tokenCreated.name}:${created.tokenHash}`
  return [encodeEvent(tokenCreated, { ...envelope, id, data: created }), ...revocations]
}

function timeOf(nowMs: number): string {
  return formatInstant(Math.floor(nowMs / 1_000))
}
