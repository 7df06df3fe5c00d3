import type { EventLog } from '../../infra/ports/event-log.ts'
import { type FollowBeaconHeadOptions, followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { type FollowExecutionHeadOptions, followExecutionHead } from '../../ingest/execution/execution-head.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { silentLog } from './silent-log.ts'
import { pubkeyOf, SLOTS_PER_EPOCH, SyntheticChain } from './synthetic-chain.ts'
import type { SyntheticExecutionChain } from './synthetic-execution-chain.ts'

export const BEACON_CHAIN = 'mainnet'
export const EXECUTION_CHAIN = 'scroll_mainnet'

/** What every ingester of a chain is given, for a log whose events without a chain are of the beacon chain. */
export const ofChain = (chain: string, eventLog: EventLog) => ({
  chain,
  writer: eventLog,
  eventLog,
  unnamedChain: BEACON_CHAIN,
  log: silentLog,
  outageWaitMs: 1,
})

const never = new AbortController().signal

/** The events of a topic, in the order of the log. */
export async function eventsIn(eventLog: EventLog, topic: Topic): Promise<EncodedEvent[]> {
  const events: EncodedEvent[] = []
  for await (const { event } of eventLog.read({ topic, signal: never })) events.push(event)
  return events
}

/** An account tracks validators of a chain from now on. */
export async function trackValidators(eventLog: EventLog, indices: readonly number[], chain: string): Promise<void> {
  const pubkeys = indices.map(pubkeyOf)
  const id = `account.validators-tracked:${chain}:a:${pubkeys[0]}:${pubkeys.length}`
  const time = '2020-01-01T00:00:00.000Z'
  await eventLog.append('accounts', [
    encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time, data: { chain, account: 'a', pubkeys } }),
  ])
}

/** A chain with blocks up to a slot, all of whose whole epochs but the last two are final. */
export function chainTo(slot: number): SyntheticChain {
  const chain = new SyntheticChain()
  chain.extendRange(1, slot, 'genesis')
  chain.finalizedEpoch = Math.floor(slot / SLOTS_PER_EPOCH) - 2
  return chain
}

/** Is called whenever the log reaches a height for the first time; `stop` ends the follower. */
type AtHeight = (height: number, stop: () => void) => void

function onceAtEach(at: AtHeight, end: AbortSignal) {
  const ending = new AbortController()
  let reached = -1
  const onProgress = ({ height }: { readonly height: number }) => {
    if (height <= reached) return
    reached = height
    at(height, () => ending.abort())
  }
  return { onProgress, signal: AbortSignal.any([ending.signal, end]) }
}

/** Follows a beacon chain from its first slot on, and does what the test says at each height. */
export async function followBeacon(
  eventLog: EventLog,
  { beacon, execution }: SyntheticChain,
  at: AtHeight,
  options: Partial<FollowBeaconHeadOptions> = {},
  end: AbortSignal = never,
): Promise<void> {
  const { onProgress, signal } = onceAtEach(at, end)
  const given = { ...ofChain(BEACON_CHAIN, eventLog), beacon, execution, startEpoch: 0, onProgress, ...options }
  await followBeaconHead(given, signal)
}

/** Follows an execution chain from its first block on, and does what the test says at each height. */
export async function followExecution(
  eventLog: EventLog,
  { source: execution }: SyntheticExecutionChain,
  at: AtHeight,
  options: Partial<FollowExecutionHeadOptions> = {},
  end: AbortSignal = never,
): Promise<void> {
  const { onProgress, signal } = onceAtEach(at, end)
  const often = { pollMs: 5, finalityPollMs: 5 }
  const given = { ...ofChain(EXECUTION_CHAIN, eventLog), ...often, execution, startBlock: 1, onProgress, ...options }
  await followExecutionHead(given, signal)
}

/** Stops the follower once the log has the height. */
export const until =
  (wanted: number): AtHeight =>
  (height, stop) => {
    if (height >= wanted) stop()
  }
