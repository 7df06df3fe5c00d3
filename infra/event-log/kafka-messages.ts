import kafkajs, { type KafkaMessage, type Message, type RecordMetadata } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import type { StoredEvent } from '../ports/event-log.ts'
import { MESSAGE_BYTES_MAX } from './kafka-topics.ts'

/** kafkajs puts the events of one send and partition into one record batch, which has to stay below the topic's limit. */
const SEND_BYTES_MAX = MESSAGE_BYTES_MAX / 2
/** Frame, key and headers of an event; generous, the true size is about 200. */
const EVENT_OVERHEAD_BYTES = 4_096

/** A topic as its writers see it. */
export interface KafkaTopic {
  /** As Kafka knows it. */
  readonly name: string
  partitionOf(key: string): number
}

export type PlacedMessage = Message & { readonly partition: number }

/** Keys go to the partition that every Kafka client's default partitioner gives them: murmur2 of the key, modulo partitions. */
export function openKafkaTopic(name: string, partitions: number): KafkaTopic {
  const partition = kafkajs.Partitioners.DefaultPartitioner()
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 0,
    replicas: [],
    isr: [],
  }))
  return { name, partitionOf: (key) => partition({ topic: name, partitionMetadata, message: { key, value: null } }) }
}

export function toMessage(event: EncodedEvent, topic: KafkaTopic): PlacedMessage {
  const { data } = event
  return {
    partition: topic.partitionOf(event.key),
    key: event.key,
    value: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    headers: { id: event.id, type: event.type, version: String(event.version), time: event.time },
  }
}

/** A message that no writer of ours has made lacks the headers: it gets a type that nothing decodes, so it is set aside. */
export function toStoredEvent(partition: number, message: KafkaMessage): StoredEvent {
  const header = (name: string) => message.headers?.[name]?.toString() ?? ''
  return {
    position: { partition, offset: BigInt(message.offset) },
    event: {
      id: header('id'),
      type: header('type'),
      version: Number(header('version')),
      key: message.key?.toString() ?? '',
      time: header('time'),
      data: message.value ?? new Uint8Array(),
    },
  }
}

/** The events in parts that can be sent at once. Throws AppError `event_log` when one of them is too large for the topics. */
export function sendsOf(events: readonly EncodedEvent[]): EncodedEvent[][] {
  const sends: EncodedEvent[][] = []
  let send: EncodedEvent[] = []
  let sendBytes = 0
  for (const event of events) {
    const bytes = event.data.byteLength + EVENT_OVERHEAD_BYTES
    if (bytes > MESSAGE_BYTES_MAX) {
      throw new AppError('event_log', `an event of ${event.data.byteLength} bytes exceeds ${MESSAGE_BYTES_MAX}`)
    }
    if (send.length > 0 && sendBytes + bytes > SEND_BYTES_MAX) {
      sends.push(send)
      send = []
      sendBytes = 0
    }
    send.push(event)
    sendBytes += bytes
  }
  if (send.length > 0) sends.push(send)
  return sends
}

/**
 * Events of one send lie one after the other in their partition. A partition that the answer does not mention was not
 * written: kafkajs forgets one whose leader moves, in the middle of a send, to a broker that has already answered.
 */
export function positionsOf(messages: readonly PlacedMessage[], stored: readonly RecordMetadata[]): Position[] {
  const next = new Map(stored.map(({ partition, baseOffset = '-1' }) => [partition, BigInt(baseOffset)]))
  return messages.map(({ partition }) => {
    const offset = next.get(partition) ?? -1n
    if (offset < 0n) {
      throw new AppError('event_log', 'Kafka: append failed (a partition has not answered)', { retryable: true })
    }
    next.set(partition, offset + 1n)
    return { partition, offset }
  })
}
