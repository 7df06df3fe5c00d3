import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'

/** An event as the log hands it out: still encoded, so that an undecodable one can be set aside instead of stopping the loop. */
export interface StoredEvent {
  readonly position: Position
  readonly event: EncodedEvent
}

export interface ConsumeOptions {
  readonly topic: Topic
  /** Consumers with one group share the topic's events and its progress. */
  readonly group: string
  readonly maxBatch: number
  /** Ends the consumption; `consume` then resolves after the running batch. */
  readonly signal: AbortSignal
  /** Resolves = the batch is done and will not come again; rejects = `consume` rejects and the batch comes again later. */
  handle(batch: readonly StoredEvent[]): Promise<void>
}

/**
 * The truth of the system: an append-only log of events, by topic.
 *
 * Guarantees: delivery at least once; order per key within a topic; what `append` has returned survives a crash.
 * Not promised: exactly once, order between keys or topics, removal of events appended twice.
 * Not the implementer's job: decoding, retrying a failed handler, deciding what an event means.
 */
export interface EventLog extends AsyncDisposable {
  /** Resolves when the events are durable, with the position of each, in order. Appending an id twice is allowed. */
  append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]>
  /** Delivers batches until the signal aborts; starts where the group stopped, a new group at the beginning. */
  consume(options: ConsumeOptions): Promise<void>
  /** Everything that was in the topic when the call was made, in order per key, then done. */
  read(options: { readonly topic: Topic; readonly signal: AbortSignal }): AsyncIterable<StoredEvent>
  /** Number of events that the group has not yet acknowledged: the lag. */
  lag(topic: Topic, group: string): Promise<bigint>
  /** Sets the group back to the beginning; the group must not be consuming. */
  rewind(topic: Topic, group: string): Promise<void>
}
