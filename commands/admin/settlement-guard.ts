import { existsSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { openMigratedWarehouse } from '../../infra/open-ports.ts'
import { countChange } from '../../processors/settlements/count-change.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, dayOfInstant, dayStartSec, formatDay } from '../../schemas/eth/time.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import { NOBODY } from '../../schemas/ownership.ts'
import { ChangedSettlements, type SettlementChange } from '../../schemas/settlement-change.ts'
import { askRunning } from '../running-program.ts'
import { nowSec, type Setting } from '../setting.ts'

/** Validators that a sentence about locked days names, each with the command that corrects it. */
const CORRECTIONS_NAMED_MAX = 20

/** Counts what a change would do to what was settled; undefined where that cannot be known now. */
export type Counting = (change: SettlementChange) => Promise<readonly ChangedSettlements[] | undefined>

interface Guarded {
  readonly book: AccountBook
  readonly changes: readonly SettlementChange[]
  /** The operator has been told, or does not want to be. */
  readonly yes: boolean
  readonly count: Counting
  /** Unix seconds. */
  readonly now: number
}

/**
 * What is to be said of a change before it is made; empty where nothing of it has been settled. Throws AppError `usage` where it
 * touches locked days, and, without `yes`, where it changes settlements or that cannot be counted: what was served is not changed
 * by the way.
 */
export async function guardSettled({ book, changes, yes, count, now }: Guarded): Promise<string> {
  const begun = changes.filter((change) => firstDayOf(change) <= dayOfInstant(now))
  await refuseLocked(book, begun, count)
  const counted: ChangedSettlements[] = []
  let isCounted = true
  for (const change of begun) {
    const rows = await count(change)
    if (rows === undefined) isCounted = false
    else counted.push(...rows)
  }
  if (!isCounted) {
    if (yes) return 'What this changes of settlements could not be counted.\n'
    throw new AppError(
      'usage',
      'This may change settlements that were served, and how many cannot be counted now: the warehouse is not there, or in use by a ' +
        'program that cannot be asked. Stop it to have them counted, or say --yes; nothing was changed.',
    )
  }
  const lines = summaryOf(counted)
  if (lines.length === 0) return ''
  if (yes) return `${lines.join('\n')}\n`
  throw new AppError('usage', [...lines, 'Say --yes to change that; nothing was changed.'].join('\n'))
}

async function refuseLocked(book: AccountBook, changes: readonly SettlementChange[], count: Counting): Promise<void> {
  const sentences: string[] = []
  for (const change of changes) {
    for (const account of accountsOf(change)) {
      const through = book.lockedThrough(account)
      if (through === undefined || firstDayOf(change) > through) continue
      sentences.push(
        `The settlements of ${account} are locked through ${formatDay(through)}, and this would change them from ${dayText(firstDayOf(change))} on.`,
      )
      const rows = (await count(upTo(change, through + 1)))?.filter((row) => row.account === account) ?? []
      sentences.push(...summaryOf(rows), ...rows.slice(0, CORRECTIONS_NAMED_MAX).map(correctionOf))
      if (rows.length > CORRECTIONS_NAMED_MAX)
        sentences.push(`  and ${rows.length - CORRECTIONS_NAMED_MAX} more validators`)
    }
  }
  if (sentences.length === 0) return
  const rest =
    'Name the first day that is not locked, and correct the locked ones by a record of today (admin settlements correct); nothing was changed.'
  throw new AppError('usage', [...new Set(sentences), rest].join('\n'))
}

function dayText(day: DayNumber): string {
  return day <= 0 ? 'the start of all history' : formatDay(day)
}

function accountsOf(change: SettlementChange): readonly string[] {
  const named = change.kind === 'rate' ? [change.account] : [change.from, change.to]
  return named.filter((account) => account !== NOBODY)
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
  return `  admin settlements correct --account ${account} --chain ${chain} --user-reward=${user} --service-fee=${fee} --reason … ${pubkey}`
}

function signed(wei: bigint): string {
  return wei > 0n ? `+${wei}` : `${wei}`
}

const isCounted = Compile(ChangedSettlements)

/** Counts in the warehouse, or asks the program that has it; where it cannot be asked, or there is none, nothing is known. */
function countingOf({ config, log, signal }: Setting): Counting & AsyncDisposable {
  const open = new AsyncDisposableStack()
  let opened: ReturnType<typeof openMigratedWarehouse> | undefined
  const count: Counting = async (change) => {
    try {
      const lines: string[] = []
      const asking = { print: (line: string) => void lines.push(line), signal }
      if (await askRunning(config, { command: 'count', change }, asking)) return lines.map(toCounted)
      if (config.mode.kind === 'embedded' && !existsSync(config.mode.warehouseDirectory)) return undefined
      opened ??= openMigratedWarehouse(config, log).then((warehouse) => open.use(warehouse))
      return await countChange(await opened, change)
    } catch (error) {
      if (error instanceof AppError && (error.code === 'usage' || error.retryable)) return undefined
      throw error
    }
  }
  return Object.assign(count, { [Symbol.asyncDispose]: () => open.disposeAsync() })
}

function toCounted(line: string): ChangedSettlements {
  const row: unknown = JSON.parse(line)
  if (isCounted.Check(row)) return row
  throw new AppError('usage', 'The program that holds this data folder is of another release.')
}

/** Guards with what the setting has, its clock and its warehouse, and prints what is to be said before the change is made. */
export async function guardBy(setting: Setting, guarded: Pick<Guarded, 'book' | 'changes' | 'yes'>): Promise<void> {
  await using count = countingOf(setting)
  const said = await guardSettled({ ...guarded, count, now: nowSec() })
  if (said !== '') setting.screen.print(said)
}
