import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'

/** An event as the log hands it out: still encoded, so that an undecodable one can be set aside instead of stopping the loop. */
export interface StoredEvent {
  readonly position: Position
  readonly event: EncodedEvent
}

/** Offset of the next event, by partition. A partition that is not named begins at 0. */
export type Offsets = ReadonlyMap<number, bigint>

export interface ConsumeOptions {
  readonly topic: Topic
  /** Consumers with one group share the topic's events and its progress. */
  readonly group: string
  readonly maxBatch: number
  /**
   * Milliseconds that events may wait for others to come in one batch with them, once a batch has taken all that the log held and
   * was handled in `handledMs`; 0 without it. A backlog never waits. A log whose server waits by itself may always wait as after a
   * batch that took no time.
   */
  lingerMs?(handledMs: number): number
  /** Ends the consumption; `consume` then resolves after the running batch. */
  readonly signal: AbortSignal
  /**
   * Resolves = the batch is done and will not come again, and the memory of its data is gone; rejects = `consume` rejects and the batch comes
   * again later.
   */
  handle(batch: readonly StoredEvent[]): Promise<void>
}

export interface ReadOptions {
  readonly topic: Topic
  readonly signal: AbortSignal
  /** Where each partition is read from; without it, everything is read. */
  readonly from?: Offsets
  /** For who only wants to know what is there: the log may leave the data of the events empty, and need not read it. */
  readonly envelopesOnly?: boolean
  /** For who is done with the data of an event when it asks for the next one: the log may give its memory back. */
  readonly oneByOne?: boolean
}

export interface EventWriter {
  /**
   * Resolves when the events are durable, with the position of each, in order. Appending an id twice is allowed. When it
   * rejects, none, some or all of the events may have been appended.
   */
  append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]>
}

/**
 * The right to write what the name stands for, which one holder has at a time. Disposing of it lets the next one have it.
 *
 * The guarantee is about appends: what a former holder appends after another has got the lease is refused, even if it was
 * asleep meanwhile and has not noticed. What the log says of the past is therefore read after the lease has been got.
 */
export interface Lease extends EventWriter, AsyncDisposable {
  /** Aborts when the lease is lost; from then on every append rejects with AppError `lease_lost`. */
  readonly lost: AbortSignal
}

/**
 * The truth of the system: an append-only log of events, by topic.
 *
 * Guarantees: delivery at least once; order per key within a topic; what `append` has returned survives a crash.
 * Not promised: exactly once, order between keys or topics, removal of events appended twice.
 * Not the implementer's job: decoding, retrying a failed handler, deciding what an event means.
 */
export interface EventLog extends EventWriter, AsyncDisposable {
  /** Delivers batches until the signal aborts; starts where the group stopped, a new group at the beginning. */
  consume(options: ConsumeOptions): Promise<void>
  /** Everything that was in the topic when the call was made, in order per key, then done. */
  read(options: ReadOptions): AsyncIterable<StoredEvent>
  /** Offsets behind the newest event of each partition that has any. */
  ends(topic: Topic): Promise<Offsets>
  /**
   * Number of events that the group has not yet acknowledged: the lag. With `until` those before these offsets alone, in each partition by
   * itself: what a group has done of one says nothing of another.
   */
  lag(topic: Topic, group: string, until?: Offsets): Promise<bigint>
  /** Sets the group back to the beginning; the group must not be consuming. */
  rewind(topic: Topic, group: string): Promise<void>
  /**
   * Waits until nobody holds the lease of this name, in any process, then holds it. A holder that dies is succeeded within
   * 15 s. Rejects with the signal's reason when it aborts.
   */
  lease(name: string, signal: AbortSignal): Promise<Lease>
}
