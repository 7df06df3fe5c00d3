import kafkajs, { type CompressionTypes, type Kafka, type Producer, type Transaction } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import type { Position } from '../../schemas/events/envelope.ts'
import type { Lease } from '../ports/event-log.ts'
import { toAppError } from './kafka-errors.ts'
import { joinLeaseGroup, type Membership } from './kafka-lease-group.ts'
import { type KafkaTopic, positionsOf, sendsOf, toMessage } from './kafka-messages.ts'
import { SEND_TIMEOUT_MS } from './kafka-writer.ts'

/**
 * The broker aborts a transaction that is open for longer. Until its end, readers do not get past its events: after a crash
 * that is normally until the next holder is there, and this long (and up to 10 s more) when none comes.
 */
const TRANSACTION_TIMEOUT_MS = 15_000
/** A transaction is refused for a few milliseconds while the one before is being completed: asked again soon, then less soon. */
const RETRY_FIRST_MS = 10
const RETRY_PAUSE_MAX_MS = 5_000
/** With the pauses doubling these are about 25 s, longer than the election of a new leader. */
const RETRIES_MAX = 13

export interface KafkaLeaseOptions {
  readonly kafka: Kafka
  /** For messages. */
  readonly name: string
  readonly leaseTopic: string
  readonly groupId: string
  /** One per lease: whoever begins to use it ends the transactions of all who used it before. */
  readonly transactionalId: string
  readonly compression: CompressionTypes
  readonly signal: AbortSignal
  topicOf(topic: Topic): KafkaTopic
  /** Waits until readers are given everything up to these positions. */
  readable(topic: Topic, positions: readonly Position[]): Promise<void>
  onRelease(lease: Lease): void
}

/** Waits for the lease, then holds it. Rejects with the signal's reason when it aborts, else with an AppError. */
export async function openKafkaLease(options: KafkaLeaseOptions): Promise<KafkaLease> {
  const { kafka, leaseTopic, groupId, transactionalId, signal } = options
  const membership = await joinLeaseGroup({ kafka, topic: leaseTopic, groupId, signal })
  const producer = kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    retry: { initialRetryTime: RETRY_FIRST_MS, maxRetryTime: RETRY_PAUSE_MAX_MS, retries: RETRIES_MAX },
  })
  try {
    await producer.connect()
    // kafkajs takes up the transactional id, which fences its former user, only when the first transaction begins.
    const first = await producer.transaction()
    await first.abort()
    signal.throwIfAborted()
    return new KafkaLease(options, membership, producer)
  } catch (error) {
    await Promise.all([producer.disconnect(), membership[Symbol.asyncDispose]()])
    throw toAppError(error, 'taking a lease')
  }
}

/**
 * A lease in Kafka. Its group's assignment says who should hold it; its transactional id says who does: the broker refuses
 * whatever a former holder sends once another has taken up the id. So two may believe for a while that they hold it, and only
 * the later one can write.
 *
 * An append is one transaction for each 8 MB of it, one at a time. A transaction that fails loses the lease, however it failed:
 * kafkajs cannot go on with its producer (KafkaTopicWriter says why; besides, it knows no way out of a failed commit), and a
 * new one would take up the id anew, and with that fence a successor who may have begun to write.
 */
export class KafkaLease implements Lease {
  readonly #options: KafkaLeaseOptions
  readonly #membership: Membership
  readonly #producer: Producer
  readonly #lost = new AbortController()
  #turn: Promise<unknown> = Promise.resolve()
  #left: Promise<void> | undefined

  constructor(options: KafkaLeaseOptions, membership: Membership, producer: Producer) {
    this.#options = options
    this.#membership = membership
    this.#producer = producer
    const onLost = () => this.#lose(membership.lost.reason)
    membership.lost.addEventListener('abort', onLost)
    if (membership.lost.aborted) onLost()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  async append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    this.#refuseWithoutLease()
    const appended = this.#turn.then(() => this.#append(topic, events))
    this.#turn = appended.catch(() => undefined)
    return appended
  }

  async #append(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const positions: Position[] = []
    for (const send of sendsOf(events)) {
      this.lost.throwIfAborted()
      positions.push(...(await this.#commit(topic, send)))
    }
    return positions
  }

  async #commit(topic: Topic, events: readonly EncodedEvent[]): Promise<readonly Position[]> {
    const { topicOf, compression, readable } = this.#options
    const kafkaTopic = topicOf(topic)
    const messages = events.map((event) => toMessage(event, kafkaTopic))
    let transaction: Transaction | undefined
    try {
      transaction = await this.#producer.transaction()
      const stored = await transaction.send({
        topic: kafkaTopic.name,
        acks: -1,
        timeout: SEND_TIMEOUT_MS,
        compression,
        messages,
      })
      const positions = positionsOf(messages, stored)
      await transaction.commit()
      await readable(topic, positions)
      return positions
    } catch (error) {
      this.#lose(toAppError(error, 'append'))
      // What is left open keeps readers waiting until its time is up. A former holder's is not its own any more to end.
      if (transaction?.isActive() === true) await transaction.abort().catch(() => undefined)
      throw this.lost.reason
    }
  }

  #refuseWithoutLease(): void {
    this.lost.throwIfAborted()
    if (this.#left !== undefined) {
      throw new AppError('lease_lost', `the lease ${this.#options.name} has been given back`)
    }
  }

  #lose(cause: unknown): void {
    if (this.lost.aborted) return
    const why = cause instanceof Error ? cause.message : String(cause)
    this.#lost.abort(new AppError('lease_lost', `the lease ${this.#options.name} is lost: ${why}`, { cause }))
    // Membership without the right to write would keep others from both.
    this.#leave().catch(() => undefined)
  }

  #leave(): Promise<void> {
    this.#left ??= this.#turn.then(async () => {
      await this.#producer.disconnect()
      await this.#membership[Symbol.asyncDispose]()
      this.#options.onRelease(this)
    })
    return this.#left
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave()
  }
}
