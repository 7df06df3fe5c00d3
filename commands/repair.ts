import { selectChain } from '../infra/config/select-chain.ts'
import { openEventLog } from '../infra/open-ports.ts'
import type { EventLog, Lease } from '../infra/ports/event-log.ts'
import type { Screen } from '../infra/screen.ts'
import { type Damage, findDamage } from '../ingest/repair/find-damage.ts'
import { firstDayOf, repair } from '../ingest/repair/repair.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import type { AccountBook } from '../schemas/account-book.ts'
import { AppError } from '../schemas/errors.ts'
import { dayOfSlot, firstSlotOfEpoch, formatDay } from '../schemas/eth/time.ts'
import { ACCOUNTS_LEASE, readBook } from './admin/account-facts.ts'
import { devnetUrls, openChainNodes } from './chain-nodes.ts'
import { ingestLease } from './ingest-role.ts'
import { nowSec, type Setting } from './setting.ts'

/** After so long it is told whom a command waits for. */
const TELL_WAIT_MS = 1_000

export interface RepairOptions {
  readonly chain?: string
  readonly fromEpoch?: string
  readonly yes: boolean
  /** Changes settlements of locked days too. */
  readonly evenLocked: boolean
}

/**
 * Takes back what a log has of a chain and the final chain has not: finalized epochs, and blocks of the head that finality has
 * passed by. Tells what it would do, and does it with `--yes` only.
 */
export async function runRepair(setting: Setting, options: RepairOptions): Promise<void> {
  const { config, log, screen, signal } = setting
  const fromEpoch = parseEpoch(options.fromEpoch)
  const chain = selectChain(config, options.chain, 'beacon')
  const { name } = chain.names
  await using open = new AsyncDisposableStack()
  const eventLog = open.use(await openEventLog(config, log))
  const { beacon } = open.use(await openChainNodes(chain, { devnet: devnetUrls(config), log }, signal))
  if (beacon === undefined) throw new Error('a chain with a beacon chain has beacon nodes')
  const writer = open.use(await aloneWith(eventLog, ingestLease(name), { name, screen, signal }))
  open.use(await aloneWith(eventLog, `backfill:${name}`, { name, screen, signal }))
  open.use(await eventLog.lease(ACCOUNTS_LEASE, signal)) // a day that is locked meanwhile would keep what is being taken back
  const { unnamedChain } = await openLogFacts(eventLog, nowSec(), signal)
  const damage = await findDamage({ chain: name, eventLog, unnamedChain, beacon }, fromEpoch, signal)
  if (!damage.areEpochsWrong && damage.headBlocks.length === 0) {
    throw new AppError(
      'usage',
      `Epochs ${damage.fromEpoch} to ${damage.toEpoch} of ${name} in the log are those of the final chain: there is nothing to repair.`,
    )
  }
  for (const line of linesOf(name, damage)) screen.print(`${line}\n`)
  if (damage.areEpochsWrong && !options.evenLocked) refuseLocked(await readBook(eventLog, signal), damage)
  if (!options.yes) throw new AppError('usage', 'Nothing was changed: run it again with --yes.')
  await repair({ chain: name, writer, eventLog, unnamedChain }, damage, nowSec(), signal)
  screen.print(`${name} was repaired: start the program, which reads again what was taken back.\n`)
}

function parseEpoch(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw new AppError('usage', `--from-epoch is not an epoch: ${JSON.stringify(text)}; e.g. --from-epoch 1000.`)
}

/** Locked settlements are a promise, which only who has made it may break. */
function refuseLocked(book: AccountBook, { chain, fromEpoch }: Damage): void {
  const firstDay = dayOfSlot(chain.clock, firstSlotOfEpoch(chain.clock, fromEpoch))
  const locked = book.locks().find(({ through }) => through >= firstDay)
  if (locked === undefined) return
  throw new AppError(
    'usage',
    `The settlements of ${locked.account} are locked through ${formatDay(locked.through)}, and days from ${formatDay(firstDay)} on would be read ` +
      `again: ${locked.keeps ? 'recorded settlements stay, and get corrections beside them' : 'their settlements would be others'}. With --even-locked they are read; nothing was changed.`,
  )
}

/** What was found, and what taking it back means. */
function linesOf(name: string, damage: Damage): readonly string[] {
  const { fromEpoch, toEpoch, orphaned, lacking, areEpochsWrong, headBlocks } = damage
  const [first] = headBlocks
  const heads =
    first === undefined
      ? []
      : [
          `${name}: ${headBlocks.length} blocks from slot ${first.height} on are reverted, and the head is followed again from there.`,
        ]
  if (!areEpochsWrong) return heads
  const gone =
    lacking.length === 0
      ? []
      : [`${name}: ${lacking.length} epochs from ${lacking[0]} on were taken back before and never read again.`]
  const found = orphaned.length === 0 ? 'all are of' : `${orphaned.length} are not of`
  return [
    `${name}, epochs ${fromEpoch} to ${toEpoch} in the log: ${found} the final chain${orphaned[0] === undefined ? '' : `, the first is ${orphaned[0]}`}.`,
    ...gone,
    `All epochs from ${fromEpoch} on no longer count and are read again, for which the beacon node needs their states.`,
    `Figures of the UTC+8 days from ${formatDay(firstDayOf(damage))} on, and settlements of those days, are served again when that is done.`,
    ...heads,
  ]
}

/** Waits until nobody else holds the lease, and says so. */
async function aloneWith(
  eventLog: EventLog,
  lease: string,
  { name, screen, signal }: { readonly name: string; readonly screen: Screen; readonly signal: AbortSignal },
): Promise<Lease> {
  const telling = setTimeout(() => {
    screen.print(`Another process writes ${name}: this waits until it has ended, or the chain is paused.\n`)
  }, TELL_WAIT_MS)
  try {
    return await eventLog.lease(lease, signal)
  } finally {
    clearTimeout(telling)
  }
}
