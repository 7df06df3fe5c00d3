import kafkajs, { type Kafka, type PartitionAssigner } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import { toAppError } from './kafka-errors.ts'

/**
 * A holder that is silent for this long is taken for dead. Above the 6 s that brokers allow at least, and low enough for the
 * next holder to be there within 15 s of a death: this, a heartbeat of the one who waits, and the abort of an open transaction.
 */
const SESSION_TIMEOUT_MS = 8_000
/** How long the group waits for a member that has to say that it is still there. */
const REBALANCE_TIMEOUT_MS = 8_000
/** A release is noticed with the next heartbeat, and kafkajs sends one between two fetches. */
const HEARTBEAT_MS = 500
const FETCH_WAIT_MS = 500

/** The one partition of the topic of leases; whoever the group gives it to holds the group's lease. */
export const LEASE_PARTITION = 0

export interface Membership extends AsyncDisposable {
  /** Aborts, with an AppError as the reason, when the group may have given the partition to another member. */
  readonly lost: AbortSignal
}

/**
 * Joins the group and waits until it gives its partition to this member, which then keeps it until it leaves or falls silent.
 * Rejects with the signal's reason when it aborts, else with an AppError.
 */
export async function joinLeaseGroup(options: {
  readonly kafka: Kafka
  readonly topic: string
  readonly groupId: string
  readonly signal: AbortSignal
}): Promise<Membership> {
  const { kafka, topic, groupId, signal } = options
  const given = Promise.withResolvers<void>()
  const lost = new AbortController()
  /** The id under which this member was given the partition. One that the group has dropped comes back with another id. */
  let heldAs: string | undefined
  const fail = (error: unknown) => {
    given.reject(error)
    lost.abort(error)
  }
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [keepHolder(topic, () => heldAs)],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: REBALANCE_TIMEOUT_MS,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    allowAutoTopicCreation: false,
    retry: { restartOnFailure: async () => false },
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
    const isGiven = memberAssignment[topic]?.includes(LEASE_PARTITION) === true
    if (heldAs !== undefined && !(isGiven && memberId === heldAs)) {
      fail(new AppError('lease_lost', 'its group has dropped this member'))
    }
    if (heldAs !== undefined || !isGiven) return
    heldAs = memberId
    given.resolve()
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => fail(toAppError(payload.error, 'holding a lease')))
  const onAbort = () => given.reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  given.promise.catch(() => undefined) // it may be rejected while an earlier step is failing
  try {
    signal.throwIfAborted()
    await consumer.connect()
    await consumer.subscribe({ topics: [topic] })
    await consumer.run({ autoCommit: false, eachMessage: async () => {} })
    await given.promise
  } catch (error) {
    await consumer.disconnect()
    throw toAppError(error, 'waiting for a lease')
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
  return { lost: lost.signal, [Symbol.asyncDispose]: () => consumer.disconnect() }
}

/**
 * Gives the partition to the member that has it, else to any. A member says under which id it was given the partition: a claim
 * from before it was dropped carries an id that it no longer has.
 */
function keepHolder(topic: string, heldAs: () => string | undefined): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol
  const name = 'epochline-keep-holder'
  const version = 0
  return () => ({
    name,
    version,
    async assign({ members }) {
      const holder = members.find((member) => claimOf(member.memberMetadata) === member.memberId) ?? members[0]
      if (holder === undefined) return []
      const assignment = { [topic]: [LEASE_PARTITION] }
      const memberAssignment = MemberAssignment.encode({ version, assignment, userData: Buffer.alloc(0) })
      return [{ memberId: holder.memberId, memberAssignment }]
    },
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({ version, topics, userData: Buffer.from(heldAs() ?? '') }),
    }),
  })

  function claimOf(metadata: Buffer): string | undefined {
    return MemberMetadata.decode(metadata)?.userData.toString()
  }
}
