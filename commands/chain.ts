import { chainByName } from '../infra/config/select-chain.ts'
import { openEventLog } from '../infra/open-ports.ts'
import type { AccountBook } from '../schemas/account-book.ts'
import { CHAIN_NAME_PATTERN } from '../schemas/chains.ts'
import { AppError } from '../schemas/errors.ts'
import { formatDay, formatInstant } from '../schemas/eth/time.ts'
import { encodeEvent } from '../schemas/events/codec.ts'
import { CHAINLESS_TOPICS, TOPICS } from '../schemas/events/envelope.ts'
import { chainRemoved, LOG_FACTS_KEY } from '../schemas/events/log-facts.ts'
import { FIRST_DAY } from '../schemas/ownership.ts'
import { ACCOUNTS_LEASE, readBook } from './admin/account-facts.ts'
import { refuseChainOutsideLog } from './chain-in-log.ts'
import { ingestLease } from './ingest-role.ts'
import { nowSec, type Setting } from './setting.ts'

/**
 * Takes a chain out of the log's meaning: its events so far no longer count, processors drop its rows, and if it is added again
 * it begins anew. Waits for its ingester to end; other chains are not touched. Locked settlements are a promise: they go only where
 * that is asked for.
 */
export async function removeChain(
  { config, log, screen, signal }: Setting,
  chain: string,
  { evenLocked }: { readonly evenLocked: boolean },
): Promise<void> {
  if (!new RegExp(CHAIN_NAME_PATTERN).test(chain)) {
    throw new AppError(
      'usage',
      `${JSON.stringify(chain)} is not the name of a chain, e.g. scroll_mainnet; nothing was removed.`,
    )
  }
  if (chainByName(config, chain)?.paused === false) {
    throw new AppError(
      'usage',
      `${chain} is still configured: pause it (paused: true) or take it out of the configuration first; nothing was removed.`,
    )
  }
  await using eventLog = await openEventLog(config, log)
  await refuseChainOutsideLog(eventLog, chain, 'nothing was removed', signal)
  await using _writer = await eventLog.lease(ingestLease(chain), signal)
  await using _noLocks = await eventLog.lease(ACCOUNTS_LEASE, signal) // a day that is locked meanwhile would be gone
  if (!evenLocked) refuseLocked(await readBook(eventLog, signal), chain)
  const before: Record<string, Record<string, string>> = {}
  for (const topic of TOPICS.filter((one) => !CHAINLESS_TOPICS.has(one))) {
    const ends = await eventLog.ends(topic)
    before[topic] = Object.fromEntries([...ends].map(([partition, end]) => [String(partition), String(end)]))
  }
  const time = formatInstant(Math.floor(nowSec()))
  await eventLog.append('log', [
    encodeEvent(chainRemoved, {
      id: `log.chain-removed:${chain}:${time}`,
      key: LOG_FACTS_KEY,
      time,
      data: { chain, before },
    }),
  ])
  screen.print(`${chain} was removed: its tables are emptied by the next process that reads the log.\n`)
}

/** Throws AppError `usage` where an account had validators of the chain on a day whose settlements are locked. */
function refuseLocked(book: AccountBook, chain: string): void {
  const sentences = book.accounts().flatMap((account) => {
    const through = book.lockedThrough(account)
    if (through === undefined) return []
    const days = [...(book.ownership.keysOf(account).get(chain) ?? [])]
      .flatMap((pubkey) => book.ownership.ownersOf(chain, pubkey))
      .flatMap((owned) => (owned.account === account ? [owned.fromDay] : []))
    const fromDay = days.reduce((first, day) => Math.min(first, day), Number.POSITIVE_INFINITY)
    if (fromDay > through) return []
    const since = fromDay === FIRST_DAY ? 'the start of all history' : formatDay(fromDay)
    // A lock of an earlier release has kept nothing.
    const isKept = book.keptThrough(account) === through
    const what = isKept
      ? `what it was settled of ${chain} from ${since} on stays as it was recorded, and no block would be there that proves it.`
      : `those of its validators of ${chain} would be gone from ${since} on.`
    return [`The settlements of ${account} are locked through ${formatDay(through)}, and ${what}`]
  })
  if (sentences.length === 0) return
  throw new AppError('usage', [...sentences, 'With --even-locked the chain is removed; nothing was.'].join('\n'))
}
