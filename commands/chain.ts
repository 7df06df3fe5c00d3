import { chainByName } from '../infra/config/select-chain.ts'
import { openEventLog } from '../infra/open-ports.ts'
import { CHAIN_NAME_PATTERN } from '../schemas/chains.ts'
import { AppError } from '../schemas/errors.ts'
import { formatInstant } from '../schemas/eth/time.ts'
import { encodeEvent } from '../schemas/events/codec.ts'
import { CHAINLESS_TOPICS, TOPICS } from '../schemas/events/envelope.ts'
import { chainRemoved, LOG_FACTS_KEY } from '../schemas/events/log-facts.ts'
import { refuseChainOutsideLog } from './chain-in-log.ts'
import { ingestLease } from './ingest-role.ts'
import { nowSec, type Setting } from './setting.ts'

/**
 * Takes a chain out of the log's meaning: its events so far no longer count, processors drop its rows, and if it is added again
 * it begins anew. Waits for its ingester to end; other chains are not touched.
 */
export async function removeChain({ config, log, screen, signal }: Setting, chain: string): Promise<void> {
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
