import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { NodeLimits } from '../../infra/nodes/nodes.ts'
import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { EpochRange } from '../../ingest/backfill/epoch-range.ts'
import { followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { ToldCheckpoints } from '../../ingest/epochs/told-checkpoints.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'

/** The limits of the program, shorter: a fault that lasts a minute there lasts seconds here. */
export const LIMITS: Partial<NodeLimits> = {
  retryDelayMs: 20,
  headersTimeoutMs: 8_000,
  bodyTimeoutMs: 3_000,
  bodyFloorMs: 2_000,
  retryWithinMs: 1_500,
  retryAfterMaxMs: 2_000,
  restMs: 200,
}
const POLL_MS = 100
const OUTAGE_WAIT_MS = 50
const CONCURRENCY = 4

/** How far the log is: its newest slot, and the first epoch that it does not have. */
export interface Progress {
  readonly slot: number
  readonly nextEpoch: number
  /** Root of the newest block that stands. */
  readonly headRoot?: string | undefined
}

export interface Following {
  readonly chain: string
  readonly beaconUrls: readonly string[]
  readonly executionUrls: readonly string[]
  readonly eventLog: EventLog
  readonly limits?: Partial<NodeLimits>
  /** Where the log begins; 0. */
  readonly startEpoch?: number
  /** Hears of every step; ends the following. */
  readonly onProgress: (progress: Progress, end: () => void) => void
  readonly signal: AbortSignal
}

/** Lines of the log that an operator sees: level and text. */
export interface Lines {
  readonly log: Log
  readonly told: readonly string[]
}

export function openLines(): Lines {
  const told: string[] = []
  const note = (level: string) => (_: object, message: string) => {
    const line = `${level}: ${message}`
    if (!told.includes(line)) told.push(line)
  }
  return { told, log: { debug: () => undefined, info: note('info'), warn: note('warn'), error: note('error') } }
}

/** Follows head and finality of a chain, as the ingester of the program does, until the log has all that is there. */
export async function follow(options: Following, log: Log): Promise<void> {
  const { chain, onProgress, startEpoch = 0 } = options
  await using sources = await openSources(options, log)
  const { beacon, execution } = sources
  const done = new AbortController()
  const signal = AbortSignal.any([options.signal, done.signal])
  let has: Progress = { slot: -1, nextEpoch: 0 }
  const note = (progress: Partial<Progress>): void => {
    has = { ...has, ...progress }
    onProgress(has, () => done.abort())
  }
  const writer: EventWriter = {
    append: async (topic, events) => {
      const positions = await options.eventLog.append(topic, events)
      const cursor = topic === 'ingest.cursors' ? events.find(({ key }) => key === chainKey(chain, 'head')) : undefined
      if (cursor !== undefined) note({ headRoot: decodeEvent(ingestCursor, cursor).recent?.at(-1)?.id })
      return positions
    },
  }
  const told = new ToldCheckpoints()
  const shared = { ...ingesterOf(options, log), writer, beacon, told, startEpoch, pollMs: POLL_MS }
  await Promise.all([
    followBeaconHead(
      {
        ...shared,
        execution,
        onProgress: ({ height: slot }) => note({ slot }),
      },
      signal,
    ),
    followEpochs(
      {
        ...shared,
        onProgress: ({ nextEpoch }) => note({ nextEpoch }),
      },
      signal,
    ),
  ])
  options.signal.throwIfAborted()
}

/** Reads the epochs of a chain's past that its log lacks, as the command of the program does. */
export async function fillBack(options: Omit<Following, 'onProgress'>, range: EpochRange, log: Log): Promise<void> {
  await using sources = await openSources(options, log)
  const { beacon, execution } = sources
  await backfill({ ...ingesterOf(options, log), beacon, execution }, range, options.signal)
  options.signal.throwIfAborted()
}

async function openSources({ beaconUrls, executionUrls, limits: given }: Omit<Following, 'onProgress'>, log: Log) {
  const limits = { ...LIMITS, ...given }
  const open = new AsyncDisposableStack()
  const beacon = open.use(await openHttpBeaconSource({ urls: beaconUrls, log, limits, rewardsBy: 'endpoints' }))
  const execution = open.use(await openExecutionSource({ urls: executionUrls, log, limits, binding: 'ethereum' }))
  return { beacon, execution, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

const ingesterOf = ({ chain, eventLog }: Omit<Following, 'onProgress'>, log: Log) => ({
  chain,
  writer: eventLog,
  eventLog,
  unnamedChain: 'mainnet',
  log,
  concurrency: CONCURRENCY,
  outageWaitMs: OUTAGE_WAIT_MS,
})
