import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'
import { COMPACTED_TOPICS, TOPICS, type Topic } from '../../schemas/events/envelope.ts'
import { ask } from './kafka-admin.ts'
import { isAggregateError } from './kafka-errors.ts'

/** Largest record batch that the topics take. One event of 100,000 validators' rewards is below 1 MB. */
export const MESSAGE_BYTES_MAX = 16 * 1024 * 1024
/** A read to the end must not lose an event of a key to a newer one behind that end: nothing younger is compacted. */
const COMPACTION_LAG_MS = 24 * 60 * 60 * 1000
/** From this many copies on, two must have an event before `append` resolves; with fewer, one broker could stop all. */
const REPLICAS_FOR_TWO_COPIES = 3

/** Holds no events: the groups that decide who holds a lease are about its one partition. */
const LEASE_TOPIC = 'leases'

export interface TopicLayout {
  readonly topicPrefix: string
  /** Of topics that are created; a topic that exists keeps its number. */
  readonly partitions: number
  readonly replicationFactor: number
}

/**
 * Creates the topics that do not exist and returns the number of partitions of each. Topics that exist are not changed;
 * one whose settings would lose events is refused with AppError `config`, as are more copies than there are brokers.
 */
export async function openTopics(admin: Admin, layout: TopicLayout): Promise<ReadonlyMap<Topic, number>> {
  const existing = new Set(await admin.listTopics())
  const missing = TOPICS.filter((topic) => !existing.has(layout.topicPrefix + topic))
  const wanted = missing.map((topic) => topicConfig(topic, layout))
  if (!existing.has(leaseTopic(layout))) {
    wanted.push({ topic: leaseTopic(layout), numPartitions: 1, replicationFactor: layout.replicationFactor })
  }
  if (wanted.length > 0) {
    // Another process may create them at the same moment: kafkajs then answers false instead of failing. It can wait for
    // their leaders, but fails when a broker has not heard of a topic yet; the question below is asked until all answer.
    await createTopics(admin, wanted, layout)
  }
  const names = [...TOPICS.map((topic) => layout.topicPrefix + topic), leaseTopic(layout)]
  const { topics } = await ask(admin, 'opening its topics', () => admin.fetchTopicMetadata({ topics: names }))
  await refuseForgetfulTopics(admin, layout)
  const partitions = new Map(topics.map(({ name, partitions }) => [name, partitions.length]))
  return new Map(TOPICS.map((topic) => [topic, partitions.get(layout.topicPrefix + topic) ?? 0]))
}

async function createTopics(admin: Admin, topics: ITopicConfig[], layout: TopicLayout): Promise<void> {
  try {
    await admin.createTopics({ waitForLeaders: false, topics })
  } catch (error) {
    if (!isAggregateError(error) || !error.errors.some(asksForTooManyCopies)) throw error
    throw new AppError(
      'config',
      `KAFKA_REPLICATION_FACTOR is ${layout.replicationFactor}, and Kafka has not so many brokers at the moment: start them, or have fewer copies, e.g. KAFKA_REPLICATION_FACTOR=1.`,
    )
  }
}

function asksForTooManyCopies(error: Error | string): boolean {
  return error instanceof Error && 'type' in error && error.type === 'INVALID_REPLICATION_FACTOR'
}

export function leaseTopic({ topicPrefix }: Pick<TopicLayout, 'topicPrefix'>): string {
  return topicPrefix + LEASE_TOPIC
}

function topicConfig(topic: Topic, { topicPrefix, partitions, replicationFactor }: TopicLayout): ITopicConfig {
  const settings: Record<string, string> = {
    'retention.ms': '-1',
    'retention.bytes': '-1',
    'max.message.bytes': String(MESSAGE_BYTES_MAX),
    'min.insync.replicas': replicationFactor >= REPLICAS_FOR_TWO_COPIES ? '2' : '1',
    'cleanup.policy': cleanupPolicy(topic),
    ...(COMPACTED_TOPICS.has(topic) ? { 'min.compaction.lag.ms': String(COMPACTION_LAG_MS) } : {}),
  }
  return {
    topic: topicPrefix + topic,
    numPartitions: partitions,
    replicationFactor,
    configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
  }
}

function cleanupPolicy(topic: Topic): string {
  return COMPACTED_TOPICS.has(topic) ? 'compact' : 'delete'
}

/** The log is the truth: a topic made by hand, or by a broker that creates topics itself, would drop events after a week. */
async function refuseForgetfulTopics(admin: Admin, { topicPrefix }: TopicLayout): Promise<void> {
  const wantedResources = TOPICS.map((topic) => ({
    type: kafkajs.ConfigResourceTypes.TOPIC,
    name: topicPrefix + topic,
    configNames: ['retention.ms', 'retention.bytes', 'cleanup.policy'],
  }))
  const { resources } = await ask(admin, 'opening its topics', () =>
    admin.describeConfigs({ includeSynonyms: false, resources: wantedResources }),
  )
  const found = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  )
  for (const topic of TOPICS) {
    const name = topicPrefix + topic
    const wanted = { 'cleanup.policy': cleanupPolicy(topic), 'retention.ms': '-1', 'retention.bytes': '-1' }
    for (const [setting, value] of Object.entries(wanted)) {
      const actual = found.get(name)?.get(setting)
      if (actual !== value) {
        throw new AppError('config', `Kafka topic ${name} has ${setting}=${actual} and would lose events: set ${value}`)
      }
    }
  }
}
