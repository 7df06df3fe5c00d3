import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { eventLogConsumes } from './event-log-consume.ts'
import {
  byKey,
  consumeCount,
  event,
  isAscending,
  lagGone,
  never,
  openAt,
  readAll,
  startConsumer,
  type TestPlace,
  TOPIC,
  texts,
} from './event-log-helpers.ts'

const COMPACTED_TOPIC: Topic = 'ingest.cursors'

/** What every event log must do: the guarantees of infra/ports/event-log.ts, each as a test. */
export function eventLogContract(name: string, newPlace: () => Promise<TestPlace>): void {
  async function openPlace(): Promise<TestPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  async function openLog(): Promise<EventLog> {
    return openAt(await openPlace())
  }

  describe(`event log contract: ${name}`, () => {
    describe('append', () => {
      test('returns one position for each event, growing with every append to a key', async () => {
        const log = await openLog()
        const first = await log.append(TOPIC, [event('a', 'k'), event('b', 'k')])
        const second = await log.append(TOPIC, [event('c', 'k')])
        const positions = [...first, ...second]
        expect(new Set(positions.map(({ partition }) => partition)).size).toBe(1)
        expect(isAscending(positions.map(({ offset }) => offset))).toBe(true)
      })

      test('returns the positions under which the events are delivered', async () => {
        const log = await openLog()
        const keys = Array.from({ length: 30 }, (_, i) => `key-${i}`)
        const positions = await log.append(
          TOPIC,
          keys.map((key) => event(`id of ${key}`, key)),
        )
        const delivered = await consumeCount(log, { group: 'g' }, keys.length)
        const byId = new Map(delivered.map(({ event, position }) => [event.id, position]))
        expect(keys.map((key) => byId.get(`id of ${key}`))).toEqual(positions)
      })

      test('takes no events and then gives no positions', async () => {
        const log = await openLog()
        expect(await log.append(TOPIC, [])).toEqual([])
      })

      test('accepts an id twice and delivers both', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('same', 'k', 'first')])
        await log.append(TOPIC, [event('same', 'k', 'second')])
        expect(texts(await consumeCount(log, { group: 'g' }, 2))).toEqual(['first', 'second'])
      })

      test('keeps the order of calls for a key when they are not awaited one by one', async () => {
        const log = await openLog()
        const names = Array.from({ length: 20 }, (_, i) => `event-${i}`)
        await Promise.all(names.map((name) => log.append(TOPIC, [event(name, 'k', name)])))
        expect(texts(await consumeCount(log, { group: 'g' }, names.length))).toEqual(names)
      })

      test('is refused by a closed log', async () => {
        const log = await openLog()
        await log[Symbol.asyncDispose]()
        await expect(log.append(TOPIC, [event('a', 'k')])).rejects.toMatchObject({ code: 'event_log' })
      })

      test('is durable: another opening of the log delivers what was appended', async () => {
        const place = await openPlace()
        const log = await openAt(place)
        await log.append(TOPIC, [event('a', 'k', 'kept')])
        await log[Symbol.asyncDispose]()
        expect(texts(await consumeCount(await openAt(place), { group: 'g' }, 1))).toEqual(['kept'])
      })
    })

    eventLogConsumes({ openPlace, openLog })

    describe('read', () => {
      test('gives everything that was there at the call, in order per key, then ends', async () => {
        const log = await openLog()
        const sent = Array.from({ length: 40 }, (_, i) => event(String(i), `key-${i % 4}`, String(i)))
        await log.append(TOPIC, sent)
        const read = await readAll(log)
        expect(read.length).toBe(sent.length)
        for (const [key, stored] of byKey(read)) {
          expect(isAscending(texts(stored).map(Number)), `key ${key}`).toBe(true)
        }
      })

      test('ends although events are appended while it runs', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        const read: string[] = []
        for await (const stored of log.read({ topic: TOPIC, signal: never })) {
          read.push(...texts([stored]))
          await log.append(TOPIC, [event('later', 'k', 'later')])
        }
        expect(read.slice(0, 2)).toEqual(['1', '2'])
        expect(read.length).toBeLessThanOrEqual(3)
      })

      test('gives each event whole to who asks for them one by one, and to the next reader too', async () => {
        const log = await openLog()
        const large = ['a', 'b', 'c'].map((letter) => letter.repeat(40_000))
        await log.append(
          TOPIC,
          large.map((text, i) => event(`large-${i}`, 'k', text)),
        )
        const read: string[] = []
        for await (const stored of log.read({ topic: TOPIC, signal: never, oneByOne: true }))
          read.push(...texts([stored]))
        expect(read).toEqual(large)
        expect(texts(await readAll(log))).toEqual(large)
      })

      test('gives nothing for an empty topic', async () => {
        const log = await openLog()
        expect(await readAll(log)).toEqual([])
      })

      test('leaves the progress of groups alone', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1')])
        await readAll(log)
        expect(await log.lag(TOPIC, 'g')).toBe(1n)
      })

      test('can be left early', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        for await (const { event } of log.read({ topic: TOPIC, signal: never })) {
          expect(event.id).toBe('a')
          break
        }
        expect(texts(await readAll(log))).toEqual(['1', '2'])
      })

      test('does not keep the log from being closed when it was left standing', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        const reading = log.read({ topic: TOPIC, signal: never })[Symbol.asyncIterator]()
        await reading.next()
        await log[Symbol.asyncDispose]()
        await expect(reading.next()).rejects.toMatchObject({ code: 'event_log' })
      })

      test('rejects with the reason of the signal when it aborts', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k'), event('b', 'k')])
        const controller = new AbortController()
        const reading = async () => {
          for await (const _ of log.read({ topic: TOPIC, signal: controller.signal })) {
            controller.abort(new Error('changed my mind'))
          }
        }
        await expect(reading()).rejects.toThrow('changed my mind')
      })
    })

    describe('ends and read from them', () => {
      test('ends are behind the newest event of each partition that has one', async () => {
        const log = await openLog()
        expect(await log.ends(TOPIC)).toEqual(new Map())
        const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
        const positions = await log.append(
          TOPIC,
          keys.map((key) => event(key, key)),
        )
        const newest = new Map(positions.map(({ partition, offset }) => [partition, offset + 1n]))
        expect(await log.ends(TOPIC)).toEqual(newest)
      })

      test('read gives what follows the offsets that it is given', async () => {
        const log = await openLog()
        const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
        await log.append(
          TOPIC,
          keys.map((key) => event(key, key, 'before')),
        )
        const from = await log.ends(TOPIC)
        expect(await readAll(log, { from })).toEqual([])
        await log.append(TOPIC, [event('a', 'key-3', 'behind'), event('b', 'a new key', 'behind')])
        expect(texts(await readAll(log, { from }))).toEqual(['behind', 'behind'])
      })

      test('read gives a partition that is not named from its beginning', async () => {
        const log = await openLog()
        const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
        const positions = await log.append(
          TOPIC,
          keys.map((key) => event(key, key)),
        )
        const named = positions.at(0)?.partition ?? 0
        const from = new Map([[named, 2n]])
        const read = await readAll(log, { from })
        const expected = positions.filter(({ partition, offset }) => partition !== named || offset >= 2n).length
        expect(read.length).toBe(expected)
      })

      test('read of a compacted topic gives what follows the offsets that it is given', async () => {
        const log = await openLog()
        await log.append(COMPACTED_TOPIC, [event('a', 'k', 'before')])
        const from = await log.ends(COMPACTED_TOPIC)
        await log.append(COMPACTED_TOPIC, [event('b', 'k', 'behind')])
        expect(texts(await readAll(log, { topic: COMPACTED_TOPIC, from }))).toEqual(['behind'])
      })
    })

    describe('lag and rewind', () => {
      test('lag counts the events that a group has not finished', async () => {
        const log = await openLog()
        expect(await log.lag(TOPIC, 'g')).toBe(0n)
        await log.append(TOPIC, [event('a', 'k'), event('b', 'l'), event('c', 'm')])
        expect(await log.lag(TOPIC, 'g')).toBe(3n)
        await consumeCount(log, { group: 'g' }, 3)
        expect(await log.lag(TOPIC, 'g')).toBe(0n)
        await log.append(TOPIC, [event('d', 'k')])
        expect(await log.lag(TOPIC, 'g')).toBe(1n)
      })

      test('lag up to offsets counts the events before them alone', async () => {
        const log = await openLog()
        expect(await log.lag(TOPIC, 'g', await log.ends(TOPIC))).toBe(0n)
        await log.append(TOPIC, [event('a', 'k'), event('b', 'l')])
        const ends = await log.ends(TOPIC)
        expect(await log.lag(TOPIC, 'g', ends)).toBe(2n)
        await consumeCount(log, { group: 'g' }, 2)
        await log.append(TOPIC, [event('c', 'k'), event('d', 'l'), event('e', 'm')])
        expect(await log.lag(TOPIC, 'g', ends)).toBe(0n)
        expect(await log.lag(TOPIC, 'g')).toBe(3n)
      })

      test('lag up to offsets of a compacted topic counts what is still there', async () => {
        const log = await openLog()
        await log.append(COMPACTED_TOPIC, [event('a', 'k', 'before'), event('b', 'l')])
        const ends = await log.ends(COMPACTED_TOPIC)
        await log.append(COMPACTED_TOPIC, [event('c', 'm')])
        expect(await log.lag(COMPACTED_TOPIC, 'g', ends)).toBe(2n)
      })

      test('a group that is set back gets everything again, at the same positions', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        const before = await consumeCount(log, { group: 'g' }, 2)
        await consumeCount(log, { group: 'other' }, 2)
        await log.rewind(TOPIC, 'g')
        expect(await log.lag(TOPIC, 'g')).toBe(2n)
        expect(await log.lag(TOPIC, 'other')).toBe(0n)
        const again = await consumeCount(log, { group: 'g' }, 2)
        expect(again.map(({ position }) => position)).toEqual(before.map(({ position }) => position))
      })

      test('a group that never consumed can be set back', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k')])
        await log.rewind(TOPIC, 'unheard of')
        expect(await log.lag(TOPIC, 'unheard of')).toBe(1n)
      })

      test('a group that is consuming cannot be set back', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k')])
        const consumer = startConsumer(log, { group: 'g' })
        await consumer.received(1)
        await expect(log.rewind(TOPIC, 'g')).rejects.toMatchObject({ code: 'usage', retryable: false })
        await consumer.stop()
        await log.rewind(TOPIC, 'g')
      })
    })

    describe('compacted topics', () => {
      test('keep the newest event of every key', async () => {
        const log = await openLog()
        for (let round = 0; round < 5; round++) {
          await log.append(COMPACTED_TOPIC, [event('a', 'k', `k${round}`), event('b', 'l', `l${round}`)])
        }
        const newest = new Map(
          (await readAll(log, { topic: COMPACTED_TOPIC })).map((stored) => [stored.event.key, stored]),
        )
        expect(texts([...newest.values()]).sort()).toEqual(['k4', 'l4'])
      })

      test('are consumed to the end', async () => {
        const log = await openLog()
        const first = await log.append(COMPACTED_TOPIC, [event('a', 'k', '1')])
        const second = await log.append(COMPACTED_TOPIC, [event('a', 'k', '2')])
        expect(isAscending([...first, ...second].map(({ offset }) => offset))).toBe(true)
        const consumer = startConsumer(log, { group: 'g', topic: COMPACTED_TOPIC })
        await lagGone(log, 'g', COMPACTED_TOPIC)
        await consumer.stop()
        expect(texts(consumer.events).at(-1)).toBe('2')
      })
    })
  })
}
