import { createHash } from 'node:crypto'
import type { BeaconBlock, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import {
  type ChainClock,
  epochOf,
  firstSlotOfDay,
  firstSlotOfEpoch,
  lastSlotOfEpoch,
  parseDay,
} from '../../schemas/eth/time.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import {
  beaconBlockEvents,
  hasExecutionBlock,
  missedSlotEvents,
  type NamedChain,
  timeOfSlot,
} from '../beacon-head/block-events.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import type { BuiltEpoch } from '../epochs/epoch-events.ts'
import { EPOCHS_AHEAD } from '../epochs/epoch-follower.ts'
import { EpochPipeline } from '../epochs/epoch-pipeline.ts'
import { TrackedValidators } from '../epochs/tracked-validators.ts'
import { HEAD_TOPICS, type HeadEvents, joinHeadEvents } from '../head/head-chain.ts'
import { inOrder } from '../in-order.ts'
import { refuseOtherExecution, refuseOtherNetwork } from '../right-nodes.ts'
import { loggedEpochs } from './logged-epochs.ts'

const DIGEST_CHARACTERS = 16
/** Execution blocks that are read at once. */
const BLOCKS_AHEAD = 16

/** Finalized epochs, both inclusive. */
export interface EpochRange {
  readonly fromEpoch: number
  readonly toEpoch: number
}

/**
 * The epochs of a range given as `slot:N`, `epoch:N` or `YYYY-MM-DD` (UTC+8), both ends inclusive. An epoch that the range
 * only touches belongs to it. A day ends with the epoch of the next day's first slot: that one brings its closing balances.
 * Throws AppError `usage`.
 */
export function parseBackfillRange(
  range: { readonly from: string; readonly to: string },
  clock: ChainClock,
): EpochRange {
  refuseEndBeforeStart(range)
  const fromEpoch = parseEnd('--from', range.from, clock).first
  const toEpoch = parseEnd('--to', range.to, clock).last
  if (fromEpoch <= toEpoch) return { fromEpoch, toEpoch }
  throw new AppError(
    'usage',
    `--from ${range.from} (epoch ${fromEpoch}) lies after --to ${range.to} (epoch ${toEpoch}): exchange them.`,
  )
}

/** As far as it can be told without a clock: of two dates, two epochs or two slots. Throws AppError `usage`. */
export function refuseEndBeforeStart(range: { readonly from: string; readonly to: string }): void {
  const [from, to] = [placeOf('--from', range.from), placeOf('--to', range.to)]
  if (from.unit !== to.unit || from.number <= to.number) return
  throw new AppError('usage', `--from ${range.from} lies after --to ${range.to}: exchange them.`)
}

type Place = { readonly unit: 'slot' | 'epoch' | 'day'; readonly number: number }

function placeOf(option: string, text: string): Place {
  const [, unit, digits] = /^(slot|epoch):(\d{1,15})$/.exec(text) ?? []
  if (unit === 'slot' || unit === 'epoch') return { unit, number: Number(digits) }
  const day = parseDay(text)
  if (day !== undefined) return { unit: 'day', number: day }
  throw new AppError(
    'usage',
    `${option} is not a slot, an epoch or a date: ${JSON.stringify(text)}; e.g. ${option} epoch:1000, ${option} slot:32000, ${option} 2026-01-31, or for blocks alone ${option} block:1000.`,
  )
}

function parseEnd(option: string, text: string, clock: ChainClock): { readonly first: number; readonly last: number } {
  const { unit, number } = placeOf(option, text)
  if (unit !== 'day') {
    const epoch = unit === 'slot' ? epochOf(clock, number) : number
    return { first: epoch, last: epoch }
  }
  const nextDaySlot = firstSlotOfDay(clock, number + 1)
  if (nextDaySlot === 0) throw new AppError('usage', `${option} ${text} lies before the chain's first day.`)
  return { first: epochOf(clock, firstSlotOfDay(clock, number)), last: epochOf(clock, nextDaySlot) }
}

export interface BackfillOptions extends ChainLog {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
  readonly log: Log
  readonly concurrency?: number
  /** Epochs of the range that are in the log. */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
  readonly outageWaitMs?: number
  /** How long nodes may say that they do not have something final before that is believed. */
  readonly goneAfterMs?: number
}

/** A node that was just started, or changes over, may not have for a moment what it has: longer than that it does not. */
const GONE_AFTER_MS = 30_000

/** What a backfill has done. */
export interface Backfilled {
  /** Epochs that were read from the node and are in the log now. */
  readonly ingested: number
  /** Epochs that were in the log for all tracked validators before. */
  readonly skipped: number
  readonly validators: number
}

/**
 * Ingests those finalized epochs of a range, with their blocks, that the log does not have for all validators that are tracked
 * now. Resolves when the range is in the log, or with undefined when the signal aborts. Throws AppError `usage` for a range that
 * is not final, or lies before Altair, or of which no node has the states, `config` when the log tells of another chain of this
 * name, `lease_lost` when another process writes.
 */
export async function backfill(
  options: BackfillOptions,
  range: EpochRange,
  signal: AbortSignal,
): Promise<Backfilled | undefined> {
  const what = `the backfill of ${options.chain}`
  const retry = { log: options.log, signal, what, firstMs: options.outageWaitMs }
  const opened = await retryWithBackoff(retry, () => openBackfill(options, range, signal))
  if (opened === undefined) return undefined
  const { run, done } = opened
  await retryWithBackoff(retry, refuseWhatIsGone(run, { done, goneAfterMs: options.goneAfterMs ?? GONE_AFTER_MS }))
  return signal.aborted ? undefined : done()
}

/** What is final is not still to come: nodes that keep saying that they do not have it no longer have it. */
function refuseWhatIsGone(
  run: () => Promise<void>,
  { done, goneAfterMs }: { readonly done: () => Backfilled; readonly goneAfterMs: number },
): () => Promise<void> {
  let missing: { readonly sinceMs: number; readonly ingested: number } | undefined
  return async () => {
    try {
      await run()
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'node_lagging')) throw error
      const { ingested } = done()
      if (missing?.ingested !== ingested) missing = { sinceMs: performance.now(), ingested }
      if (performance.now() - missing.sinceMs < goneAfterMs) throw error
      throw new AppError(
        'usage',
        `The states of this range are gone: ${error.message}. A backfill needs an archive node, one that keeps all states; ${ingested} epochs were ingested, and with such a node the same command goes on behind them.`,
        { cause: error },
      )
    }
  }
}

async function openBackfill(options: BackfillOptions, range: EpochRange, signal: AbortSignal) {
  const { beacon, writer, onProgress, concurrency = EPOCHS_AHEAD } = options
  const { fromEpoch, toEpoch } = range
  const chain = await beacon.chain()
  refuseOtherNetwork(options.chain, chain)
  await refuseOtherExecution(options.chain, chain, options.execution)
  const named = { name: options.chain, clock: chain.clock }
  let checkpoint = await beacon.finalized()
  refuseUnfinal(toEpoch, checkpoint.epoch)
  const tracked = await TrackedValidators.open({ ...options, clock: chain.clock }, signal)
  const { pubkeys, indices } = await tracked.refresh(
    beacon.finalChain(checkpoint),
    firstSlotOfEpoch(chain.clock, checkpoint.epoch),
    signal,
  )
  const name = `backfill:${fromEpoch}:${toEpoch}:${digestOf(pubkeys)}`
  const cursor = new Cursor({ ...options, name, identity: formatBeaconIdentity(chain) })
  let next = (await cursor.read(signal))?.next ?? fromEpoch
  const { present, unreadable } = await loggedEpochs({ ...options, clock: chain.clock, signal }, range, indices)
  const isMissing = (epoch: number): boolean => unreadable.has(epoch) || (epoch >= next && !present.has(epoch))
  const missing = Array.from({ length: toEpoch - fromEpoch + 1 }, (_, i) => fromEpoch + i).filter(isMissing)
  let ingested = 0
  const pipeline = new EpochPipeline({
    beacon,
    chain,
    chainName: options.chain,
    log: options.log,
    tracked,
    concurrency,
  })
  const total = toEpoch - fromEpoch + 1
  const skipped = total - missing.length
  const report = () => onProgress?.({ done: skipped + ingested, total })
  const append = async (built: BuiltEpoch) => {
    const blocks = await eventsOfBlocks(options, named, built)
    for (const topic of HEAD_TOPICS) if (blocks[topic].length > 0) await writer.append(topic, blocks[topic])
    await writer.append('beacon.epochs', built.events)
    next = built.epoch + 1
    ingested++
    await cursor.write({ next }, timeOfSlot(named, lastSlotOfEpoch(chain.clock, built.epoch)))
    report()
  }
  return {
    done: (): Backfilled => ({ ingested, skipped, validators: pubkeys.size }),
    async run(): Promise<void> {
      report()
      for (const { from, to } of stretchesOf(missing.slice(ingested))) {
        try {
          await pipeline.run({ from, to, checkpoint }, append, signal)
        } catch (error) {
          // The next try must not begin with a checkpoint that no node vouches for any more.
          const now = await beacon.finalized().catch(() => checkpoint)
          if (toEpoch < now.epoch) checkpoint = now
          throw error
        }
        if (signal.aborted) return
      }
    },
  }
}

/** Ascending numbers as ranges without gaps. */
function stretchesOf(numbers: readonly number[]): readonly { readonly from: number; readonly to: number }[] {
  const stretches: { readonly from: number; to: number }[] = []
  for (const number of numbers) {
    const last = stretches.at(-1)
    if (last?.to === number - 1) last.to = number
    else stretches.push({ from: number, to: number })
  }
  return stretches
}

function refuseUnfinal(toEpoch: number, finalizedEpoch: number): void {
  if (toEpoch < finalizedEpoch) return
  const last = finalizedEpoch - 1
  throw new AppError(
    'usage',
    `epoch ${toEpoch} is not final yet: ${last < 0 ? 'no epoch is' : `the last final one is ${last} (--to epoch:${last})`}.`,
  )
}

/** Names a set of validators: a range that was ingested for fewer of them has to be ingested again. */
function digestOf(pubkeys: ReadonlySet<string>): string {
  const hash = createHash('sha256')
  for (const pubkey of [...pubkeys].sort()) hash.update(pubkey)
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS)
}

/** The epoch's blocks as the head follower would have written them. */
async function eventsOfBlocks(
  { execution }: BackfillOptions,
  chain: NamedChain,
  { epoch, blocks }: BuiltEpoch,
): Promise<HeadEvents> {
  const parts: HeadEvents[] = []
  const range = { from: 0, to: blocks.length - 1, concurrency: BLOCKS_AHEAD }
  const whole = inOrder(range, async (i) => {
    const block = blocks[i] as BeaconBlock
    const hash = block.executionBlockHash
    return { block, payload: hasExecutionBlock(block) ? await execution.blockByHash(hash) : undefined }
  })
  let next = Math.max(1, firstSlotOfEpoch(chain.clock, epoch))
  for await (const { block, payload } of whole) {
    parts.push(missedSlotEvents(chain, next, block.slot), beaconBlockEvents(chain, block, payload))
    next = block.slot + 1
  }
  parts.push(missedSlotEvents(chain, next, lastSlotOfEpoch(chain.clock, epoch) + 1))
  return joinHeadEvents(parts)
}
