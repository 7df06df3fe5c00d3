import { randomUUID } from 'node:crypto'
import kafkajs, { type Admin, type CompressionTypes, type Kafka, type LogEntry } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import type { ConsumeOptions, EventLog, Lease, Offsets, ReadOptions, StoredEvent } from '../ports/event-log.ts'
import { deleteGroup, endOffsets, groupLag, untilReadable } from './kafka-admin.ts'
import { type KafkaBatch, runKafkaConsumer, waitOutKafka } from './kafka-consumer.ts'
import { withKafkaErrors } from './kafka-errors.ts'
import { openKafkaLease } from './kafka-lease.ts'
import { type KafkaTopic, openKafkaTopic } from './kafka-messages.ts'
import { readKafkaTopic } from './kafka-read.ts'
import { leaseTopic, openTopics, type TopicLayout } from './kafka-topics.ts'
import { KafkaTopicWriter } from './kafka-writer.ts'

const CONNECT_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000
/** With the pauses doubling from 0.2 s to 5 s these are about 20 s, longer than the election of a new leader. */
const RETRIES_MAX = 8
const RETRY_FIRST_MS = 200
const RETRY_PAUSE_MAX_MS = 5_000
/** kafkajs warns of this with every idempotent producer; KafkaTopicWriter says how it is dealt with. */
const LIMITED_RETRIES = 'Limiting retries for the idempotent producer'
/** Kafka's answer, also as the message of an error, while the transaction before is being completed: asked again at once. */
const CONCURRENT_TRANSACTION = /while another concurrent operation on the same transaction was ongoing/
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
 *
 * A lease's events are appended in transactions; readers get them when these are committed, which is before `append` resolves.
 * While a transaction is open, readers wait before its partition's first event of it: see kafka-lease.ts for how long.
 * Throws AppError: `config` when an existing topic would lose events, `event_log` when no broker answers.
 */
export async function openKafkaEventLog(options: KafkaEventLogOptions): Promise<EventLog> {
  const log = options.log ?? ((line) => line.level === 'error' && process.stderr.write(`${line.message}\n`))
  const newClient = () =>
    new kafkajs.Kafka({
      clientId: options.clientId,
      brokers: [...options.brokers],
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      retry: { retries: RETRIES_MAX, initialRetryTime: RETRY_FIRST_MS, maxRetryTime: RETRY_PAUSE_MAX_MS },
      logLevel: kafkajs.logLevel.WARN,
      logCreator: () => (entry) => {
        if (!isExpected(entry)) log(toLogLine(entry))
      },
    })
  const kafka = newClient()
  const admin = kafka.admin()
  return withKafkaErrors('opening what KAFKA_BROKERS names', async () => {
    try {
      await admin.connect()
      const partitions = await openTopics(admin, options)
      const topics = new Map<Topic, KafkaTopic>()
      for (const [topic, count] of partitions) topics.set(topic, openKafkaTopic(options.topicPrefix + topic, count))
      const { GZIP, None } = kafkajs.CompressionTypes
      const compression = options.compression === 'gzip' ? GZIP : None
      return new KafkaEventLog({ topicPrefix: options.topicPrefix, compression, kafka, newClient, admin, topics, log })
    } catch (error) {
      await admin.disconnect()
      throw error
    }
  })
}

interface Wiring {
  readonly topicPrefix: string
  readonly compression: CompressionTypes
  readonly kafka: Kafka
  /**
   * For each member of a group that may have others in this process: members on one client share, unawares, what kafkajs
   * remembers of their group's offsets, and one that is given no partition empties it for all.
   */
  newClient(): Kafka
  readonly admin: Admin
  readonly topics: ReadonlyMap<Topic, KafkaTopic>
  readonly log: (line: KafkaLogLine) => void
}

class KafkaEventLog implements EventLog {
  readonly #wiring: Wiring
  readonly #writers = new Map<Topic, KafkaTopicWriter>()
  readonly #leases = new Set<Lease>()
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
    const { kafka, compression } = this.#wiring
    const writer = new KafkaTopicWriter({ kafka, topic: this.#topic(topic), compression })
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

  async #consume(options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const { topic, group, maxBatch, lingerMs, handle } = options
    await runKafkaConsumer({
      lingerMs: lingerMs?.(0) ?? 0,
      kafka: this.#wiring.newClient(),
      topic: this.#topic(topic).name,
      groupId: this.#groupId(topic, group),
      signal,
      onFailure: this.#waitedOut,
      onBatch: async (batch, end) => {
        for (const { events, last } of partsOf(batch, maxBatch)) {
          if (signal.aborted || !batch.isCurrent()) return
          try {
            if (events.length > 0) await handle(events)
          } catch (error) {
            return end({ error: new HandlerFailure(error) })
          }
          batch.resolve(last)
          await batch.commit(last)
          await batch.heartbeat()
        }
      },
    })
  }

  read({ topic, signal, from = new Map() }: ReadOptions): AsyncIterable<StoredEvent> {
    const ends = this.ends(topic)
    ends.catch(() => undefined) // asked for at once, because "now" is the moment of the call; awaited by the iteration
    return this.#readTo(ends, { topic, signal: AbortSignal.any([signal, this.#closing.signal]), from })
  }

  async *#readTo(
    asked: Promise<Offsets>,
    { topic, signal, from }: Required<Omit<ReadOptions, 'envelopesOnly' | 'oneByOne'>>,
  ): AsyncGenerator<StoredEvent> {
    const ends = await asked
    if ([...ends].every(([partition, end]) => (from.get(partition) ?? 0n) >= end)) return
    const { kafka, topicPrefix } = this.#wiring
    const groupId = `${topicPrefix}read.${randomUUID()}`
    try {
      yield* readKafkaTopic({
        kafka,
        topic: this.#topic(topic).name,
        groupId,
        ends,
        from,
        signal,
        track: (connected) => this.#track(connected),
        onFailure: this.#waitedOut,
      })
    } finally {
      await this.#forgetGroup(groupId)
    }
  }

  async ends(topic: Topic): Promise<Offsets> {
    return endOffsets(this.#wiring.admin, this.#topic(topic).name)
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

  /** This counts also the markers that follow a lease's events, and in a compacted topic the events dropped since. */
  async lag(topic: Topic, group: string, until?: Offsets): Promise<bigint> {
    return groupLag(this.#wiring.admin, this.#topic(topic).name, { groupId: this.#groupId(topic, group), until })
  }

  /** A group without progress starts at the beginning, and only the broker knows whether another process consumes. */
  async rewind(topic: Topic, group: string): Promise<void> {
    if ((await deleteGroup(this.#wiring.admin, this.#groupId(topic, group))) === 'in use') {
      throw new AppError('usage', `group ${group} is consuming ${topic}: stop it, then set it back`)
    }
  }

  async lease(name: string, signal: AbortSignal): Promise<Lease> {
    const taken = this.#waitForLease(name, AbortSignal.any([signal, this.#closing.signal]))
    this.#track(
      taken.then(
        () => undefined,
        () => undefined,
      ),
    )
    return taken
  }

  async #waitForLease(name: string, signal: AbortSignal): Promise<Lease> {
    const { newClient, admin, compression, topicPrefix } = this.#wiring
    const kafka = newClient()
    const lease = await waitOutKafka({ signal, onFailure: this.#waitedOut }, () =>
      openKafkaLease({
        kafka,
        name,
        leaseTopic: leaseTopic({ topicPrefix }),
        groupId: `${topicPrefix}lease.${name}`,
        transactionalId: topicPrefix + name,
        compression,
        signal,
        topicOf: (topic) => this.#topic(topic),
        readable: (topic, positions) => untilReadable(admin, this.#topic(topic).name, positions),
        onRelease: (lease) => this.#leases.delete(lease),
      }),
    )
    if (lease === undefined) throw signal.reason
    this.#leases.add(lease)
    return lease
  }

  #topic(topic: Topic): KafkaTopic {
    const found = this.#wiring.topics.get(topic)
    if (found === undefined) throw new Error(`no topic ${topic}`)
    return found
  }

  /** A Kafka group for each topic: members of one group would otherwise be handed topics that they do not consume. */
  #groupId(topic: Topic, group: string): string {
    return `${this.#wiring.topicPrefix}${group}.${topic}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new AppError('event_log', 'the event log has been closed'))
    await Promise.all(this.#running)
    await Promise.all([...this.#leases].map((lease) => lease[Symbol.asyncDispose]()))
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

interface Part {
  readonly events: readonly StoredEvent[]
  /** Offset up to which the partition is done when these events are. */
  readonly last: bigint
}

/** The batch in parts that a handler gets at once. The last one takes along what follows the last event. */
function* partsOf({ events, last }: KafkaBatch, eventsMax: number): Iterable<Part> {
  let part: StoredEvent[] = []
  let bytes = 0
  for (const stored of events) {
    bytes += stored.event.data.byteLength
    if (part.length > 0 && (part.length === eventsMax || bytes > BATCH_BYTES_MAX)) {
      yield { events: part, last: stored.position.offset - 1n }
      part = []
      bytes = stored.event.data.byteLength
    }
    part.push(stored)
  }
  yield { events: part, last }
}

function isExpected({ log: { message, error } }: LogEntry): boolean {
  return message.startsWith(LIMITED_RETRIES) || CONCURRENT_TRANSACTION.test(`${message} ${error}`)
}

function toLogLine({ level, namespace, log }: LogEntry): KafkaLogLine {
  const message = log.error === undefined ? log.message : `${log.message}: ${log.error}`
  const text = message.replace(/\b[\w.-]+:\d{2,5}\b|\b\d{1,3}(\.\d{1,3}){3}\b|(?<=ENOTFOUND )\S+/g, '<broker>')
  return { level: level === kafkajs.logLevel.ERROR ? 'error' : 'warn', message: `kafka ${namespace}: ${text}` }
}
