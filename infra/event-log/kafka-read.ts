import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { Kafka } from 'kafkajs'
import type { Offsets, StoredEvent } from '../ports/event-log.ts'
import { type KafkaRun, runKafkaConsumer } from './kafka-consumer.ts'

export interface KafkaRead {
  readonly kafka: Kafka
  readonly topic: string
  /** A group of this read alone: kafkajs reads through groups only. */
  readonly groupId: string
  /** For each partition that has records: the offset behind its last one, which may be a marker. */
  readonly ends: Offsets
  readonly from: Offsets
  readonly signal: AbortSignal
  onFailure: KafkaRun['onFailure']
  /** Gets the promise of the connection's end: a reader may leave the iteration standing and never come back. */
  track(connected: Promise<void>): void
}

/** The events of a topic up to `ends`. Rejects with the signal's reason when it aborts; leaves the group without members. */
export async function* readKafkaTopic(read: KafkaRead): AsyncGenerator<StoredEvent> {
  const { kafka, topic, groupId, ends, signal } = read
  const next = new Map([...ends].map(([partition]) => [partition, read.from.get(partition) ?? 0n]))
  const open = new Set([...ends].filter(([partition, end]) => (next.get(partition) ?? 0n) < end).map(([id]) => id))
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
    startAt: () => next,
    onBatch: async (batch, end) => {
      const { partition, last } = batch
      const until = ends.get(partition) ?? 0n
      // Nothing is committed, so after a failure of Kafka the partition may come once more from its beginning.
      const from = next.get(partition) ?? 0n
      const events = batch.events.filter(({ position }) => position.offset >= from && position.offset < until)
      if (last >= from) next.set(partition, last + 1n)
      await writeOrStop(batches, events, stop)
      if (last + 1n >= until) open.delete(partition)
      if (open.size === 0) return end()
      batch.resolve(last)
      await batch.heartbeat()
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
