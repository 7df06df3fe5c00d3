import type { EventLog } from '../../infra/ports/event-log.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, dayOfInstant, dayStartSec, formatDay } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import type { ChangedSettlements, SettlementChange } from '../../schemas/settlement-change.ts'
import { nowSec, type Setting } from '../setting.ts'
import { type Counted, type Counting, settledOf } from './ask-settlements.ts'

/** Validators that a sentence about locked days names, each with the command that corrects it; `--corrections` prints all. */
const CORRECTIONS_NAMED_MAX = 20

/** An account whose settlements a fact is about from a day on. */
export interface Concerned {
  readonly account: string
  readonly fromDay: DayNumber
}

/** What the operator has said of a change beside the change. */
export interface GuardOptions {
  /** That he has been told what it changes, or does not want to be. */
  readonly yes?: boolean
  /** That he wants all commands that correct what is locked, on standard output. */
  readonly corrections?: boolean
}

interface Change {
  readonly book: AccountBook
  /** Whose days have to be open for the fact, whether anything was settled in them or not: more may be backfilled. */
  readonly concerned: readonly Concerned[]
  /** What may change of what was settled. */
  readonly changes: readonly SettlementChange[]
  readonly options: GuardOptions
}

interface Guarded extends Change {
  readonly count: Counting
  /** Unix seconds. */
  readonly now: number
  /** Takes whole lines of standard output. */
  readonly print: (text: string) => void
}

/**
 * What is to be said of a change before it is made; empty where nothing of it has been settled. Throws AppError `usage` where it
 * touches locked days, and, without `yes`, where it changes settlements or that cannot be counted: what was served is not changed
 * by the way. With `corrections` it prints what corrects locked days.
 */
export async function guardSettled(guarded: Guarded): Promise<string> {
  const { changes, count, now } = guarded
  const { yes = false } = guarded.options
  const begun = changes.filter((change) => firstDayOf(change) <= dayOfInstant(now))
  await refuseLocked(guarded, (account, behind) => countLocked(begun, { account, behind }, count))
  const counted = await countAll(begun, count)
  if ('unknown' in counted) {
    if (yes) return `What this changes of settlements could not be counted. ${counted.unknown}\n`
    throw new AppError(
      'usage',
      [
        'This may change settlements that were served, and how many cannot be counted now.',
        counted.unknown,
        'Say --yes to change them uncounted; nothing was changed.',
      ].join('\n'),
    )
  }
  const lines = summaryOf(counted.rows)
  if (lines.length === 0) return ''
  if (yes) return `${lines.join('\n')}\n`
  throw new AppError('usage', [...lines, 'Say --yes to change that; nothing was changed.'].join('\n'))
}

/** Counts until one change cannot be counted: then the others' numbers say nothing. */
async function countAll(changes: readonly SettlementChange[], count: Counting): Promise<Counted> {
  const rows: ChangedSettlements[] = []
  for (const change of changes) {
    const counted = await count(change)
    if ('unknown' in counted) return counted
    for (const row of counted.rows) rows.push(row)
  }
  return { rows }
}

async function countLocked(
  changes: readonly SettlementChange[],
  { account, behind }: { readonly account: string; readonly behind: DayNumber },
  count: Counting,
): Promise<Counted> {
  const locked = changes.filter((change) => firstDayOf(change) < behind).map((change) => upTo(change, behind))
  const counted = await countAll(locked, count)
  return 'unknown' in counted ? counted : { rows: counted.rows.filter((row) => row.account === account) }
}

async function refuseLocked(
  { book, concerned, options, print }: Guarded,
  count: (account: string, behind: DayNumber) => Promise<Counted>,
): Promise<void> {
  const sentences: string[] = []
  for (const [account, some] of Map.groupBy(concerned, (one) => one.account)) {
    const through = book.lockedThrough(account)
    const fromDay = some.reduce((first, one) => Math.min(first, one.fromDay), Number.POSITIVE_INFINITY)
    if (through === undefined || fromDay > through) continue
    sentences.push(
      `The settlements of ${account} are locked through ${formatDay(through)}, and this would change them from ${dayText(fromDay)} on.`,
    )
    const counted = await count(account, through + 1)
    if ('unknown' in counted) {
      sentences.push(`How many cannot be counted now. ${counted.unknown}`)
      continue
    }
    const { rows } = counted
    sentences.push(...summaryOf(rows))
    if (options.corrections !== true) sentences.push(...someCorrections(rows))
    else if (rows.length > 0) {
      print(rows.map((row) => `${correctionOf(row)}\n`).join(''))
      sentences.push(`The ${rows.length} commands that correct them are on standard output.`)
    }
  }
  if (sentences.length === 0) return
  const rest =
    'Name the first day that is not locked, and correct the locked ones by a record of today (admin settlements correct); nothing was changed.'
  throw new AppError('usage', [...sentences, rest].join('\n'))
}

function someCorrections(rows: readonly ChangedSettlements[]): readonly string[] {
  const named = rows.slice(0, CORRECTIONS_NAMED_MAX).map((row) => `  ${correctionOf(row)}`)
  const more = rows.length - named.length
  return more === 0
    ? named
    : [...named, `  and ${more} more validators: with --corrections the commands of all of them are printed`]
}

function dayText(day: DayNumber): string {
  return day <= 0 ? 'the start of all history' : formatDay(day)
}

function firstDayOf(change: SettlementChange): DayNumber {
  return change.kind === 'rate' ? dayOfInstant(change.fromSec) : change.fromDay
}

/** The part of a change before a day. */
function upTo(change: SettlementChange, day: DayNumber): SettlementChange {
  return change.kind === 'rate'
    ? { ...change, toSec: Math.min(change.toSec, dayStartSec(day)) }
    : { ...change, toDay: Math.min(change.toDay, day) }
}

/** One line for each account. */
function summaryOf(changed: readonly ChangedSettlements[]): readonly string[] {
  return [...Map.groupBy(changed, ({ account }) => account)].flatMap(([account, own]) => {
    const rows = own.reduce((sum, row) => sum + BigInt(row.rows), 0n)
    const [user, fee] = [
      own.reduce((sum, row) => sum + BigInt(row.user_wei), 0n),
      own.reduce((sum, row) => sum + BigInt(row.fee_wei), 0n),
    ]
    if (rows === 0n) return []
    const validators = new Set(own.map(({ pubkey }) => pubkey)).size
    return [
      `${account}: ${rows} settlement rows of ${validators} validators change, the user's share by ${signed(user)} wei ` +
        `(${formatEthFromWei(user)} ETH), the service fee by ${signed(fee)} wei (${formatEthFromWei(fee)} ETH).`,
    ]
  })
}

function correctionOf({ account, chain, pubkey, user_wei, fee_wei }: ChangedSettlements): string {
  const [user, fee] = [formatEthFromWei(BigInt(user_wei)), formatEthFromWei(BigInt(fee_wei))]
  return `admin settlements correct --account ${account} --chain ${chain} --user-reward=${user} --service-fee=${fee} --reason … ${pubkey}`
}

function signed(wei: bigint): string {
  return wei > 0n ? `+${wei}` : `${wei}`
}

/** Guards with what the setting has, its clock and its warehouse, and prints what is to be said before the change is made. */
export async function guardBy(setting: Setting, eventLog: EventLog, guarded: Change): Promise<void> {
  await using settled = settledOf(setting, eventLog)
  const print = (text: string) => setting.screen.print(text)
  const said = await guardSettled({ ...guarded, count: settled.count, now: nowSec(), print })
  if (said !== '') print(said)
}
