import { chainByName } from '../../infra/config/select-chain.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import type { ChainDays } from '../../schemas/closed-through.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import type { Setting } from '../setting.ts'
import { settledOf } from './ask-settlements.ts'

export interface Locking {
  readonly book: AccountBook
  readonly account: string
  /** Last day that is to be locked. */
  readonly through: DayNumber
}

/**
 * Throws AppError `usage` unless every day up to one, on which the account has validators, is closed: what is settled of an open day
 * still grows. Where that cannot be known it is refused too. Chains that were removed have nothing to wait for.
 */
export async function refuseOpenDays(setting: Setting, eventLog: EventLog, locking: Locking): Promise<void> {
  const { account, through } = locking
  const days = await settledDays(setting, eventLog, locking)
  if (days.length === 0) return
  await using settled = settledOf(setting, eventLog)
  const answered = await settled.closedThrough(days)
  if ('unknown' in answered) {
    const sentence = `Whether every day up to ${formatDay(through)} is closed cannot be known now: nothing was locked.`
    throw new AppError('usage', `${sentence}\n${answered.unknown}`)
  }
  const closed = new Map(answered.rows.map((row) => [row.chain, row.through]))
  const open = days.flatMap(({ chain, toDay }) => {
    const day = closed.get(chain) ?? undefined
    return day !== undefined && day >= toDay - 1 ? [] : [{ chain, day }]
  })
  if (open.length === 0) return
  throw new AppError('usage', `${open.map(openText).join(' ')} ${lockableText(account, open)}`)
}

/** The days on which something may have been settled for the account, of each chain that is there. */
export async function settledDays(
  setting: Setting,
  eventLog: EventLog,
  locking: Locking,
): Promise<readonly ChainDays[]> {
  const removed = (await readLogFacts(eventLog, setting.signal))?.removed
  return daysOf(locking).filter(
    ({ chain }) => removed?.has(chain) !== true || chainByName(setting.config, chain) !== undefined,
  )
}

/** Of each chain, the days up to the one that is to be locked, from the first on which the account has a validator to the last. */
function daysOf({ book, account, through }: Locking): readonly ChainDays[] {
  return [...book.ownership.keysOf(account)].flatMap(([chain, pubkeys]) => {
    const owned = [...pubkeys]
      .flatMap((pubkey) => book.ownership.ownersOf(chain, pubkey))
      .filter((days) => days.account === account && days.fromDay <= through)
    if (owned.length === 0) return []
    const fromDay = owned.reduce((first, days) => Math.min(first, days.fromDay), through)
    const toDay = owned.reduce((last, days) => Math.max(last, days.toDay), 0)
    return [{ chain, fromDay, toDay: Math.min(toDay, through + 1) }]
  })
}

interface OpenFrom {
  readonly chain: string
  /** The last day before the first open one; undefined where no day is closed. */
  readonly day: DayNumber | undefined
}

function openText({ chain, day }: OpenFrom): string {
  return day === undefined
    ? `No day of ${chain} is closed yet.`
    : `${formatDay(day + 1)} of ${chain} is not closed yet.`
}

function lockableText(account: string, open: readonly OpenFrom[]): string {
  const days = open.flatMap(({ day }) => (day === undefined ? [] : [day]))
  if (days.length < open.length) return `No settlements of ${account} can be locked before; nothing was locked.`
  const through = days.reduce((first, day) => Math.min(first, day))
  return `The settlements of ${account} can be locked through ${formatDay(through)}; nothing was locked.`
}
