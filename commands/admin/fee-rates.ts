import type { EventLog } from '../../infra/ports/event-log.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { dayOfInstant, dayStartSec, formatDay, formatInstant, formatLocalTime } from '../../schemas/eth/time.ts'
import { parseRate, RATE_DECIMALS_MAX } from '../../schemas/eth/units.ts'
import { feeRateSet } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { SettlementChange } from '../../schemas/settlement-change.ts'
import { nowSec, type Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, checkedDay, readAccountBook } from './account-facts.ts'
import { identifiedOn } from './identified.ts'
import { knownAccount } from './known-account.ts'
import { type GuardOptions, guardBy } from './settlement-guard.ts'

/** Sets the account's fee rate from the start of a UTC+8 day on. */
export async function setFeeRate(
  setting: Setting,
  options: GuardOptions & { readonly account: string; readonly rate: string; readonly from?: string },
): Promise<void> {
  const account = checkedAccount(options.account)
  const { rate } = options
  if (hasTooManyDecimals(rate)) {
    throw new AppError(
      'usage',
      `--rate has more than ${RATE_DECIMALS_MAX} decimals: ${JSON.stringify(rate)}; nothing was set.`,
    )
  }
  if (parseRate(rate) === undefined) {
    throw new AppError(
      'usage',
      `--rate is not a decimal fraction from 0 to 1: ${JSON.stringify(rate)}; e.g. --rate 0.1.`,
    )
  }
  const day = options.from === undefined ? dayOfInstant(nowSec()) : checkedDay(options.from, '--from')
  const fromSec = dayStartSec(day)
  const effectiveFrom = formatInstant(fromSec)
  await addAccountFacts(setting, async (book, envelope, eventLog) => {
    knownAccount(book, account)
    const changes = await rateChanges(book, { eventLog, signal: setting.signal }, { account, rate, fromSec })
    const id = `account.fee-rate-set:${account}:${effectiveFrom}`
    await guardBy(setting, eventLog, { book, concerned: [{ account, fromDay: day }], changes, options })
    const next = book.nextRateSec(account, fromSec)
    const until = next === undefined ? '' : ` until ${formatDay(dayOfInstant(next))}, then as was said before`
    return {
      facts: [encodeEvent(feeRateSet, { ...envelope, id, data: { account, rate, effectiveFrom } })],
      said: `The fee rate of ${account} is ${rate} from ${formatDay(day)} on${until}.\n`,
    }
  })
}

/** It is a rate but for its length: what it lacks is not the right form. */
function hasTooManyDecimals(rate: string): boolean {
  const [, fraction = ''] = /^[01]\.(\d+)$/.exec(rate) ?? []
  return fraction.length > RATE_DECIMALS_MAX
}

/** What the rate would change of what was settled: nothing of an account that the log knows no validator of. */
async function rateChanges(
  book: AccountBook,
  { eventLog, signal }: { readonly eventLog: EventLog; readonly signal: AbortSignal },
  { account, rate, fromSec }: { readonly account: string; readonly rate: string; readonly fromSec: number },
): Promise<readonly SettlementChange[]> {
  for (const [chain, pubkeys] of book.ownership.keysOf(account)) {
    const known = await identifiedOn(eventLog, chain, signal)
    if (![...pubkeys].some((pubkey) => known.has(pubkey))) continue
    const toSec = book.nextRateSec(account, fromSec) ?? Number.MAX_SAFE_INTEGER
    return [{ kind: 'rate', account, rate, fromSec: Math.max(0, fromSec), toSec }]
  }
  return []
}

/** Prints every rate that was said of an account, by the instant at which it begins: of two for one instant the later one counts. */
export async function listFeeRates(setting: Setting, options: { readonly account: string }): Promise<void> {
  const book = await readAccountBook(setting)
  const rates = book.ratesOf(knownAccount(book, checkedAccount(options.account)))
  const inForce = new Set(book.ratesInForce(options.account))
  const lines = rates
    .toSorted((a, b) => a.effectiveFromSec - b.effectiveFromSec)
    .map((fact) => {
      const note = inForce.has(fact) ? '' : '  (replaced)'
      return `${formatLocalTime(fact.effectiveFromSec)} UTC+8  ${fact.rate}  said ${fact.saidAt}${note}\n`
    })
  setting.screen.print(lines.length === 0 ? 'No rate was set: it is 0.\n' : lines.join(''))
}
