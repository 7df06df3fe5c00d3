import { randomUUID } from 'node:crypto'
import { eventLogContract } from './event-log.ts'
import { kafkaForeignMessages } from './event-log-kafka-foreign.ts'
import { kafkaTransactions } from './event-log-kafka-transactions.ts'
import { leaseContract } from './event-log-lease.ts'
import { withServer } from './test-servers.ts'

withServer('kafka', (broker) => {
  async function newPlace() {
    const topicPrefix = `test-${randomUUID()}.`
    return {
      where: { kind: 'kafka' as const, broker, topicPrefix },
      // Topics of a private broker go with it.
      [Symbol.asyncDispose]: async () => {},
    }
  }
  eventLogContract('Kafka', newPlace)
  leaseContract('Kafka', newPlace, { replacesStoppedHolder: true })
  kafkaTransactions(newPlace)
  kafkaForeignMessages(newPlace)
})
