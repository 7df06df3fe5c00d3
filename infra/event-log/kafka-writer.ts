import kafkajs, { type CompressionTypes, type Kafka, type Producer } from 'kafkajs'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import { toAppError } from './kafka-errors.ts'
import { type KafkaTopic, positionsOf, sendsOf, toMessage } from './kafka-messages.ts'

export const SEND_TIMEOUT_MS = 30_000

/**
 * Appends to one Kafka topic, one send at a time, through an idempotent producer of its own.
 *
 * Both halves of that are needed. kafkajs takes back the sequence numbers of a failed send; the next send reuses them, and a
 * broker that did store the failed one takes the next for its repetition and drops it, with a success as the answer. So no
 * other send may run while one is being retried, and a producer with a failed send is thrown away with its numbers.
 */
export class KafkaTopicWriter {
  readonly #kafka: Kafka
  readonly #topic: KafkaTopic
  readonly #compression: CompressionTypes
  #turn: Promise<unknown> = Promise.resolve()
  #producer: Producer | undefined

  constructor(options: { readonly kafka: Kafka; readonly topic: KafkaTopic; readonly compression: CompressionTypes }) {
    this.#kafka = options.kafka
    this.#topic = options.topic
    this.#compression = options.compression
  }

  async append(events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const sent = this.#turn.then(() => this.#sendAll(events))
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

  async #sendAll(events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const positions: Position[] = []
    for (const send of sendsOf(events)) positions.push(...(await this.#send(send)))
    return positions
  }

  async #send(events: readonly EncodedEvent[]): Promise<Position[]> {
    const messages = events.map((event) => toMessage(event, this.#topic))
    try {
      const producer = await this.#connected()
      const stored = await producer.send({
        topic: this.#topic.name,
        acks: -1,
        timeout: SEND_TIMEOUT_MS,
        compression: this.#compression,
        messages,
      })
      return positionsOf(messages, stored)
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
