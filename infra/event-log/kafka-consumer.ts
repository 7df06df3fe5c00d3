import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import { pause } from '../../schemas/wait.ts'
import type { Offsets, StoredEvent } from '../ports/event-log.ts'
import { committedMessages } from './kafka-committed.ts'
import { isKafkaError, toAppError } from './kafka-errors.ts'
import { toStoredEvent } from './kafka-messages.ts'
import { MESSAGE_BYTES_MAX } from './kafka-topics.ts'

/**
 * A member that is silent for this long is taken for dead and its partitions go to another: so long they stand still when a
 * process is killed. A member is heard between two fetches and, by a timer, while a handler runs, also while its group is
 * being divided; four beats in a row have to be lost, or the process be stopped for that long. One that was wrongly taken for
 * dead joins again, and what it had not committed comes a second time.
 */
const SESSION_TIMEOUT_MS = 10_000
const HEARTBEAT_MS = 2_500
/** A handler may take this long while the group is being divided anew; after it, its batch also goes to another member. */
const REBALANCE_TIMEOUT_MS = 120_000
/** An idle fetch is held open by the broker for this long; stopping has to wait for it. */
const FETCH_WAIT_MS = 500
const FETCH_BYTES_MAX = 2 * MESSAGE_BYTES_MAX
/** A fetch that may linger is answered when this much is there, of all partitions together: more makes no better batches. */
const LINGER_BYTES = 256 * 1024
/** Pause before joining the group again after Kafka has failed; doubles while it goes on failing. */
const REJOIN_FIRST_MS = 200
const REJOIN_MAX_MS = 5_000

/** Records of one partition, one after the other. */
export interface KafkaBatch {
  readonly partition: number
  /** None when all that was fetched are markers of transactions and events of aborted ones. */
  readonly events: readonly StoredEvent[]
  /** Offset of the last record, which may be a marker. */
  readonly last: bigint
  /** Whether the partition still is this member's. */
  isCurrent(): boolean
  /** Everything up to this offset is not fetched again by this member. */
  resolve(offset: bigint): void
  /** Everything up to this offset is not fetched again by the group. */
  commit(offset: bigint): Promise<void>
  /** Between two parts of a batch: rejects when the group is being divided anew, and so ends the batch. */
  heartbeat(): Promise<void>
}

export interface KafkaRun {
  readonly kafka: Kafka
  readonly topic: string
  readonly groupId: string
  readonly signal: AbortSignal
  /** How long the broker may keep a small answer back for more to come, ms. */
  readonly lingerMs?: number
  /** Where a member without committed offsets begins; asked each time that one joins. Not named = at the beginning. */
  startAt?(): Offsets
  /** Told of every failure that is waited out. */
  onFailure(error: AppError): void
  /** `end` ends the run after this batch, with an error if there is one. What is not resolved is fetched again. */
  onBatch(batch: KafkaBatch, end: EndRun): Promise<void>
}

export type EndRun = (outcome?: { readonly error: unknown }) => void

/**
 * Runs one member of a consumer group until the signal aborts or `end` is called. Failures of Kafka that may pass are waited
 * out; the others reject (AppError). Batches come one at a time; after a failure they come again from what was committed.
 * When it settles, no handler is running and the member has left its group.
 */
export async function runKafkaConsumer(run: KafkaRun): Promise<void> {
  await waitOutKafka(run, (succeeded) =>
    runMember({
      ...run,
      onBatch: (batch, end) => {
        succeeded()
        return run.onBatch(batch, end)
      },
    }),
  )
}

/**
 * Makes the attempt again while it fails in a way that may pass, with pauses that double until it calls `succeeded`. Resolves
 * with undefined when the signal aborts between two attempts.
 */
export async function waitOutKafka<Result>(
  { signal, onFailure }: Pick<KafkaRun, 'signal' | 'onFailure'>,
  attempt: (succeeded: () => void) => Promise<Result>,
): Promise<Result | undefined> {
  let failures = 0
  for (;;) {
    try {
      return await attempt(() => {
        failures = 0
      })
    } catch (error) {
      if (!(error instanceof AppError && error.retryable)) throw error
      if (!signal.aborted) onFailure(error)
      await pause(Math.min(REJOIN_FIRST_MS * 2 ** failures++, REJOIN_MAX_MS), signal)
      if (signal.aborted) return undefined
    }
  }
}

async function runMember(run: KafkaRun): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let ending = run.signal.aborted
  let handling: Promise<void> = Promise.resolve()
  const end: EndRun = (outcome) => {
    ending = true
    if (outcome === undefined) ended.resolve()
    else ended.reject(outcome.error)
  }
  const handle = (batch: KafkaBatch): Promise<void> => {
    handling = handling.catch(() => undefined).then(() => (ending ? undefined : run.onBatch(batch, end)))
    return handling
  }
  const onAbort = () => end()
  run.signal.addEventListener('abort', onAbort)
  const consumer = openConsumer(run)
  consumer.on(consumer.events.CRASH, ({ payload }) => end({ error: toAppError(payload.error, 'consume') }))
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    if (payload.batchSize === 0) handle(skippedBatch(consumer, payload)).catch((error) => end({ error }))
  })
  try {
    if (ending) return
    await consumer.connect()
    await consumer.subscribe({ topics: [run.topic], fromBeginning: true })
    const running = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // Handlers of one group never run at the same time; who wants that starts another process.
      partitionsConsumedConcurrently: 1,
      eachBatch: (payload) => withHeartbeats(payload, () => handle(fetchedBatch(payload))),
    })
    // Before the first fetch, hence before `run` has resolved.
    for (const [partition, offset] of run.startAt?.() ?? []) {
      consumer.seek({ topic: run.topic, partition, offset: String(offset) })
    }
    await running
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

function openConsumer({ kafka, groupId, lingerMs = 0 }: KafkaRun): Consumer {
  return kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: REBALANCE_TIMEOUT_MS,
    heartbeatInterval: HEARTBEAT_MS,
    ...(lingerMs > 0 ? { maxWaitTimeInMs: lingerMs, minBytes: LINGER_BYTES } : { maxWaitTimeInMs: FETCH_WAIT_MS }),
    maxBytesPerPartition: MESSAGE_BYTES_MAX,
    maxBytes: FETCH_BYTES_MAX,
    allowAutoTopicCreation: false,
    // A consumer that kafkajs restarts behind our back could not be stopped while it starts: we start a new one instead.
    retry: { restartOnFailure: async () => false },
  })
}

function fetchedBatch(payload: EachBatchPayload): KafkaBatch {
  const { batch, isRunning, isStale, resolveOffset, commitOffsetsIfNecessary, heartbeat } = payload
  const { topic, partition } = batch
  const { messages, last } = committedMessages(batch)
  return {
    partition,
    events: messages.map((message) => toStoredEvent(partition, message)),
    last,
    isCurrent: () => isRunning() && !isStale(),
    resolve: (offset) => resolveOffset(String(offset)),
    // Not consumer.commitOffsets: that one does nothing, silently, once the consumer has been told to stop.
    commit: (offset) =>
      commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset: String(offset + 1n) }] }] }),
    heartbeat,
  }
}

/**
 * Records that kafkajs has resolved without handing them over, because none of them is a committed message. The group's
 * progress has to pass them all the same, or it would never reach the end of a partition that ends with them.
 */
function skippedBatch(
  consumer: Consumer,
  { topic, partition, lastOffset }: { readonly topic: string; readonly partition: number; readonly lastOffset: string },
): KafkaBatch {
  return {
    partition,
    events: [],
    last: BigInt(lastOffset),
    isCurrent: () => true,
    resolve: () => {},
    heartbeat: async () => {},
    async commit(offset) {
      try {
        await consumer.commitOffsets([{ topic, partition, offset: String(offset + 1n) }])
      } catch (error) {
        // The partition has gone to another member, who will skip them as well.
        if (!isKafkaError(error)) throw error
      }
    },
  }
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
