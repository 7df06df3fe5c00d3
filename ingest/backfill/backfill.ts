import { createHash } from 'node:crypto'
import type { BeaconBlock, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import {
  type ChainClock,
  epochOf,
  firstSlotOfDay,
  firstSlotOfEpoch,
  lastSlotOfEpoch,
  parseDay,
} from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { blockEvents, hasExecutionBlock, missedSlotEvents } from '../beacon-head/head-log.ts'
import { Cursor } from '../cursors.ts'
import type { BuiltEpoch } from '../epochs/epoch-events.ts'
import { EPOCHS_AHEAD } from '../epochs/epoch-follower.ts'
import { EpochPipeline } from '../epochs/epoch-pipeline.ts'
import { TrackedValidators } from '../epochs/tracked-validators.ts'
import { inOrder } from '../in-order.ts'
import { withPatience } from '../retry.ts'

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
  const fromEpoch = parseEnd('--from', range.from, clock).first
  const toEpoch = parseEnd('--to', range.to, clock).last
  if (fromEpoch <= toEpoch) return { fromEpoch, toEpoch }
  throw new AppError(
    'usage',
    `--from ${range.from} (epoch ${fromEpoch}) lies after --to ${range.to} (epoch ${toEpoch}): exchange them.`,
  )
}

function parseEnd(option: string, text: string, clock: ChainClock): { readonly first: number; readonly last: number } {
  const numbered = /^(slot|epoch):(\d{1,15})$/.exec(text)
  if (numbered !== null) {
    const number = Number(numbered[2])
    const epoch = numbered[1] === 'slot' ? epochOf(clock, number) : number
    return { first: epoch, last: epoch }
  }
  const day = parseDay(text)
  if (day === undefined) {
    throw new AppError(
      'usage',
      `${option} is not a slot, an epoch or a date: ${JSON.stringify(text)}; e.g. ${option} epoch:1000, ${option} slot:32000 or ${option} 2026-01-31.`,
    )
  }
  const nextDaySlot = firstSlotOfDay(clock, day + 1)
  if (nextDaySlot === 0) throw new AppError('usage', `${option} ${text} lies before the chain's first day.`)
  return { first: epochOf(clock, firstSlotOfDay(clock, day)), last: epochOf(clock, nextDaySlot) }
}

export interface BackfillOptions {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
  readonly eventLog: EventLog
  readonly network: string
  readonly log: Log
  readonly concurrency?: number
  /** Epochs of the range that are in the log. */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
  readonly outageWaitMs?: number
}

/**
 * Ingests finalized epochs of the past with their blocks, for all validators that are tracked now; goes on where an earlier
 * run of the same range for the same validators was interrupted. Resolves when the range is in the log or the signal
 * aborts. Throws AppError `usage` for a range that is not final, or lies before Altair.
 */
export async function backfill(options: BackfillOptions, range: EpochRange, signal: AbortSignal): Promise<void> {
  const patience = { log: options.log, signal, what: 'the backfill', firstMs: options.outageWaitMs }
  const run = await withPatience(patience, () => openBackfill(options, range, signal))
  if (run !== undefined) await withPatience(patience, run)
}

async function openBackfill(options: BackfillOptions, range: EpochRange, signal: AbortSignal) {
  const { beacon, eventLog, network, onProgress } = options
  const { fromEpoch, toEpoch } = range
  const chain = await beacon.chain()
  const checkpoint = await beacon.finalized()
  if (toEpoch >= checkpoint.epoch) {
    const last = checkpoint.epoch - 1
    throw new AppError(
      'usage',
      `epoch ${toEpoch} is not final yet: ${last < 0 ? 'no epoch is' : `the last final one is ${last} (--to epoch:${last})`}.`,
    )
  }
  const tracked = await TrackedValidators.open({ beacon, eventLog, chain }, signal)
  const { pubkeys } = await tracked.refresh(firstSlotOfEpoch(chain.clock, checkpoint.epoch), signal)
  const cursor = new Cursor(eventLog, `backfill:${fromEpoch}:${toEpoch}:${digestOf(pubkeys)}`, chain)
  let next = (await cursor.read(signal))?.next ?? fromEpoch
  const concurrency = options.concurrency ?? EPOCHS_AHEAD
  const pipeline = new EpochPipeline({ beacon, chain, tracked, network, concurrency })
  const tell = () => onProgress?.({ done: next - fromEpoch, total: toEpoch - fromEpoch + 1 })
  const take = async (built: BuiltEpoch) => {
    const { execution, logs, beacon: blocks } = await eventsOfBlocks(options, built)
    await eventLog.append('execution.logs', logs)
    await eventLog.append('execution.blocks', execution)
    await eventLog.append('beacon.blocks', blocks)
    await eventLog.append('beacon.epochs', built.events)
    next = built.epoch + 1
    await cursor.write({ next }, lastSlotOfEpoch(chain.clock, built.epoch))
    tell()
  }
  return async () => {
    tell()
    await pipeline.run({ from: next, to: toEpoch, checkpoint }, take, signal)
  }
}

/** Names a set of validators: a range that was ingested for fewer of them has to be ingested again. */
function digestOf(pubkeys: ReadonlySet<string>): string {
  const hash = createHash('sha256')
  for (const pubkey of [...pubkeys].sort()) hash.update(pubkey)
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS)
}

/** The epoch's blocks as the head follower would have written them. */
async function eventsOfBlocks({ beacon, execution }: BackfillOptions, { epoch, blocks }: BuiltEpoch) {
  const chain = await beacon.chain()
  const events: Record<'beacon' | 'execution' | 'logs', EncodedEvent[]> = { beacon: [], execution: [], logs: [] }
  const range = { from: 0, to: blocks.length - 1, aheadMax: BLOCKS_AHEAD }
  const whole = inOrder(range, async (i) => {
    const block = blocks[i] as BeaconBlock
    const hash = block.executionBlockHash
    return { block, execution: hasExecutionBlock(block) ? await execution.blockByHash(hash) : undefined }
  })
  let firstMissedSlot = Math.max(1, firstSlotOfEpoch(chain.clock, epoch))
  for await (const { block, execution: payload } of whole) {
    const ofBlock = blockEvents(chain, { block, execution: payload }, firstMissedSlot)
    events.beacon.push(...ofBlock.beacon)
    events.execution.push(...ofBlock.execution)
    events.logs.push(...ofBlock.logs)
    firstMissedSlot = block.slot + 1
  }
  events.beacon.push(...missedSlotEvents(chain, firstMissedSlot, lastSlotOfEpoch(chain.clock, epoch) + 1))
  return events
}
