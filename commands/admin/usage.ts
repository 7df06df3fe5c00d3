import type { UsageSums } from '../../api/account/usage-sums.ts'
import { openWarehouseAsItIs } from '../../infra/open-ports.ts'
import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, dayOfInstant, dayStartSec } from '../../schemas/eth/time.ts'
import { askRunning } from '../running-program.ts'
import { nowSec, type Setting } from '../setting.ts'
import { summedUsage, type UsageQuestion } from '../summed-usage.ts'
import { checkedAccount, checkedDay, readAccountBook } from './account-facts.ts'
import { knownAccount } from './known-account.ts'

interface UsageOptions {
  readonly account?: string
  readonly from?: string
  readonly to?: string
  readonly json: boolean
}

/**
 * Prints what keys were used for, of one account if it is given, by account and network, in whole days of the service. Throws AppError
 * `usage` for an account that nobody has made, and for days that end before they begin.
 */
export async function showUsage(setting: Setting, options: UsageOptions): Promise<void> {
  const { screen } = setting
  const rows = await readRows(setting, await toQuestion(setting, options))
  if (options.json) screen.print(`${JSON.stringify(rows.map(toLine), null, 2)}\n`)
  else screen.print(rows.length === 0 ? 'Nothing was called in these days.\n' : formatTable(rows))
}

async function toQuestion(setting: Setting, { account, from, to }: UsageOptions): Promise<UsageQuestion> {
  if (account !== undefined) knownAccount(await readAccountBook(setting), checkedAccount(account))
  const today = dayOfInstant(nowSec())
  const first = from === undefined ? today : checkedDay(from, '--from')
  const last: DayNumber = to === undefined ? Math.max(first, today) : checkedDay(to, '--to')
  if (last < first) throw new AppError('usage', '--to is before --from, which is today unless it is said.')
  const days = { fromSec: Math.max(0, dayStartSec(first)), toSec: dayStartSec(last + 1) }
  return { command: 'usage', ...days, ...(account === undefined ? {} : { account }) }
}

/** One process has the embedded warehouse: it is asked where it runs. */
async function readRows({ config, signal }: Setting, question: UsageQuestion): Promise<readonly UsageSums[]> {
  const rows: UsageSums[] = []
  if (await askRunning(config, question, { print: (line) => void rows.push(JSON.parse(line)), signal })) return rows
  await using warehouse = await openWarehouseAsItIs(config)
  return await summedUsage(warehouse, question) // before it is closed
}

function toLine({ account, item }: UsageSums) {
  const { blockchain, calls, success_rate, average_ms, billed, request_bytes, answer_bytes, pushes } = item
  return { account, blockchain, calls, success_rate, average_ms, billed, request_bytes, answer_bytes, pushes }
}

const TITLES = ['account', 'blockchain', 'calls', 'success', 'average', 'billed', 'bytes in', 'bytes out']
/** Texts; numbers are on the right. */
const LEFT_COLUMNS = 2

function formatTable(rows: readonly UsageSums[]): string {
  const lines = [TITLES, ...rows.map(toCells)]
  const widths = TITLES.map((_, column) => lines.reduce((most, cells) => Math.max(most, cells[column]?.length ?? 0), 0))
  const pad = (cell: string, column: number): string =>
    column < LEFT_COLUMNS ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return lines.map((cells) => `${cells.map(pad).join('  ')}\n`).join('')
}

function toCells(row: UsageSums): readonly string[] {
  const { account, blockchain, calls, success_rate, average_ms, billed, request_bytes, answer_bytes } = toLine(row)
  return [
    ...[account ?? '', blockchain ?? '', String(calls)],
    // Pushes come without calls.
    success_rate === null ? '-' : `${(100 * success_rate).toFixed(2)} %`,
    average_ms === null ? '-' : `${average_ms.toFixed(1)} ms`,
    ...[billed, request_bytes, answer_bytes].map(String),
  ]
}
