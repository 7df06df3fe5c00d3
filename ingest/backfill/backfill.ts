import { createHash } from 'node:crypto'
import type { BeaconBlock } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { unknownFork } from '../../schemas/eth/unknown-fork.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import {
  beaconBlockEvents,
  missedSlotEvents,
  type NamedChain,
  readPayload,
  timeOfSlot,
} from '../beacon-head/block-events.ts'
import { Cursor } from '../cursor.ts'
import type { BuiltEpoch } from '../epochs/epoch-events.ts'
import { EPOCHS_AHEAD } from '../epochs/epoch-follower.ts'
import { EpochPipeline } from '../epochs/epoch-pipeline.ts'
import { isAmong } from '../epochs/registry-rows.ts'
import type { BlockEvidenceReader } from '../execution/block-evidence.ts'
import { HEAD_TOPICS, type HeadEvents, joinHeadEvents, NO_HEAD_EVENTS } from '../head/head-chain.ts'
import { inOrder } from '../in-order.ts'
import { epochsBeforeJoining } from './before-joining.ts'
import { type EpochRange, epochsOf, refuseUnfinal, refuseUnknownFork, stretchesOf } from './epoch-range.ts'
import { type HistoryOptions, openHistory } from './history.ts'
import { loggedBlocks } from './logged-blocks.ts'
import { loggedEpochs } from './logged-epochs.ts'
import { planRange, type RangePlan } from './range-plan.ts'
import { ToldEpochs } from './told-epochs.ts'

const DIGEST_CHARACTERS = 16
/** Execution blocks that are read at once. */
const BLOCKS_AHEAD = 16

export interface BackfillOptions extends HistoryOptions {
  /** Reads what is known of payments beyond the blocks. */
  readonly evidence?: BlockEvidenceReader
  readonly concurrency?: number
  /** Epochs of the range that are in the log. */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
  /** Hears what is going to be read, before it is. */
  readonly onPlan?: (plan: RangePlan) => void
  /** Ends behind the plan. */
  readonly onlyPlan?: boolean
  readonly outageWaitMs?: number
  /** How long nodes may say that they do not have something final before that is believed. */
  readonly goneAfterMs?: number
  /** The same before anything is read; as long as afterwards without it. */
  readonly planGoneAfterMs?: number
}

/** A node that was just started, or changes over, may not have for a moment what it has: longer than that it does not. */
export const GONE_AFTER_MS = 30_000

/** What a backfill has done. */
export interface Backfilled {
  /** Epochs that were read from the node and are in the log now. */
  readonly ingested: number
  /** Those of them that the log had: nodes were asked about the validators alone that were tracked since. */
  readonly added: number
  /** Epochs that were in the log for all tracked validators before. */
  readonly skipped: number
  readonly validators: number
}

/**
 * Ingests those finalized epochs of a range, with their blocks, that the log does not have for all validators that are tracked
 * now: asks first whether the nodes have what that takes. Of epochs that endpoints have told of others, only the validators that are lacking are
 * asked for; those that were computed of states are computed again for all, and never told by endpoints. Resolves when the range is in the log, or with undefined when the signal aborts.
 * Throws AppError `usage` for a range that is not final, or lies before Altair or behind the forks that are known here, or of which no node
 * has the states (with the node's fault as the cause), `config` when the log tells of another chain of this name, `lease_lost` when another process writes.
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
  const { plan, run, done } = opened
  const goneAfterMs = options.goneAfterMs ?? GONE_AFTER_MS
  const planGoneAfterMs = options.planGoneAfterMs ?? goneAfterMs
  const planned = await retryWithBackoff(retry, refuseWhatIsGone(plan, { done, goneAfterMs: planGoneAfterMs }))
  if (planned !== undefined) options.onPlan?.(planned)
  if (options.onlyPlan !== true) await retryWithBackoff(retry, refuseWhatIsGone(run, { done, goneAfterMs }))
  return signal.aborted ? undefined : done()
}

/** What is final is not still to come: nodes that keep saying that they do not have it no longer have it. */
function refuseWhatIsGone<Result>(
  run: () => Promise<Result>,
  { done, goneAfterMs }: { readonly done: () => Backfilled; readonly goneAfterMs: number },
): () => Promise<Result> {
  let missing: { readonly sinceMs: number; readonly ingested: number } | undefined
  return async () => {
    try {
      return await run()
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
  const { chain, tracked, pubkeys, indices, ...opened } = await openHistory(options, signal)
  let { checkpoint } = opened
  await tracked.tellLook(null)
  refuseUnfinal(toEpoch, checkpoint.epoch)
  refuseUnknownFork(toEpoch, unknownFork(chain.spec))
  const named = { name: options.chain, clock: chain.clock }
  const name = `backfill:${fromEpoch}:${toEpoch}:${digestOf(pubkeys)}`
  const cursor = new Cursor({ ...options, name, identity: formatBeaconIdentity(chain) })
  let next = (await cursor.read(signal))?.next ?? fromEpoch
  const logged = await loggedEpochs({ ...options, clock: chain.clock, signal }, range, indices)
  // What the cursor has passed has everybody who was there; what was taken back since lacks them again.
  const isMissing = (epoch: number): boolean =>
    logged.stale.has(epoch) || logged.lackingIn(epoch) !== 0 || (epoch >= next && !logged.present.has(epoch))
  const lacking = epochsOf(range).filter(isMissing)
  const newestSlot = firstSlotOfEpoch(chain.clock, checkpoint.epoch)
  const registry = { final: beacon.finalChain(checkpoint), clock: chain.clock, newestSlot }
  const whole = await epochsBeforeJoining(registry, logged, lacking)
  const missing = lacking.filter((epoch) => !whole.has(epoch))
  const isToRead = new Set(missing)
  const isComputed = (epoch: number): boolean => logged.computed.has(epoch)
  let ingested = 0
  let added = 0
  const toldEpochs = new ToldEpochs(
    { ...options, signal },
    new Map([...logged.addable].filter(([epoch]) => isToRead.has(epoch))),
  )
  const pipeline = new EpochPipeline({
    beacon,
    chain,
    chainName: options.chain,
    log: options.log,
    tracked,
    concurrency,
    toldIn: (epoch) => toldEpochs.of(epoch),
    isComputed,
  })
  let blocksInLog: Promise<ReadonlySet<string>> | undefined
  const isInLog = async ({ addedIndices }: BuiltEpoch): Promise<(block: BeaconBlock) => boolean> => {
    if (addedIndices === undefined) return () => false
    blocksInLog ??= loggedBlocks({ ...options, clock: chain.clock, signal }, range)
    const roots = await blocksInLog
    // What is known of a payment depends on whose block it is.
    return ({ root, proposerIndex }) => roots.has(root) && !isAmong(addedIndices, proposerIndex)
  }
  const total = toEpoch - fromEpoch + 1
  const skipped = total - missing.length
  const report = () => onProgress?.({ done: skipped + ingested, total })
  const append = async (built: BuiltEpoch) => {
    const blocks = await eventsOfBlocks(options, named, { ...built, isInLog: await isInLog(built) })
    for (const topic of HEAD_TOPICS) if (blocks[topic].length > 0) await writer.append(topic, blocks[topic])
    await writer.append('beacon.epochs', built.events)
    next = built.epoch + 1
    ingested++
    if (built.addedIndices !== undefined) added++
    await cursor.write({ next }, timeOfSlot(named, lastSlotOfEpoch(chain.clock, built.epoch)))
    report()
  }
  return {
    plan: () => planRange({ final: beacon.finalChain(checkpoint), clock: chain.clock, indices, isComputed }, missing),
    done: (): Backfilled => ({ ingested, added, skipped, validators: pubkeys.size }),
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

/** Names a set of validators: a range that was ingested for fewer of them has to be ingested again. */
function digestOf(pubkeys: Iterable<string>): string {
  const hash = createHash('sha256')
  for (const pubkey of [...pubkeys].sort()) hash.update(pubkey)
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS)
}

/** The epoch's blocks as the head follower would have written them, without those that the log has. */
async function eventsOfBlocks(
  sources: BackfillOptions,
  chain: NamedChain,
  { epoch, blocks, isInLog }: BuiltEpoch & { readonly isInLog: (block: BeaconBlock) => boolean },
): Promise<HeadEvents> {
  const parts: HeadEvents[] = []
  const range = { from: 0, to: blocks.length - 1, concurrency: BLOCKS_AHEAD }
  const whole = inOrder(range, async (i) => {
    const block = blocks[i] as BeaconBlock
    if (isInLog(block)) return { block, events: NO_HEAD_EVENTS }
    return { block, events: beaconBlockEvents(chain, block, await readPayload(chain, block, sources)) }
  })
  let next = Math.max(1, firstSlotOfEpoch(chain.clock, epoch))
  for await (const { block, events } of whole) {
    parts.push(missedSlotEvents(chain, next, block.slot), events)
    next = block.slot + 1
  }
  parts.push(missedSlotEvents(chain, next, lastSlotOfEpoch(chain.clock, epoch) + 1))
  return joinHeadEvents(parts)
}
