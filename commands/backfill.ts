import { selectChain } from '../infra/config/select-chain.ts'
import type { ChainConfig } from '../infra/config/types.ts'
import { openEventLog } from '../infra/open-ports.ts'
import { backfill, parseBackfillRange, refuseEndBeforeStart } from '../ingest/backfill/backfill.ts'
import { type BlockRange, backfillBlocks, parseBlockRange } from '../ingest/execution/block-backfill.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import { AppError } from '../schemas/errors.ts'
import { formatBeaconIdentity } from '../schemas/eth/chain-identity.ts'
import { devnetUrls, openChainNodes } from './chain-nodes.ts'
import { nowSec, type Setting } from './setting.ts'

interface RangeOptions {
  readonly from: string
  readonly to: string
  readonly chain?: string
}

const INTERRUPTED = 'The backfill was interrupted: run it again with the same range, it goes on where it was.'

/**
 * Brings a chain's past into the log: a range of blocks, or finalized epochs with what they paid every validator that is tracked on
 * the chain.
 */
export async function runBackfill(setting: Setting, range: RangeOptions): Promise<void> {
  const blocks = parseBlockRange(range)
  if (blocks === undefined) await fillEpochs(setting, range)
  else await fillBlocks(setting, blocks, range.chain)
}

/** A chain's nodes, the log, and the right to fill the chain; all of it closes with `open`. */
async function openChainOf({ config, log, signal }: Setting, chain: ChainConfig, open: AsyncDisposableStack) {
  const eventLog = open.use(await openEventLog(config, log))
  const { beacon, execution } = open.use(await openChainNodes(chain, { devnet: devnetUrls(config), log }, signal))
  const { unnamedChain } = await openLogFacts(eventLog, nowSec(), signal)
  // Beside the live ingester, which writes other blocks and epochs: two backfills of one chain wait for each other.
  const lease = async () => open.use(await eventLog.lease(`backfill:${chain.names.name}`, signal))
  return { eventLog, beacon, execution, unnamedChain, lease }
}

async function fillBlocks(setting: Setting, range: BlockRange, name?: string): Promise<void> {
  const { config, log, screen, signal } = setting
  const chain = selectChain(config, name)
  const { name: chainName } = chain.names
  await using open = new AsyncDisposableStack()
  const { eventLog, beacon, execution, unnamedChain, lease } = await openChainOf(setting, chain, open)
  const writer = await lease()
  using progress = screen.openProgress()
  const startMs = performance.now()
  const done = await backfillBlocks(
    {
      chain: chainName,
      writer,
      eventLog,
      unnamedChain,
      execution,
      log,
      ...(beacon === undefined ? {} : { identity: formatBeaconIdentity(await beacon.chain()) }),
      finalityDepth: chain.source.kind === 'execution' ? chain.source.finalityDepth : undefined,
      onProgress: (blocks) => progress.update('backfill', { ...blocks, note: 'blocks' }),
    },
    range,
    signal,
  )
  if (done === undefined) throw new AppError('usage', INTERRUPTED)
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  screen.print(
    `${chainName}, blocks ${range.fromBlock} to ${range.toBlock}: ${done.ingested} ingested, ` +
      `${done.skipped} were in the log already; ${seconds} s.\n`,
  )
}

async function fillEpochs(setting: Setting, range: RangeOptions): Promise<void> {
  const { config, log, screen, signal } = setting
  refuseEndBeforeStart(range) // before a node is asked for its clock
  const chain = selectChain(config, range.chain, 'beacon')
  const { name } = chain.names
  await using open = new AsyncDisposableStack()
  const { eventLog, beacon, execution, unnamedChain, lease } = await openChainOf(setting, chain, open)
  if (beacon === undefined) throw new Error('a chain with a beacon chain has beacon nodes')
  const epochs = parseBackfillRange(range, (await beacon.chain()).clock)
  const writer = await lease()
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
  if (done === undefined) throw new AppError('usage', INTERRUPTED)
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  screen.print(
    `${name}, epochs ${epochs.fromEpoch} to ${epochs.toEpoch}: ${done.ingested} ingested for ${done.validators} validators, ` +
      `${done.skipped} were in the log already; ${seconds} s.\n`,
  )
}
