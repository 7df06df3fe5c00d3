import { hash } from 'node:crypto'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { dayStartSec, formatDay } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { KEPT_PER_EVENT_MAX, type KeptSettlement, settlementsKept } from '../../schemas/events/kept-settlements.ts'
import type { SettledRow } from '../../schemas/settled-rows.ts'
import type { Setting } from '../setting.ts'
import type { FactEnvelope } from './account-facts.ts'
import { settledOf } from './ask-settlements.ts'
import { type Locking, settledDays } from './open-days.ts'

interface Keeping extends Locking {
  readonly envelope: FactEnvelope
}

/** What a lock keeps, and what names it. */
interface Kept {
  readonly lockId: string
  readonly facts: readonly EncodedEvent[]
}

/**
 * The facts by which what is settled of days that are about to be locked stays as it is: of those that no earlier lock keeps. Throws AppError
 * `usage` where that cannot be known.
 */
export async function keepSettled(setting: Setting, eventLog: EventLog, keeping: Keeping): Promise<Kept> {
  const { account, envelope, through } = keeping
  return keptFacts({ account, through }, await rowsToKeep(setting, eventLog, keeping), envelope)
}

/** The facts that keep these rows for a lock. */
export function keptFacts(
  { account, through }: Pick<Locking, 'account' | 'through'>,
  rows: readonly SettledRow[],
  envelope: FactEnvelope,
): Kept {
  // Made of what it names: a lock that is told again, because nobody knows whether it was told, keeps the same.
  const lockId = hash('sha256', JSON.stringify([account, through, rows]), 'hex')
  const facts = [...Map.groupBy(rows, ({ chain }) => chain)].flatMap(([chain, own]) =>
    partsOf(own).map((records) => {
      const id = `${settlementsKept.name}:${lockId}:${chain}:${records[0]?.slot}`
      return encodeEvent(settlementsKept, { ...envelope, id, data: { lockId, account, chain, records: [...records] } })
    }),
  )
  return { lockId, facts }
}

async function rowsToKeep(setting: Setting, eventLog: EventLog, keeping: Keeping): Promise<readonly SettledRow[]> {
  const { book, account, through } = keeping
  if ((await settledDays(setting, eventLog, keeping)).length === 0) return []
  await using settled = settledOf(setting, eventLog)
  const kept = book.keptThrough(account)
  const fromSec = kept === undefined ? 0 : Math.max(0, dayStartSec(kept + 1))
  const answered = await settled.rows({ account, fromSec, toSec: Math.max(fromSec, dayStartSec(through + 1)) })
  if ('rows' in answered) return answered.rows
  const sentence = `What is settled of days up to ${formatDay(through)} cannot be known now: nothing was locked.`
  throw new AppError('usage', `${sentence}\n${answered.unknown}`)
}

function partsOf(rows: readonly SettledRow[]): readonly (readonly KeptSettlement[])[] {
  const records = rows.map(({ chain: _, ...record }) => record)
  return Array.from({ length: Math.ceil(records.length / KEPT_PER_EVENT_MAX) }, (_, part) =>
    records.slice(part * KEPT_PER_EVENT_MAX, (part + 1) * KEPT_PER_EVENT_MAX),
  )
}
