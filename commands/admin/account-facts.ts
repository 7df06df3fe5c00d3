import { openEventLog } from '../../infra/open-ports.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, formatDay, formatInstant, parseDay } from '../../schemas/eth/time.ts'
import { ACCOUNT_PATTERN, ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { END_OF_DAYS, FIRST_DAY } from '../../schemas/ownership.ts'
import { nowSec, type Setting } from '../setting.ts'

// Account facts need the log only, so these commands work while the program runs.

/** The name of the right to add account facts: whoever has it knows all facts before those that it adds. */
export const ACCOUNTS_LEASE = 'accounts'

/** What every account fact has; its time is the operator's clock. */
export interface FactEnvelope {
  readonly key: string
  readonly time: string
}

/** What a command decides: the facts to add, and what it tells the operator when they are in the log. */
export interface Decided {
  readonly facts: readonly EncodedEvent[]
  readonly said?: string
}

/**
 * Adds the facts that `decide` makes of all those before them. Of several operators one has its turn after the other, so what is
 * decided holds when it is appended; what `decide` throws leaves the log as it was.
 */
export async function addAccountFacts(
  { config, log, screen, signal }: Setting,
  decide: (book: AccountBook, envelope: FactEnvelope, eventLog: EventLog) => Decided | Promise<Decided>,
): Promise<void> {
  await using eventLog = await openEventLog(config, log)
  await using turn = await eventLog.lease(ACCOUNTS_LEASE, signal)
  const envelope = { key: ACCOUNTS_KEY, time: formatInstant(Math.floor(nowSec())) }
  const { facts, said } = await decide(await readBook(eventLog, signal), envelope, eventLog)
  if (facts.length > 0) await turn.append('accounts', facts)
  if (said !== undefined) screen.print(said)
}

/** What operators have said so far. */
export async function readAccountBook({ config, log, signal }: Setting): Promise<AccountBook> {
  await using eventLog = await openEventLog(config, log)
  return await readBook(eventLog, signal) // before the log is closed
}

/** What the log has of it. */
export async function readBook(eventLog: EventLog, signal: AbortSignal): Promise<AccountBook> {
  const unnamedChain = (await readLogFacts(eventLog, signal))?.unnamedChain
  const book = new AccountBook()
  for await (const { event } of eventLog.read({ topic: 'accounts', signal })) book.add(event, unnamedChain)
  return book
}

/** Throws AppError `usage` for a text that is no account name. */
export function checkedAccount(account: string, option = '--account'): string {
  if (new RegExp(ACCOUNT_PATTERN).test(account)) return account
  throw new AppError(
    'usage',
    `${option} is not a name of a-z, 0-9, - and _ (at most 63): ${JSON.stringify(account)}; e.g. ${option} acme.`,
  )
}

/** Throws AppError `usage` for a text that is no day which tables can hold. */
export function checkedDay(text: string, option: string): DayNumber {
  const day = parseDay(text)
  if (day !== undefined && day >= FIRST_DAY && day < END_OF_DAYS) return day
  throw new AppError(
    'usage',
    `${option} is not a date YYYY-MM-DD from 1970 to 2149: ${JSON.stringify(text)}; e.g. ${option} 2026-01-31.`,
  )
}

/** From when on a fact holds; without a day for all of history. */
export function sinceText(day: DayNumber | undefined): string {
  return day === undefined ? 'from the start of all history on' : `from ${formatDay(day)} on`
}
