import { selectChain } from '../infra/config/select-chain.ts'
import { openEventLog } from '../infra/open-ports.ts'
import { backfill, parseBackfillRange, refuseEndBeforeStart } from '../ingest/backfill/backfill.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import { AppError } from '../schemas/errors.ts'
import { devnetUrls, openChainNodes } from './chain-nodes.ts'
import { nowSec, type Setting } from './setting.ts'

/** Ingests finalized epochs of a chain's past for every validator that is tracked on it. */
export async function runBackfill(
  { config, log, screen, signal }: Setting,
  range: { readonly from: string; readonly to: string; readonly chain?: string },
): Promise<void> {
  refuseEndBeforeStart(range) // before a node is asked for its clock
  const chain = selectChain(config, range.chain, 'beacon')
  const { name } = chain.names
  await using open = new AsyncDisposableStack()
  const eventLog = open.use(await openEventLog(config, log))
  const { beacon, execution } = open.use(await openChainNodes(chain, { devnet: devnetUrls(config), log }, signal))
  if (beacon === undefined) throw new Error('a chain with a beacon chain has beacon nodes')
  const { unnamedChain } = await openLogFacts(eventLog, nowSec(), signal)
  const epochs = parseBackfillRange(range, (await beacon.chain()).clock)
  // Beside the live ingester, which writes other epochs: two backfills of one chain wait for each other.
  const writer = open.use(await eventLog.lease(`backfill:${name}`, signal))
  using progress = screen.openProgress()
  const startMs = performance.now()
  const done = await backfill(
    {
      chain: name,
      writer,
      eventLog,
      unnamedChain,
      beacon,
      execution,
      log,
      concurrency: config.concurrency,
      onProgress: (epochs) => progress.update('backfill', { ...epochs, note: 'epochs' }),
    },
    epochs,
    signal,
  )
  if (done === undefined) {
    throw new AppError(
      'usage',
      'The backfill was interrupted: run it again with the same range, it goes on where it was.',
    )
  }
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  screen.print(
    `${name}, epochs ${epochs.fromEpoch} to ${epochs.toEpoch}: ${done.ingested} ingested for ${done.validators} validators, ` +
      `${done.skipped} were in the log already; ${seconds} s.\n`,
  )
}
