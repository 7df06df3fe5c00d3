import { setTimeout as delay } from 'node:timers/promises'
import type { EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import type { StoredEvent } from '../ports/event-log.ts'
import { isKafkaError, toAppError } from './kafka-errors.ts'
import { MESSAGE_BYTES_MAX } from './kafka-topics.ts'

/** A member that is silent for this long is taken for dead and its partitions go to another. */
const SESSION_TIMEOUT_MS = 30_000
const HEARTBEAT_MS = 3_000
/** A handler may take this long while the group is being divided anew; after it, its batch also goes to another member. */
const REBALANCE_TIMEOUT_MS = 120_000
/** An idle fetch is held open by the broker for this long; stopping has to wait for it. */
const FETCH_WAIT_MS = 500
const FETCH_BYTES_MAX = 2 * MESSAGE_BYTES_MAX
/** Pause before joining the group again after Kafka has failed; doubles while it goes on failing. */
const REJOIN_FIRST_MS = 200
const REJOIN_MAX_MS = 5_000

export interface KafkaRun {
  readonly kafka: Kafka
  readonly topic: string
  readonly groupId: string
  readonly signal: AbortSignal
  /** Told of every failure that is waited out. */
  onFailure(error: AppError): void
  /** `end` ends the run after this batch, with an error if there is one. What is not resolved is fetched again. */
  onBatch(payload: EachBatchPayload, end: (outcome?: { readonly error: unknown }) => void): Promise<void>
}

/**
 * Runs one member of a consumer group until the signal aborts or `end` is called. Failures of Kafka that may pass are waited
 * out; the others reject (AppError). Batches come one at a time; after a failure they come again from what was committed.
 * When it settles, no handler is running and the member has left its group.
 */
export async function runKafkaConsumer(run: KafkaRun): Promise<void> {
  let failures = 0
  const onBatch: KafkaRun['onBatch'] = (payload, end) => {
    failures = 0
    return run.onBatch(payload, end)
  }
  for (;;) {
    try {
      return await runMember({ ...run, onBatch })
    } catch (error) {
      if (!(error instanceof AppError && error.retryable)) throw error
      run.onFailure(error)
      await pause(Math.min(REJOIN_FIRST_MS * 2 ** failures++, REJOIN_MAX_MS), run.signal)
    }
  }
}

async function runMember(run: KafkaRun): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let ending = run.signal.aborted
  let handling: Promise<void> = Promise.resolve()
  const end = (outcome?: { readonly error: unknown }) => {
    ending = true
    if (outcome === undefined) ended.resolve()
    else ended.reject(outcome.error)
  }
  const onAbort = () => end()
  run.signal.addEventListener('abort', onAbort)
  const consumer = openConsumer(run.kafka, run.groupId)
  consumer.on(consumer.events.CRASH, ({ payload }) => end({ error: toAppError(payload.error, 'consume') }))
  try {
    if (ending) return
    await consumer.connect()
    await consumer.subscribe({ topics: [run.topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // Handlers of one group never run at the same time; who wants that starts another process.
      partitionsConsumedConcurrently: 1,
      eachBatch: (payload) => {
        if (ending) return Promise.resolve()
        handling = withHeartbeats(payload, () => run.onBatch(payload, end))
        return handling
      },
    })
    await ended.promise
  } catch (error) {
    throw toAppError(error, 'consume')
  } finally {
    ending = true
    run.signal.removeEventListener('abort', onAbort)
    ended.promise.catch(() => undefined) // it may have been rejected while an earlier step was failing
    await consumer.disconnect()
    // What a handler throws has reached `end`; what kafkajs throws inside a batch has reached its own retries.
    await handling.catch(() => undefined)
  }
}

function openConsumer(kafka: Kafka, groupId: string) {
  return kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: REBALANCE_TIMEOUT_MS,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytesPerPartition: MESSAGE_BYTES_MAX,
    maxBytes: FETCH_BYTES_MAX,
    allowAutoTopicCreation: false,
    // A consumer that kafkajs restarts behind our back could not be stopped while it starts: we start a new one instead.
    retry: { restartOnFailure: async () => false },
  })
}

/** Keeps the member alive while `work` runs, however long it takes. */
async function withHeartbeats(payload: EachBatchPayload, work: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => {
    // "The group is being divided anew" and the like: the heartbeat after the batch gets it again and kafkajs acts on it.
    payload.heartbeat().catch((error: unknown) => {
      if (!isKafkaError(error)) throw error
    })
  }, HEARTBEAT_MS)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
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
