import { selectChain } from '../infra/config/select-chain.ts'
import type { ChainConfig } from '../infra/config/types.ts'
import { openEventLog } from '../infra/open-ports.ts'
import { type BackfillOptions, backfill } from '../ingest/backfill/backfill.ts'
import { type EpochRange, parseBackfillRange, refuseEndBeforeStart } from '../ingest/backfill/epoch-range.ts'
import type { RangePlan } from '../ingest/backfill/range-plan.ts'
import { type BlockRange, backfillBlocks, parseBlockRange } from '../ingest/execution/block-backfill.ts'
import { BlockEvidenceReader } from '../ingest/execution/block-evidence.ts'
import { openLogFacts } from '../processors/loop/log-facts.ts'
import { AppError } from '../schemas/errors.ts'
import { formatBeaconIdentity } from '../schemas/eth/chain-identity.ts'
import { isAbortOf } from '../schemas/wait.ts'
import { devnetUrls, openChainNodes } from './chain-nodes.ts'
import { nowSec, type Setting } from './setting.ts'

interface RangeOptions {
  readonly from: string
  readonly to: string
  readonly chain?: string
  readonly plan: boolean
}

const INTERRUPTED = 'The backfill was interrupted: run it again with the same range, it goes on where it was.'

/**
 * Brings a chain's past into the log: a range of blocks, or finalized epochs with what they paid every validator that is tracked on
 * the chain.
 */
export async function runBackfill(setting: Setting, range: RangeOptions): Promise<void> {
  const blocks = parseBlockRange(range)
  if (blocks !== undefined && range.plan)
    throw new AppError('usage', '--plan tells what epochs take: it is for slot:N, epoch:N or dates.')
  await tellingToRunAgain(
    () => (blocks === undefined ? fillEpochs(setting, range) : fillBlocks(setting, blocks, range.chain)),
    setting.signal,
  )
}

/**
 * What was filled is in the log when the operator ends it, which closes what it works with, and when a lease is lost: where another process
 * fills the chain, and where a server of the log restarts.
 */
export async function tellingToRunAgain(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (isAbortOf(signal, error) || (signal.aborted && error instanceof AppError))
      throw new AppError('interrupted', INTERRUPTED, { cause: error })
    if (!(error instanceof AppError && error.code === 'lease_lost')) throw error
    throw new AppError('lease_lost', `${error.message}. Run it again, it goes on where it was.`)
  }
}

/** A chain's nodes, the log, and the right to fill the chain; all of it closes with `open`. */
async function openChainOf({ config, log, signal }: Setting, chain: ChainConfig, open: AsyncDisposableStack) {
  const eventLog = open.use(await openEventLog(config, log))
  const { beacon, execution, relays } = open.use(
    await openChainNodes(chain, { devnet: devnetUrls(config), log }, signal),
  )
  const { unnamedChain } = await openLogFacts(eventLog, nowSec(), signal)
  // Beside the live ingester, which writes other blocks and epochs: two backfills of one chain wait for each other.
  const lease = async () => open.use(await eventLog.lease(`backfill:${chain.names.name}`, signal))
  return { eventLog, beacon, execution, relays, unnamedChain, lease }
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
  if (done === undefined) throw new AppError('interrupted', INTERRUPTED)
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  screen.print(
    `${chainName}, blocks ${range.fromBlock} to ${range.toBlock}: ${done.ingested} ingested, ` +
      `${done.skipped} were in the log already; ${seconds} s.\n`,
  )
}

async function fillEpochs(setting: Setting, range: RangeOptions): Promise<void> {
  const { config } = setting
  refuseEndBeforeStart(range) // before a node is asked for its clock
  const chain = selectChain(config, range.chain, 'beacon')
  await using open = new AsyncDisposableStack()
  const { lease, ...filling } = await openFilling(setting, chain, open)
  const epochs = parseBackfillRange(range, (await filling.beacon.chain()).clock)
  await fillRange(setting, { ...filling, writer: await lease(), onlyPlan: range.plan }, epochs)
}

/** What epochs of a chain with a beacon chain are filled with. */
export async function openFilling(setting: Setting, chain: ChainConfig, open: AsyncDisposableStack) {
  const { beacon, relays, ...opened } = await openChainOf(setting, chain, open)
  if (beacon === undefined) throw new Error('a chain with a beacon chain has beacon nodes')
  const { log, config } = setting
  const filling = { ...opened, beacon, chain: chain.names.name, log, concurrency: config.concurrency }
  return { ...filling, evidence: new BlockEvidenceReader({ ...filling, relays }) }
}

/** Reads what the log lacks of a range, and says before and afterwards what that is. */
export async function fillRange(
  { screen, signal }: Setting,
  filling: BackfillOptions,
  range: EpochRange,
): Promise<void> {
  const { chain, onlyPlan } = filling
  const where = `${chain}, epochs ${range.fromEpoch} to ${range.toEpoch}`
  using progress = screen.openProgress()
  const startMs = performance.now()
  const done = await backfill(
    {
      ...filling,
      onPlan: (plan) => screen.print(`${where}: ${formatPlan(plan)}\n`),
      onProgress: (epochs) => progress.update('backfill', { ...epochs, note: 'epochs' }),
    },
    range,
    signal,
  )
  if (done === undefined) throw new AppError('interrupted', INTERRUPTED)
  if (onlyPlan === true) return
  const seconds = Math.round((performance.now() - startMs) / 1_000)
  const added = done.added === 0 ? '' : ` (${done.added} of them asked about validators alone that the log lacked)`
  screen.print(
    `${where}: ${done.ingested} ingested for ${done.validators} validators${added}, ${done.skipped} were in the log already; ${seconds} s.\n`,
  )
}

const BYTES_PER_GB = 1e9

/** What is going to be read, in a sentence. */
function formatPlan({ epochs, validators, probes, states }: RangePlan): string {
  if (epochs === 0) return 'the log has every epoch of the range.'
  const what = `${epochs} epochs are to be read for ${validators} validators`
  if (states !== undefined) {
    const { count, bytes } = states
    const size = bytes === undefined ? 'the node does not tell their size' : `${(bytes / BYTES_PER_GB).toFixed(2)} GB`
    return `${what}, computed from ${count} states: ${size}.`
  }
  const ways = probes.map(({ place, epoch, by }) => `epoch ${epoch}, the ${place}, by ${by}`)
  return ways.length === 0 ? `${what}.` : `${what}, told by reward endpoints where no states are: ${ways.join('; ')}.`
}
