import { randomUUID } from 'node:crypto'
import kafkajs, { type Admin, type Kafka, type LogEntry } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import type { ConsumeOptions, EventLog, StoredEvent } from '../ports/event-log.ts'
import { deleteGroup, endOffsets, groupLag } from './kafka-admin.ts'
import { runKafkaConsumer, toStoredEvent } from './kafka-consumer.ts'
import { withKafkaErrors } from './kafka-errors.ts'
import { readKafkaTopic } from './kafka-read.ts'
import { openTopics, type TopicLayout } from './kafka-topics.ts'
import { KafkaTopicWriter } from './kafka-writer.ts'

const CONNECT_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000
/** With the pauses doubling from 0.2 s to 5 s these are about 20 s, longer than the election of a new leader. */
const RETRIES_MAX = 8
const RETRY_FIRST_MS = 200
const RETRY_PAUSE_MAX_MS = 5_000
/** kafkajs warns of this with every idempotent producer; KafkaTopicWriter says how it is dealt with. */
const LIMITED_RETRIES = 'Limiting retries for the idempotent producer'
/** A handler gets no more than this at once, so that a topic of large events does not fill the memory; one event always fits. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024

export interface KafkaLogLine {
  readonly level: 'error' | 'warn'
  /** Without broker addresses. */
  readonly message: string
}

export interface KafkaEventLogOptions extends TopicLayout {
  /** host:port of one or more brokers; the others are learnt from them. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly compression?: 'none' | 'gzip'
  /** What kafkajs reports; without it, errors go to stderr. */
  readonly log?: (line: KafkaLogLine) => void
}

/**
 * The event log in Apache Kafka. Creates the missing topics, kept for ever.
 *
 * When `append` has resolved, all in-sync replicas have the events; with three or more copies that is at least two brokers.
 * Events with one key are in one partition, in append order; `Position.offset` is Kafka's offset. The number of partitions of
 * a topic must not be changed afterwards: keys would move, and with them their order and their versions.
 * Throws AppError: `config` when an existing topic would lose events, `event_log` when no broker answers.
 */
export async function openKafkaEventLog(options: KafkaEventLogOptions): Promise<EventLog> {
  const log = options.log ?? ((line) => line.level === 'error' && process.stderr.write(`${line.message}\n`))
  const kafka = new kafkajs.Kafka({
    clientId: options.clientId,
    brokers: [...options.brokers],
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: { retries: RETRIES_MAX, initialRetryTime: RETRY_FIRST_MS, maxRetryTime: RETRY_PAUSE_MAX_MS },
    logLevel: kafkajs.logLevel.WARN,
    logCreator: () => (entry) => {
      if (!entry.log.message.startsWith(LIMITED_RETRIES)) log(toLogLine(entry))
    },
  })
  const admin = kafka.admin()
  return withKafkaErrors('open', async () => {
    try {
      await admin.connect()
      const partitions = await openTopics(admin, options)
      return new KafkaEventLog({ ...options, kafka, admin, partitions, log })
    } catch (error) {
      await admin.disconnect()
      throw error
    }
  })
}

type Wiring = Pick<KafkaEventLogOptions, 'topicPrefix' | 'compression'> & {
  readonly kafka: Kafka
  readonly admin: Admin
  readonly partitions: ReadonlyMap<Topic, number>
  readonly log: (line: KafkaLogLine) => void
}

class KafkaEventLog implements EventLog {
  readonly #wiring: Wiring
  readonly #writers = new Map<Topic, KafkaTopicWriter>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(wiring: Wiring) {
    this.#wiring = wiring
  }

  async append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    this.#closing.signal.throwIfAborted()
    return this.#writer(topic).append(events)
  }

  #writer(topic: Topic): KafkaTopicWriter {
    const existing = this.#writers.get(topic)
    if (existing !== undefined) return existing
    const { kafka, compression = 'none', partitions } = this.#wiring
    const writer = new KafkaTopicWriter({
      kafka,
      topic: this.#nameOf(topic),
      partitions: partitions.get(topic) ?? 0,
      compression,
    })
    this.#writers.set(topic, writer)
    return writer
  }

  async consume(options: ConsumeOptions): Promise<void> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const over = Promise.withResolvers<void>()
    this.#track(over.promise)
    try {
      await this.#consume(options, signal)
    } catch (error) {
      throw error instanceof HandlerFailure ? error.cause : error
    } finally {
      over.resolve()
    }
  }

  async #consume({ topic, group, maxBatch, handle }: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const name = this.#nameOf(topic)
    await runKafkaConsumer({
      kafka: this.#wiring.kafka,
      topic: name,
      groupId: this.#groupId(topic, group),
      signal,
      onFailure: this.#waitedOut,
      onBatch: async ({ batch, isRunning, isStale, resolveOffset, commitOffsetsIfNecessary, heartbeat }, end) => {
        for (const events of batchesOf(
          batch.messages.map((m) => toStoredEvent(batch.partition, m)),
          maxBatch,
        )) {
          if (signal.aborted || !isRunning() || isStale()) return
          try {
            await handle(events)
          } catch (error) {
            return end({ error: new HandlerFailure(error) })
          }
          const last = events.at(-1)?.position.offset ?? -1n
          resolveOffset(String(last))
          // Not consumer.commitOffsets: that one does nothing, silently, once the consumer has been told to stop.
          const partitions = [{ partition: batch.partition, offset: String(last + 1n) }]
          await commitOffsetsIfNecessary({ topics: [{ topic: name, partitions }] })
          await heartbeat()
        }
      },
    })
  }

  read({ topic, signal }: { readonly topic: Topic; readonly signal: AbortSignal }): AsyncIterable<StoredEvent> {
    const ends = endOffsets(this.#wiring.admin, this.#nameOf(topic))
    ends.catch(() => undefined) // asked for at once, because "now" is the moment of the call; awaited by the iteration
    return this.#readTo(ends, topic, AbortSignal.any([signal, this.#closing.signal]))
  }

  async *#readTo(asked: Promise<Map<number, bigint>>, topic: Topic, signal: AbortSignal): AsyncGenerator<StoredEvent> {
    const ends = await asked
    if (ends.size === 0) return
    const { kafka, topicPrefix } = this.#wiring
    const groupId = `${topicPrefix}read.${randomUUID()}`
    const track = (connected: Promise<void>) => this.#track(connected)
    try {
      yield* readKafkaTopic({
        kafka,
        topic: this.#nameOf(topic),
        groupId,
        ends,
        signal,
        track,
        onFailure: this.#waitedOut,
      })
    } finally {
      await this.#forgetGroup(groupId)
    }
  }

  readonly #waitedOut = (error: AppError): void => {
    this.#wiring.log({ level: 'warn', message: `${error.message}; trying again` })
  }

  /** `run` is waited for when the log is closed; it must not reject. */
  #track(run: Promise<void>): void {
    this.#running.add(run)
    void run.then(() => this.#running.delete(run))
  }

  /** Left behind, an empty group is dropped by the brokers: a failure here is reported and harms no one. */
  async #forgetGroup(groupId: string): Promise<void> {
    try {
      await deleteGroup(this.#wiring.admin, groupId)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      this.#wiring.log({ level: 'warn', message: `${error.message}: ${groupId}` })
    }
  }

  /** In a compacted topic this counts also the events that Kafka has dropped since. */
  async lag(topic: Topic, group: string): Promise<bigint> {
    return groupLag(this.#wiring.admin, this.#nameOf(topic), this.#groupId(topic, group))
  }

  /** A group without progress starts at the beginning, and only the broker knows whether another process consumes. */
  async rewind(topic: Topic, group: string): Promise<void> {
    if ((await deleteGroup(this.#wiring.admin, this.#groupId(topic, group))) === 'in use') {
      throw new AppError('usage', `group ${group} is consuming ${topic}: stop it, then set it back`)
    }
  }

  #nameOf(topic: Topic): string {
    return this.#wiring.topicPrefix + topic
  }

  /** A Kafka group for each topic: members of one group would otherwise be handed topics that they do not consume. */
  #groupId(topic: Topic, group: string): string {
    return `${this.#wiring.topicPrefix}${group}.${topic}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new AppError('event_log', 'the event log has been closed'))
    await Promise.all(this.#running)
    await Promise.all([...this.#writers.values()].map((writer) => writer.close()))
    await this.#wiring.admin.disconnect()
  }
}

/** Tells a handler's failure, which ends the consumption, from one of Kafka. */
class HandlerFailure extends Error {
  constructor(cause: unknown) {
    super('handler failed', { cause })
  }
}

function* batchesOf(events: readonly StoredEvent[], eventsMax: number): Iterable<StoredEvent[]> {
  let batch: StoredEvent[] = []
  let bytes = 0
  for (const stored of events) {
    bytes += stored.event.data.byteLength
    if (batch.length > 0 && (batch.length === eventsMax || bytes > BATCH_BYTES_MAX)) {
      yield batch
      batch = []
      bytes = stored.event.data.byteLength
    }
    batch.push(stored)
  }
  if (batch.length > 0) yield batch
}

function toLogLine({ level, namespace, log }: LogEntry): KafkaLogLine {
  const message = log.error === undefined ? log.message : `${log.message}: ${log.error}`
  const text = message.replace(/\b[\w.-]+:\d{2,5}\b|\b\d{1,3}(\.\d{1,3}){3}\b|(?<=ENOTFOUND )\S+/g, '<broker>')
  return { level: level === kafkajs.logLevel.ERROR ? 'error' : 'warn', message: `kafka ${namespace}: ${text}` }
}
