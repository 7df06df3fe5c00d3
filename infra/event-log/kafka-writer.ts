import kafkajs, { type CompressionTypes, type Kafka, type Message, type Producer } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import { toAppError } from './kafka-errors.ts'
import { MESSAGE_BYTES_MAX } from './kafka-topics.ts'

/** kafkajs puts the events of one send and partition into one record batch, which has to stay below the topic's limit. */
const SEND_BYTES_MAX = MESSAGE_BYTES_MAX / 2
/** Frame, key and headers of an event; generous, the true size is about 200. */
const EVENT_OVERHEAD_BYTES = 4_096
const SEND_TIMEOUT_MS = 30_000

/**
 * Appends to one Kafka topic, one send at a time, through an idempotent producer of its own.
 *
 * Both halves of that are needed. kafkajs takes back the sequence numbers of a failed send; the next send reuses them, and a
 * broker that did store the failed one takes the next for its repetition and drops it, with a success as the answer. So no
 * other send may run while one is being retried, and a producer with a failed send is thrown away with its numbers.
 */
export class KafkaTopicWriter {
  readonly #kafka: Kafka
  readonly #topic: string
  readonly #partitionOf: (key: string) => number
  readonly #compression: CompressionTypes
  #turn: Promise<unknown> = Promise.resolve()
  #producer: Producer | undefined

  constructor(options: {
    readonly kafka: Kafka
    readonly topic: string
    readonly partitions: number
    readonly compression: 'none' | 'gzip'
  }) {
    this.#kafka = options.kafka
    this.#topic = options.topic
    this.#partitionOf = partitionByKey(options.topic, options.partitions)
    this.#compression = options.compression === 'gzip' ? kafkajs.CompressionTypes.GZIP : kafkajs.CompressionTypes.None
  }

  async append(events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const sent = this.#turn.then(() => this.#send(events))
    // The next append waits for this one, whatever becomes of it; the failure goes to the caller of this one.
    this.#turn = sent.then(
      () => undefined,
      () => undefined,
    )
    return sent
  }

  async close(): Promise<void> {
    await this.#turn
    await this.#discard()
  }

  async #send(events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const positions: Position[] = []
    for (const chunk of chunksOf(events)) positions.push(...(await this.#sendChunk(chunk)))
    return positions
  }

  async #sendChunk(events: readonly EncodedEvent[]): Promise<Position[]> {
    const messages = events.map((event) => toMessage(event, this.#partitionOf(event.key)))
    try {
      const producer = await this.#connected()
      const stored = await producer.send({
        topic: this.#topic,
        acks: -1,
        timeout: SEND_TIMEOUT_MS,
        compression: this.#compression,
        messages,
      })
      return positionsOf(messages, new Map(stored.map(({ partition, baseOffset }) => [partition, baseOffset])))
    } catch (error) {
      await this.#discard()
      throw toAppError(error, 'append')
    }
  }

  async #connected(): Promise<Producer> {
    if (this.#producer === undefined) {
      const producer = this.#kafka.producer({
        idempotent: true,
        allowAutoTopicCreation: false,
        createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      })
      this.#producer = producer
      await producer.connect()
    }
    return this.#producer
  }

  async #discard(): Promise<void> {
    const producer = this.#producer
    this.#producer = undefined
    await producer?.disconnect()
  }
}

/** The partition that every Kafka client's default partitioner gives a key: murmur2 of the key, modulo partitions. */
function partitionByKey(topic: string, partitions: number): (key: string) => number {
  const partition = kafkajs.Partitioners.DefaultPartitioner()
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 0,
    replicas: [],
    isr: [],
  }))
  return (key) => partition({ topic, partitionMetadata, message: { key, value: null } })
}

type PlacedMessage = Message & { readonly partition: number }

function toMessage(event: EncodedEvent, partition: number): PlacedMessage {
  const { data } = event
  return {
    partition,
    key: event.key,
    value: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    headers: { id: event.id, type: event.type, version: String(event.version), time: event.time },
  }
}

function* chunksOf(events: readonly EncodedEvent[]): Iterable<EncodedEvent[]> {
  let chunk: EncodedEvent[] = []
  let chunkBytes = 0
  for (const event of events) {
    const bytes = event.data.byteLength + EVENT_OVERHEAD_BYTES
    if (bytes > MESSAGE_BYTES_MAX) {
      throw new AppError('event_log', `an event of ${event.data.byteLength} bytes exceeds ${MESSAGE_BYTES_MAX}`)
    }
    if (chunk.length > 0 && chunkBytes + bytes > SEND_BYTES_MAX) {
      yield chunk
      chunk = []
      chunkBytes = 0
    }
    chunk.push(event)
    chunkBytes += bytes
  }
  if (chunk.length > 0) yield chunk
}

/**
 * Events of one send lie one after the other in their partition. A partition that the answer does not mention was not
 * written: kafkajs forgets one whose leader moves, in the middle of a send, to a broker that has already answered.
 */
function positionsOf(
  messages: readonly PlacedMessage[],
  baseOffsets: ReadonlyMap<number, string | undefined>,
): Position[] {
  const next = new Map<number, bigint>()
  return messages.map(({ partition }) => {
    const offset = next.get(partition) ?? BigInt(baseOffsets.get(partition) ?? -1)
    if (offset < 0n) {
      throw new AppError('event_log', 'Kafka: append failed (a partition has not answered)', { retryable: true })
    }
    next.set(partition, offset + 1n)
    return { partition, offset }
  })
}
