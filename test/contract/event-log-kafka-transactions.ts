import { setTimeout as delay } from 'node:timers/promises'
import kafkajs, { type Producer } from 'kafkajs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { event, lagGone, never, openAt, readAll, startConsumer, TOPIC, texts } from './event-log-helpers.ts'
import type { LogPlace } from './event-log-place.ts'

type KafkaPlace = Extract<LogPlace, { kind: 'kafka' }>

/** Longer than any other wait for what was appended. */
const LEFT_OPEN_MS = 7_000

/** What becomes of transactions that end otherwise than a lease ends them. */
export function kafkaTransactions(newPlace: () => Promise<{ readonly where: KafkaPlace } & AsyncDisposable>): void {
  describe('Kafka transactions', () => {
    test('one that a dead holder has left open is ended by the next one, and nobody sees it', async () => {
      const place = await newPlace()
      const log = await openAt(place)
      const dead = await openTransaction(place.where, 'ingest:mainnet')
      await dead.send('left open', 'k')
      const consumer = startConsumer(log, { group: 'g' })
      const lease = await log.lease('ingest:mainnet', never)
      expect(await readAll(log)).toEqual([])
      await lagGone(log, 'g') // all that there is are the lost event and the marker behind it
      await lease.append(TOPIC, [event('a', 'k', 'committed')])
      await lagGone(log, 'g')
      await consumer.stop()
      expect(texts(consumer.events)).toEqual(['committed'])
      expect(texts(await readAll(log))).toEqual(['committed'])
    })

    test('one of a holder that has been fenced off is refused, and its lease is lost and free', async () => {
      const place = await newPlace()
      const log = await openAt(place)
      const lease = await log.lease('ingest:mainnet', never)
      await lease.append(TOPIC, [event('a', 'k', 'before')])
      const other = await openTransaction(place.where, 'ingest:mainnet')
      await expect(lease.append(TOPIC, [event('b', 'k', 'after')])).rejects.toMatchObject({ code: 'lease_lost' })
      expect(lease.lost.aborted).toBe(true)
      expect(lease.lost.reason).toMatchObject({ code: 'lease_lost' })
      await expect(lease.append(TOPIC, [event('c', 'k', 'later')])).rejects.toMatchObject({ code: 'lease_lost' })
      await other.abort()
      const next = await log.lease('ingest:mainnet', AbortSignal.timeout(15_000))
      await next.append(TOPIC, [event('d', 'k', 'of the next')])
      expect(texts(await readAll(log))).toEqual(['before', 'of the next'])
    })

    test('those that overlap in a partition and are aborted in another order than they began are not seen', async () => {
      const place = await newPlace()
      const log = await openAt(place)
      await log.append(TOPIC, [event('a', 'k', 'before')])
      const outer = await openTransaction(place.where, 'outer')
      const inner = await openTransaction(place.where, 'inner')
      await outer.send('outer', 'k')
      await inner.send('inner', 'k')
      await inner.abort()
      await outer.abort()
      await log.append(TOPIC, [event('b', 'k', 'behind')])
      const consumer = startConsumer(log, { group: 'g' })
      await lagGone(log, 'g')
      await consumer.stop()
      expect(texts(consumer.events)).toEqual(['before', 'behind'])
      expect(texts(await readAll(log))).toEqual(['before', 'behind'])
    })

    test('one that a dead writer has left open keeps the holder of another lease until its events are read', async () => {
      const place = await newPlace()
      const log = await openAt(place)
      const lease = await log.lease('accounts', never)
      const dead = await openTransaction(place.where, 'users')
      await dead.send('left open', 'k')
      const appended = lease.append(TOPIC, [event('a', 'k', 'committed')])
      // The brokers end it when its time is up.
      const ended = delay(LEFT_OPEN_MS).then(() => dead.abort())
      await appended
      expect(texts(await readAll(log))).toEqual(['committed'])
      await ended
    })

    test('two chains of one process append side by side to the same partitions', async () => {
      const log = await openAt(await newPlace())
      const leases = await Promise.all(['one', 'two'].map((name) => log.lease(name, never)))
      await Promise.all(
        leases.map(async (lease, l) => {
          for (let i = 0; i < 50; i++) await lease.append(TOPIC, [event(`${l}-${i}`, 'k')])
        }),
      )
      const ids = (await readAll(log)).map((stored) => stored.event.id)
      for (const l of [0, 1]) {
        expect(ids.filter((id) => id.startsWith(`${l}-`))).toEqual(Array.from({ length: 50 }, (_, i) => `${l}-${i}`))
      }
    })
  })
}

/** Takes up the transactional id of a lease without holding it, and begins a transaction. */
async function openTransaction({ broker, topicPrefix }: KafkaPlace, lease: string) {
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING })
  const producer: Producer = kafka.producer({
    transactionalId: topicPrefix + lease,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  onTestFinished(() => producer.disconnect())
  const transaction = await producer.transaction()
  return {
    send: (value: string, key: string) =>
      transaction.send({ topic: topicPrefix + TOPIC, messages: [{ key, value, headers: { id: value } }] }),
    abort: () => transaction.abort(),
  }
}
