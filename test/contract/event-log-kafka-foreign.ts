import kafkajs from 'kafkajs'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { consume } from '../../processors/loop/consume.ts'
import { DeadLetters } from '../../processors/loop/dead-letters.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import type { Topic } from '../../schemas/events/envelope.ts'
import { silentLog } from '../unit/silent-log.ts'
import { lagGone, openAt, readAll, TOPIC } from './event-log-helpers.ts'
import type { LogPlace } from './event-log-place.ts'

type KafkaPlace = Extract<LogPlace, { kind: 'kafka' }>

/** What becomes of messages that no writer of ours has made. */
export function kafkaForeignMessages(newPlace: () => Promise<{ readonly where: KafkaPlace } & AsyncDisposable>): void {
  describe('a Kafka message of somebody else', () => {
    test.each([
      ['without key and headers', {}],
      ['with headers of another program', { key: 'k', headers: { version: 'latest', time: 'now' } }],
    ])('%s is set aside once, and the group goes on', async (_, message) => {
      const place = await newPlace()
      const log = await openAt(place)
      await send(place.where, TOPIC, { ...message, value: 'hello' })
      await send(place.where, 'dead-letters', { ...message, value: 'hello' })
      const facts = { logId: '', unnamedChain: 'mainnet', removed: new Map(), retracted: new Map() }
      const stop = new AbortController()
      const running = PROJECTORS.filter(({ topic }) => topic === TOPIC || topic === 'dead-letters').map(
        async (projector) => {
          const ports = {
            eventLog: log,
            warehouse: WITHOUT_ROWS,
            log: silentLog,
            facts: { known: facts, current: async () => facts },
            derive: async () => {},
            deadLetters: await DeadLetters.open(log),
          }
          await consume(ports, projector, stop.signal)
        },
      )
      await Promise.race([Promise.all(running), lagGone(log, 'head')])
      // The letters about both, and whatever they would bring about.
      await Promise.race([Promise.all(running), lagGone(log, 'dead-letters', 'dead-letters')])
      await Promise.race([Promise.all(running), lagGone(log, 'dead-letters', 'dead-letters')])
      stop.abort()
      await Promise.all(running)
      const letters = (await readAll(log, { topic: 'dead-letters' })).filter(({ event }) => event.type !== '')
      expect(letters.map(({ event: { key, type } }) => `${type} ${key}`).toSorted()).toEqual([
        `dead-letter ${TOPIC}`,
        'dead-letter dead-letters',
      ])
    })
  })
}

const WITHOUT_ROWS: Warehouse = {
  database: 'none',
  beside: async () => WITHOUT_ROWS,
  insert: async () => {},
  query: async () => [],
  queryWords: async () => new Uint32Array(),
  command: async () => {},
  merge: async () => {},
  [Symbol.asyncDispose]: async () => {},
}

async function send({ broker, topicPrefix }: KafkaPlace, topic: Topic, message: kafkajs.Message): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING })
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  onTestFinished(() => producer.disconnect())
  await producer.send({ topic: topicPrefix + topic, messages: [message] })
}
