import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { Cursor } from '../cursors.ts'
import { Waker, withPatience } from '../retry.ts'
import type { BuiltEpoch } from './epoch-events.ts'
import { EpochPipeline } from './epoch-pipeline.ts'
import { TrackedValidators } from './tracked-validators.ts'

/** Key of the follower's cursor. */
export const EPOCHS_CURSOR = 'epochs'
/** Epochs that are read side by side where nobody says otherwise. */
export const EPOCHS_AHEAD = 4
/** A run ends after so many epochs, so that newly tracked validators are taken up. */
const EPOCHS_PER_RUN = 64
/** Without a wake from the node's event stream the follower looks this often. */
const POLL_MS = 5_000

export interface FollowEpochsOptions {
  readonly beacon: BeaconSource
  readonly eventLog: EventLog
  /** Name of the network in the epochs' events. */
  readonly network: string
  readonly log: Log
  /** The next epoch to be ingested, and how many epochs are final. */
  readonly onProgress?: (progress: { readonly nextEpoch: number; readonly finalEpochs: number }) => void
  /** Where a log without a cursor begins; by default at the finalized epoch. */
  readonly startEpoch?: number | undefined
  readonly concurrency?: number
  readonly pollMs?: number
  readonly outageWaitMs?: number
}

/**
 * Follows finality: `beacon.epochs`, one append per epoch, and `validators`. Goes on where the log stops. Resolves when the
 * signal aborts; throws AppError `config` when the log tells of another chain, `usage` for epochs before Altair.
 */
export async function followEpochs(options: FollowEpochsOptions, signal: AbortSignal): Promise<void> {
  const patience = { log: options.log, signal, what: 'following finality', firstMs: options.outageWaitMs }
  const waker = new Waker()
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching = options.beacon.watch((news) => news === 'finality' && waker.wake(), either)
  watching.catch(() => stop.abort()) // it is awaited below
  try {
    const follower = await withPatience(patience, () => openFollower(options, signal))
    while (follower !== undefined && !either.aborted) {
      const moved = await withPatience({ ...patience, signal: either }, () => follower.round(either))
      if (moved === false) await waker.wait(options.pollMs ?? POLL_MS, either)
    }
  } finally {
    stop.abort()
    await watching
  }
}

async function openFollower(options: FollowEpochsOptions, signal: AbortSignal) {
  const { beacon, eventLog, network, onProgress } = options
  const chain = await beacon.chain()
  const cursor = new Cursor(eventLog, EPOCHS_CURSOR, chain)
  const known = await cursor.read(signal)
  let next = known?.next ?? options.startEpoch ?? (await beacon.finalized()).epoch
  let after = known?.headRoot
  const tracked = await TrackedValidators.open({ beacon, eventLog, chain }, signal)
  const concurrency = options.concurrency ?? EPOCHS_AHEAD
  const pipeline = new EpochPipeline({ beacon, chain, tracked, network, concurrency })
  return {
    /** Ingests what has become final; false when there was nothing. */
    async round(stop: AbortSignal): Promise<boolean> {
      const checkpoint = await beacon.finalized()
      const tell = () => onProgress?.({ nextEpoch: next, finalEpochs: Math.max(checkpoint.epoch, next) })
      tell()
      const to = Math.min(checkpoint.epoch, next + EPOCHS_PER_RUN) - 1
      if (to < next) return false
      const take = async (built: BuiltEpoch) => {
        await eventLog.append('beacon.epochs', built.events)
        next = built.epoch + 1
        after = built.endRoot
        await cursor.write({ next, headRoot: after }, lastSlotOfEpoch(chain.clock, built.epoch))
        tell()
      }
      await pipeline.run({ from: next, to, checkpoint, after }, take, stop)
      return true
    },
  }
}
