import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { Kafka } from 'kafkajs'
import type { StoredEvent } from '../ports/event-log.ts'
import { type KafkaRun, runKafkaConsumer, toStoredEvent } from './kafka-consumer.ts'

export interface KafkaRead {
  readonly kafka: Kafka
  readonly topic: string
  /** A group of this read alone: kafkajs reads through groups only. */
  readonly groupId: string
  /** For each partition to be read: the offset behind its last event. */
  readonly ends: ReadonlyMap<number, bigint>
  readonly signal: AbortSignal
  onFailure: KafkaRun['onFailure']
  /** Gets the promise of the connection's end: a reader may leave the iteration standing and never come back. */
  track(connected: Promise<void>): void
}

/** The events of a topic up to `ends`. Rejects with the signal's reason when it aborts; leaves the group without members. */
export async function* readKafkaTopic(read: KafkaRead): AsyncGenerator<StoredEvent> {
  const { kafka, topic, groupId, signal } = read
  const open = new Map(read.ends)
  const next = new Map<number, bigint>()
  if (open.size === 0) return
  const abandoned = new AbortController()
  const stop = AbortSignal.any([signal, abandoned.signal])
  // One batch waits here while the one before is being read; the consumer stands still until there is room.
  const batches = new PassThrough({ objectMode: true, highWaterMark: 1 })
  const run = runKafkaConsumer({
    kafka,
    topic,
    groupId,
    signal: stop,
    onFailure: read.onFailure,
    onBatch: async ({ batch, resolveOffset, heartbeat }, end) => {
      const last = BigInt(batch.lastOffset())
      const until = open.get(batch.partition) ?? 0n
      // Nothing is committed, so after a failure of Kafka the partition comes once more from its beginning.
      const from = next.get(batch.partition) ?? 0n
      const events = batch.messages
        .map((message) => toStoredEvent(batch.partition, message))
        .filter(({ position }) => position.offset >= from && position.offset < until)
      if (last >= from) next.set(batch.partition, last + 1n)
      await writeOrStop(batches, events, stop)
      resolveOffset(String(last))
      if (last + 1n >= until) open.delete(batch.partition)
      if (open.size === 0) return end()
      await heartbeat()
    },
  })
  const ended = run.then(
    () => void batches.end(),
    (error: unknown) => void batches.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  read.track(ended)
  try {
    for await (const events of batches as AsyncIterable<readonly StoredEvent[]>) {
      for (const event of events) {
        stop.throwIfAborted()
        yield event
      }
    }
    stop.throwIfAborted()
  } finally {
    abandoned.abort()
    await ended
  }
}

async function writeOrStop(stream: PassThrough, events: readonly StoredEvent[], stop: AbortSignal): Promise<void> {
  if (events.length === 0 || stop.aborted || stream.write(events)) return
  try {
    await once(stream, 'drain', { signal: stop })
  } catch (error) {
    if (!stop.aborted) throw error
  }
}
