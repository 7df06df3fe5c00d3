import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import type { NodeLimits } from '../../infra/nodes/nodes.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'

/** The limits of the program, shorter: a fault that lasts a minute there lasts seconds here. */
const LIMITS: Partial<NodeLimits> = {
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
}

export interface Following {
  readonly chain: string
  readonly beaconUrls: readonly string[]
  readonly executionUrls: readonly string[]
  readonly eventLog: EventLog
  readonly limits?: Partial<NodeLimits>
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
  const { chain, beaconUrls, executionUrls, eventLog, onProgress } = options
  const limits = { ...LIMITS, ...options.limits }
  await using beacon = await openHttpBeaconSource({ urls: beaconUrls, log, limits })
  await using execution = await openExecutionSource({ urls: executionUrls, log, limits, binding: 'ethereum' })
  const done = new AbortController()
  const signal = AbortSignal.any([options.signal, done.signal])
  let has: Progress = { slot: -1, nextEpoch: 0 }
  const note = (progress: Partial<Progress>): void => {
    has = { ...has, ...progress }
    onProgress(has, () => done.abort())
  }
  const shared = {
    chain,
    writer: eventLog,
    eventLog,
    unnamedChain: 'mainnet',
    log,
    beacon,
    startEpoch: 0,
    concurrency: CONCURRENCY,
    pollMs: POLL_MS,
    outageWaitMs: OUTAGE_WAIT_MS,
  }
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
