import type { EventLog, Offsets, StoredEvent } from '../infra/ports/event-log.ts'
import { chainOfEvent } from '../schemas/events/chain-of-event.ts'
import { decodeEvent, type Topic } from '../schemas/events/codec.ts'
import { chainRemoved, type EpochsRetracted, epochsRetracted, isRetracted } from '../schemas/events/log-facts.ts'

export interface OwnEventsOptions {
  readonly eventLog: EventLog
  /** The chain whose events are wanted. */
  readonly chain: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  /** A topic whose events' keys begin with their chain. */
  readonly topic: Topic
  readonly signal: AbortSignal
  /** Where each partition is read from; without it, everything is read. */
  readonly from?: Offsets
  /** Each event has its data until the next one. */
  readonly oneByOne?: boolean
  /** Hears of the events of retracted epochs, which are left out. */
  readonly onRetracted?: (stored: StoredEvent) => void
}

/** The events of one chain in a topic, without those from before the chain was removed, if it ever was, and those of retracted epochs. */
export async function* ownEvents(options: OwnEventsOptions): AsyncGenerator<StoredEvent> {
  const { eventLog, chain, unnamedChain, topic, signal, from, oneByOne = false, onRetracted } = options
  let before: Readonly<Record<string, string>> = {}
  const retractions: EpochsRetracted[] = []
  for await (const { event } of eventLog.read({ topic: 'log', signal })) {
    if (event.type === chainRemoved.name) {
      const removed = decodeEvent(chainRemoved, event)
      if (removed.chain === chain) before = removed.before[topic] ?? {}
    } else if (event.type === epochsRetracted.name && topic === 'beacon.epochs') {
      const retracted = decodeEvent(epochsRetracted, event)
      if (retracted.chain === chain) retractions.push(retracted)
    }
  }
  for await (const stored of eventLog.read({ topic, signal, oneByOne, ...(from === undefined ? {} : { from }) })) {
    const { event, position } = stored
    const isOwn = chainOfEvent(event, unnamedChain) === chain
    if (!isOwn || position.offset < BigInt(before[String(position.partition)] ?? 0)) continue
    if (retractions.some((retracted) => isRetracted(retracted, event, position))) onRetracted?.(stored)
    else yield stored
  }
}
