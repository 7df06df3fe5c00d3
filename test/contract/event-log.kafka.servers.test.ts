import { randomUUID } from 'node:crypto'
import { openKafkaEventLog } from '../../infra/event-log/kafka.ts'
import { eventLogContract } from './event-log.ts'
import { withServer } from './test-servers.ts'

withServer('kafka', (broker) => {
  eventLogContract('Kafka', async () => {
    const topicPrefix = `test-${randomUUID()}.`
    return {
      open: () =>
        openKafkaEventLog({ brokers: [broker], clientId: 'test', topicPrefix, partitions: 3, replicationFactor: 1 }),
      // Topics of a private broker go with it.
      [Symbol.asyncDispose]: async () => {},
    }
  })
})
