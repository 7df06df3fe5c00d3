import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
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
/** Nodes that say for so long that they do not have what an epoch takes no longer have it: states are asked for again meanwhile. */
const GONE_AFTER_MS = 600_000

export interface FollowEpochsOptions extends ChainLog {
  readonly beacon: BeaconSource
  readonly log: Log
  /** What nodes have told to be final: shared with whoever follows the head. */
  readonly told?: ToldCheckpoints
  /** The next epoch to be ingested, and how many epochs are final. */
  readonly onProgress?: (progress: { readonly nextEpoch: number; readonly finalEpochs: number }) => void
  /** Where a log without a cursor begins; by default at the finalized epoch, or the next where no node has the state before that. */
  readonly startEpoch?: number | undefined
  readonly concurrency?: number
  /** How often finality is asked for, whatever the node announces; by default only when it is silent, once an epoch. */
  readonly pollMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
  /** How long nodes may say that they do not have what a final epoch takes before that is believed. */
  readonly goneAfterMs?: number
}

/**
 * Follows finality: `beacon.epochs`, one append per epoch, and `validators`. Goes on where the log stops; nodes that are away, at
 * the start too, are waited for. An epoch whose states no node has any more, as default nodes after an outage of some epochs, is told by its
 * blocks alone, and lacks its validators. Resolves when the signal aborts. Throws AppError `config` when the log tells of another chain
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
  const gone = new GoneStates(options)
  const chain = await beacon.chain()
  refuseOtherNetwork(options.chain, chain)
  const named = { name: options.chain, clock: chain.clock }
  const cursor = new Cursor({ ...options, name: EPOCHS_CURSOR, identity: formatBeaconIdentity(chain) })
  const finality = latestFinality(beacon, chain.clock, { now, pollMs: options.pollMs })
  const known = await cursor.read(signal)
  await tellDepositContract(options, chain, signal)
  let next = known?.next ?? options.startEpoch ?? (await finality.get()).epoch
  let after = known?.after
  /** Nobody has said that the log is to begin with it. */
  let mayBePassedOver = known === undefined && options.startEpoch === undefined
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
      const to = Math.min(checkpoint.epoch - 1, next + (gone.isGoing ? 1 : EPOCHS_PER_RUN) - 1, lastEpoch)
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
        mayBePassedOver = false
        report()
      }
      try {
        const before = next
        await pipeline.run({ from: next, to, checkpoint, after }, append, stop)
        if (next > before) gone.end(next - 1)
      } catch (error) {
        // The next try must not begin with a checkpoint that no node vouches for any more.
        finality.invalidate()
        if (!isLacking(error)) throw error
        if (mayBePassedOver) {
          options.log.info(
            { epoch: next + 1 },
            `the log of ${options.chain} begins behind epoch ${next}: ${error.message}`,
          )
          next++
          mayBePassedOver = false
        } else if (gone.isGone(next, error))
          await pipeline.run({ from: next, to: next, checkpoint, after, blocksOnly: true }, append, stop)
        else throw error
      }
      return true
    },
  }
}

function isLacking(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'node_lagging'
}

/** Epochs in turn whose states no node has. */
class GoneStates {
  readonly #options: Pick<FollowEpochsOptions, 'chain' | 'log' | 'goneAfterMs'>
  /** The next epoch that nodes say they lack something of, and since when they have said so. */
  #waiting: { readonly epoch: number; readonly sinceMs: number } | undefined
  /** The first of those that are told by their blocks alone; undefined while none is. */
  #from: number | undefined

  constructor(options: Pick<FollowEpochsOptions, 'chain' | 'log' | 'goneAfterMs'>) {
    this.#options = options
  }

  get isGoing(): boolean {
    return this.#from !== undefined
  }

  /** Whether the epoch is to be told without them: nodes have said for long enough that they lack them, or did so of the one before it. */
  isGone(epoch: number, reason: AppError): boolean {
    const { chain, log, goneAfterMs = GONE_AFTER_MS } = this.#options
    if (this.#from !== undefined) return true
    if (this.#waiting?.epoch !== epoch) this.#waiting = { epoch, sinceMs: performance.now() }
    if (performance.now() - this.#waiting.sinceMs < goneAfterMs) return false
    this.#from = epoch
    const what = `epochs of ${chain} from ${epoch} on are told without their validators, until states are there again`
    log.error({ epoch, reason: reason.message }, `${what}: no node has them any more`)
    return true
  }

  /** An epoch is told with its validators. */
  end(epoch: number): void {
    this.#waiting = undefined
    if (this.#from === undefined) return
    const { chain, log } = this.#options
    const lacking = `epochs ${this.#from} to ${epoch - 1} of ${chain} lack their validators`
    log.warn(
      { epoch },
      `states are there again; ${lacking}: \`gaps --chain ${chain} --repair\` adds them where a node has the states`,
    )
    this.#from = undefined
  }
}
