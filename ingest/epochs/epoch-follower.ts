import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { saysUnknown, unknownFork } from '../../schemas/eth/unknown-fork.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { timeOfSlot } from '../beacon-head/block-events.ts'
import { latestFinality } from '../beacon-head/finality.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { refuseOtherNetwork } from '../right-nodes.ts'
import { Waker } from '../waker.ts'
import { tellDepositContract } from './deposit-contract.ts'
import type { BuiltEpoch } from './epoch-events.ts'
import { EpochPipeline, lastKnownEpoch } from './epoch-pipeline.ts'
import type { ToldCheckpoints } from './told-checkpoints.ts'
import { TrackedValidators } from './tracked-validators.ts'

/** Name of the follower's cursor. */
export const EPOCHS_CURSOR = 'epochs'
/** Epochs that are read side by side where nobody says otherwise. */
export const EPOCHS_AHEAD = 4
/** A run ends after so many epochs, so that newly tracked validators are taken up. */
const EPOCHS_PER_RUN = 64

export interface FollowEpochsOptions extends ChainLog {
  readonly beacon: BeaconSource
  readonly log: Log
  /** What nodes have told to be final: shared with whoever follows the head. */
  readonly told?: ToldCheckpoints
  /** The next epoch to be ingested, and how many epochs are final. */
  readonly onProgress?: (progress: { readonly nextEpoch: number; readonly finalEpochs: number }) => void
  /** Where a log without a cursor begins; by default at the finalized epoch. */
  readonly startEpoch?: number | undefined
  readonly concurrency?: number
  /** How often finality is asked for, whatever the node announces; by default only when it is silent, once an epoch. */
  readonly pollMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Follows finality: `beacon.epochs`, one append per epoch, and `validators`. Goes on where the log stops; nodes that are away, at
 * the start too, are waited for. Resolves when the signal aborts. Throws AppError `config` when the log tells of another chain
 * of this name, `usage` for epochs before Altair, `lease_lost` when another process writes.
 */
export async function followEpochs(options: FollowEpochsOptions, signal: AbortSignal): Promise<void> {
  const what = `following finality of ${options.chain}`
  const retry = { log: options.log, signal, what, firstMs: options.outageWaitMs }
  const follower = await retryWithBackoff(retry, () => openFollower(options, signal))
  if (follower === undefined) return
  const { finality } = follower
  const waker = new Waker()
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching = options.beacon.watch((news) => {
    if (news.kind === 'head') return
    if (news.kind === 'finalized') finality.update(news)
    else finality.invalidate()
    waker.wake()
  }, either)
  watching.catch(() => stop.abort()) // it is awaited below
  try {
    while (!either.aborted) {
      const moved = await retryWithBackoff({ ...retry, signal: either }, async () => {
        try {
          return await follower.round(either)
        } catch (error) {
          finality.invalidate() // it may have been announced by mistake
          throw error
        }
      })
      if (moved === false) await waker.wait(finality.freshForMs, either)
    }
  } finally {
    stop.abort()
    await watching
  }
}

async function openFollower(options: FollowEpochsOptions, signal: AbortSignal) {
  const { beacon, writer, onProgress, concurrency = EPOCHS_AHEAD, now = Date.now } = options
  const chain = await beacon.chain()
  refuseOtherNetwork(options.chain, chain)
  const named = { name: options.chain, clock: chain.clock }
  const cursor = new Cursor({ ...options, name: EPOCHS_CURSOR, identity: formatBeaconIdentity(chain) })
  const finality = latestFinality(beacon, chain.clock, { now, pollMs: options.pollMs })
  const known = await cursor.read(signal)
  await tellDepositContract(options, chain, signal)
  let next = known?.next ?? options.startEpoch ?? (await finality.get()).epoch
  let after = known?.after
  const tracked = await TrackedValidators.open({ ...options, clock: chain.clock }, signal)
  let toldEnd = ''
  const pipeline = new EpochPipeline({
    beacon,
    chain,
    chainName: options.chain,
    log: options.log,
    tracked,
    tellsLooks: true,
    concurrency,
  })
  return {
    finality,
    /** Ingests what has become final; false when there was nothing. */
    async round(stop: AbortSignal): Promise<boolean> {
      const checkpoint = await finality.get()
      const planned = await beacon.chain()
      cursor.rename(formatBeaconIdentity(planned))
      const lastEpoch = lastKnownEpoch(planned)
      const unknown = unknownFork(planned.spec)
      const report = () => onProgress?.({ nextEpoch: next, finalEpochs: Math.max(checkpoint.epoch, next) })
      report()
      const to = Math.min(checkpoint.epoch - 1, next + EPOCHS_PER_RUN - 1, lastEpoch)
      if (unknown !== undefined && next > lastEpoch && checkpoint.epoch > lastEpoch) {
        const end = `epochs of ${options.chain} are published no further: ${saysUnknown(unknown)}`
        if (end !== toldEnd) options.log.error({ epoch: unknown.epoch }, end)
        toldEnd = end
      }
      if (to < next) return false
      const append = async (built: BuiltEpoch) => {
        await writer.append('beacon.epochs', built.events)
        next = built.epoch + 1
        after = built.endRoot
        await cursor.write({ next, after }, timeOfSlot(named, lastSlotOfEpoch(chain.clock, built.epoch)))
        await beacon.dropStatesBefore(built.epoch, built.endRoot)
        report()
      }
      try {
        await pipeline.run({ from: next, to, checkpoint, after }, append, stop)
      } catch (error) {
        // The next try must not begin with a checkpoint that no node vouches for any more.
        finality.invalidate()
        throw error
      }
      return true
    },
  }
}
