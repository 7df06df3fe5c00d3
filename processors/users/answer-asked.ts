import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, type EventType, encodeEvent } from '../../schemas/events/codec.ts'
import { orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import { type UserStands, userStands } from '../../schemas/events/users.ts'
import type { AskOrdersInput, OrdersAnswer } from '../../schemas/jobs/ask-orders.ts'
import type { AskUsersInput, UsersAnswer } from '../../schemas/jobs/ask-users.ts'
import { type Books, type Decision, decide } from './decide.ts'
import { moveOrder } from './decide-order.ts'
import { hasExpiredSignUps, withoutExpired } from './expiry.ts'

export interface UsersParts extends Books {
  readonly writer: EventWriter
  readonly log: Log
  /** Unix milliseconds on the machine. */
  readonly now: () => number
}

/** Answers what was asked when the log has what follows from it. One at a time: the next decision counts on this one. */
export async function answerAsked(parts: UsersParts, input: AskUsersInput): Promise<UsersAnswer> {
  const { book, now } = parts
  const { requestId, keyId, ask, notAfterMs } = input
  const nowMs = now()
  if (nowMs > notAfterMs) return { status: 'late' }
  if (book.keyId !== undefined && book.keyId !== keyId) return { status: 'other-key' }
  const decision = decide(parts, ask, { keyId, nowSec: Math.floor(nowMs / 1_000) })
  await tellFacts(parts, decision, nowMs)
  if (decision.placed !== undefined) {
    const { account, orderId } = decision.placed
    parts.log.info({ account, order: orderId }, 'an order came in: admin order list tells it')
  }
  if (decision.stands !== undefined) await tell(parts, decision.stands, requestId)
  return decision.answer
}

/** Likewise of what an operator asks. */
export async function answerOperator(parts: UsersParts, asked: AskOrdersInput): Promise<OrdersAnswer> {
  const nowMs = parts.now()
  if (nowMs > asked.notAfterMs) return { status: 'late' }
  const decision = moveOrder(parts, asked, Math.floor(nowMs / 1_000))
  await tellFacts(parts, decision, nowMs)
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

/** What is decided of accounts is on the log before anybody counts on it. */
async function tellFacts(
  { writer, orders }: UsersParts,
  decision: Omit<Decision, 'answer'>,
  nowMs: number,
): Promise<void> {
  const facts = accountFacts(decision, nowMs)
  if (facts.length === 0) return
  await writer.append('accounts', facts)
  for (const fact of facts) orders.add(fact)
}

function accountFacts(
  { created, revoked = [], placed, moved = [], extended }: Omit<Decision, 'answer'>,
  nowMs: number,
): readonly EncodedEvent[] {
  const envelope = { key: ACCOUNTS_KEY, time: timeOf(nowMs) }
  const tell = <Data>(type: EventType<string, Data>, what: string, data: Data): EncodedEvent =>
    encodeEvent(type, { ...envelope, id: `${type.name}:${what}`, data })
  return [
    ...(created === undefined ? [] : [tell(tokenCreated, created.tokenHash, created)]),
    ...(placed === undefined ? [] : [tell(orderPlaced, placed.orderId, placed)]),
    ...moved.map((move) => tell(orderMoved, `${move.orderId}:${move.to}`, move)),
    ...(extended === undefined ? [] : [tell(orderExtended, `${extended.orderId}:${extended.days}`, extended)]),
    ...revoked.map((data) => tell(tokenRevoked, data.tokenHash, data)),
  ]
}

function timeOf(nowMs: number): string {
  return formatInstant(Math.floor(nowMs / 1_000))
}
