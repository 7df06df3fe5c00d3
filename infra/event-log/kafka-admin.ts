import { setTimeout as delay } from 'node:timers/promises'
import kafkajs, { type Admin } from 'kafkajs'
import type { Position } from '../../schemas/events/envelope.ts'
import type { Offsets } from '../ports/event-log.ts'
import { isKafkaError, withKafkaErrors } from './kafka-errors.ts'

/** With pauses doubling from 0.2 s these are about 25 s, longer than the election of a new leader. */
const ATTEMPTS_MAX = 8
const PAUSE_FIRST_MS = 200
/** Error codes of the Kafka protocol. */
const NON_EMPTY_GROUP = 68
const GROUP_ID_NOT_FOUND = 69

/** Between two looks whether a transaction can be read; it doubles. */
const LOOK_FIRST_MS = 1
const LOOK_MAX_MS = 100
/**
 * Another open transaction in the same partition holds readers back. One that a dead writer has left open is ended by the brokers: after 15 s, for
 * which they look every 10 s. Until then whoever holds the lease next would decide without what this one has appended.
 */
const READABLE_WAIT_MAX_MS = 30_000

/**
 * For each partition that holds records: the offset behind the last one that readers get. kafkajs asks for that offset, not
 * for the end of the partition, which lies behind it while a transaction is open.
 */
export async function endOffsets(admin: Admin, topic: string): Promise<Map<number, bigint>> {
  const offsets = await ask(admin, 'read', () => admin.fetchTopicOffsets(topic))
  return new Map(
    offsets.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, BigInt(high)]),
  )
}

/**
 * Resolves when readers get everything up to these positions. A commit is answered before its markers have reached the
 * partitions: for a few milliseconds its events are durable, but a read would end before them, and the next transaction of the
 * same producer would be refused.
 */
export async function untilReadable(admin: Admin, topic: string, positions: readonly Position[]): Promise<void> {
  const giveUpAt = performance.now() + READABLE_WAIT_MAX_MS
  for (let pauseMs = LOOK_FIRST_MS; performance.now() < giveUpAt; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
    const ends = await endOffsets(admin, topic)
    if (positions.every(({ partition, offset }) => (ends.get(partition) ?? 0n) > offset)) return
    await delay(pauseMs)
  }
}

/** Number of offsets between what the group has committed, or the beginning, and the end, or `until` where that is given. */
export async function groupLag(
  admin: Admin,
  topic: string,
  { groupId, until }: { readonly groupId: string; readonly until?: Offsets | undefined },
): Promise<bigint> {
  const [offsets, progress] = await ask(admin, 'lag', () =>
    Promise.all([admin.fetchTopicOffsets(topic), admin.fetchOffsets({ groupId, topics: [topic] })]),
  )
  const committed = new Map(progress[0]?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]))
  return offsets.reduce((lag, { partition, low, high }) => {
    const next = committed.get(partition) ?? -1n // also Kafka's answer for a group that has committed nothing
    const end = until === undefined ? BigInt(high) : (until.get(partition) ?? 0n)
    const left = end - (next < 0n ? BigInt(low) : next)
    return left > 0n ? lag + left : lag
  }, 0n)
}

/** Deletes a group with its progress, unless it has members. */
export async function deleteGroup(admin: Admin, groupId: string): Promise<'deleted' | 'unknown' | 'in use'> {
  return ask(admin, 'deleting a group', async () => {
    try {
      await admin.deleteGroups([groupId])
      return 'deleted'
    } catch (error) {
      const code = error instanceof kafkajs.KafkaJSDeleteGroupsError ? error.groups[0]?.errorCode : undefined
      if (code === GROUP_ID_NOT_FOUND) return 'unknown'
      if (code === NON_EMPTY_GROUP) return 'in use'
      throw error
    }
  })
}

/**
 * Asks again while the failure may pass. kafkajs's admin gives up at once when a broker is not the leader that it was
 * remembered as, or has not heard yet of a topic that has just been created.
 */
export async function ask<Answer>(admin: Admin, doing: string, question: () => Promise<Answer>): Promise<Answer> {
  return withKafkaErrors(doing, async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await question()
      } catch (error) {
        if (!isKafkaError(error) || !error.retriable || attempt === ATTEMPTS_MAX) throw error
        await delay(PAUSE_FIRST_MS * 2 ** (attempt - 1))
        await admin.listGroups() // of all its questions the cheapest that makes it look up the leaders anew
      }
    }
  })
}
