import kafkajs, { type Admin } from 'kafkajs'
import { expect, test } from 'vitest'
import { toAppError } from '../../infra/event-log/kafka-errors.ts'
import { openTopics } from '../../infra/event-log/kafka-topics.ts'

/** As a broker refuses to create a topic. */
function refusal(type: string): Error {
  return Object.assign(new Error(`refused at 10.0.0.1:9092`), { type })
}

function adminThatRefuses(types: readonly string[]): Admin {
  return {
    listTopics: async () => [],
    createTopics: async () => {
      throw new kafkajs.KafkaJSAggregateError('Topic creation errors', types.map(refusal))
    },
  } as unknown as Admin
}

const LAYOUT = { topicPrefix: 'epochline.', partitions: 1, replicationFactor: 3 }

test('more copies than there are brokers are a wrong setting', async () => {
  const admin = adminThatRefuses(['TOPIC_ALREADY_EXISTS', 'INVALID_REPLICATION_FACTOR'])
  await expect(openTopics(admin, LAYOUT)).rejects.toMatchObject({
    code: 'config',
    message: expect.stringMatching(/^KAFKA_REPLICATION_FACTOR is 3, /),
  })
})

test('failures of several topics are told by their kinds', async () => {
  const failure = await openTopics(adminThatRefuses(['POLICY_VIOLATION']), LAYOUT).catch((error: unknown) => error)
  expect(toAppError(failure, 'opening')).toMatchObject({
    code: 'event_log',
    message: 'Kafka: opening failed (KafkaJSAggregateError < POLICY_VIOLATION)',
  })
})

test('a connection that never was one to a Kafka is a failure that may pass', () => {
  expect(toAppError(new Error('Broker not connected'), 'opening')).toMatchObject({
    code: 'event_log',
    retryable: true,
    message: 'Kafka: opening failed (Broker not connected)',
  })
})

test('errors of other origin come back as they are', () => {
  const error = new TypeError('wrong')
  expect(toAppError(error, 'opening')).toBe(error)
})
