import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import {
  byKey,
  consumeCount,
  consumeOptions,
  event,
  isAscending,
  lagGone,
  never,
  openAt,
  readAll,
  startConsumer,
  startProcess,
  type TestPlace,
  TIME,
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

    describe('consume', () => {
      test('delivers every field and byte of an event', async () => {
        const log = await openLog()
        const bytes = Uint8Array.from({ length: 256 }, (_, i) => 255 - i)
        const sent = {
          id: 'block:0xäß€',
          type: 'beacon.block',
          version: 7,
          key: 'Schlüssel 🗝',
          time: TIME,
          data: bytes,
        }
        await log.append(TOPIC, [sent])
        const [stored] = await consumeCount(log, { group: 'g' }, 1)
        expect({ ...stored?.event, data: [...(stored?.event.data ?? [])] }).toEqual({ ...sent, data: [...bytes] })
      })

      test('keeps the append order of each key, whatever the batches', async () => {
        const batches = fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 8 }), { maxLength: 8 })
        const log = await openLog()
        let run = 0
        await fc.assert(
          fc.asyncProperty(batches, fc.integer({ min: 1, max: 7 }), async (appends, maxBatch) => {
            run++
            let count = 0
            for (const keys of appends) {
              await log.append(
                'execution.blocks',
                keys.map((key) => event(`${run}`, key, String(count++))),
              )
            }
            const group = `g${run}`
            const lag = Number(await log.lag('execution.blocks', group))
            const all = lag === 0 ? [] : await consumeCount(log, { group, topic: 'execution.blocks', maxBatch }, lag)
            const mine = all.filter(({ event }) => event.id === `${run}`)
            expect(mine.length).toBe(count)
            for (const [key, stored] of byKey(mine)) {
              expect(isAscending(texts(stored).map(Number)), `key ${key}`).toBe(true)
              expect(isAscending(stored.map(({ position }) => position.offset)), `key ${key}`).toBe(true)
            }
          }),
          { numRuns: 5 },
        )
      })

      test('never delivers more than maxBatch at once', async () => {
        const log = await openLog()
        await log.append(
          TOPIC,
          Array.from({ length: 25 }, (_, i) => event(`${i}`, 'k')),
        )
        const sizes: number[] = []
        await consumeCount(log, { group: 'g', maxBatch: 10, onBatch: (batch) => sizes.push(batch.length) }, 25)
        expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
      })

      test('lets events wait for company at the end of the log, and not those of a backlog', async () => {
        const log = await openLog()
        const lingerMs = 1_000
        const backlog = Array.from({ length: 100 }, (_, i) => event(`${i}`, `k${i % 10}`))
        await log.append(TOPIC, backlog)
        const sizes: number[] = []
        const begin = performance.now()
        const onBatch = (batch: readonly unknown[]) => sizes.push(batch.length)
        const consumer = startConsumer(log, { group: 'g', maxBatch: 5, lingerMs: () => lingerMs, onBatch })
        await consumer.received(backlog.length)
        expect(performance.now() - begin).toBeLessThan((backlog.length / 5 - 5) * lingerMs)
        await lagGone(log, 'g')
        sizes.length = 0
        for (let i = 0; i < 5; i++) await log.append(TOPIC, [event(`late ${i}`, 'k')])
        await consumer.received(backlog.length + 5)
        await consumer.stop()
        expect(sizes.length).toBeLessThan(5)
      })

      test('lets events that come all the time wait for company too', async () => {
        const log = await openLog()
        const events = 60
        const sizes: number[] = []
        let appended = 0
        const appending = (async () => {
          for (let i = 0; i < events; i++) {
            await log.append(TOPIC, [event(`${i}`, 'k')])
            appended++
            await sleep(5)
          }
        })()
        const controller = new AbortController()
        await log.consume({
          ...consumeOptions({ group: 'g', lingerMs: () => 500 }),
          signal: controller.signal,
          async handle(batch) {
            sizes.push(batch.length)
            if (sizes.reduce((sum, size) => sum + size, 0) === events) controller.abort()
            const until = Math.min(events, appended + 2)
            while (appended < until) await sleep(1) // there is always something more when a batch is done
          },
        })
        await appending
        expect(sizes.length).toBeLessThan(events / 4)
      })

      test('delivers what is appended while it is waiting', async () => {
        const log = await openLog()
        const consumer = startConsumer(log, { group: 'g' })
        await log.append(TOPIC, [event('a', 'k', 'first')])
        await consumer.received(1)
        await log.append(TOPIC, [event('b', 'k', 'second')])
        await consumer.received(2)
        await consumer.stop()
        expect(texts(consumer.events)).toEqual(['first', 'second'])
      })

      test('delivers what another opening of the log appends', async () => {
        const place = await openPlace()
        const consumer = startConsumer(await openAt(place), { group: 'g' })
        const other = await openAt(place)
        await other.append(TOPIC, [event('a', 'k', 'from elsewhere')])
        await consumer.received(1)
        await consumer.stop()
        expect(texts(consumer.events)).toEqual(['from elsewhere'])
      })

      test('goes on behind the last finished batch, also after the log was closed', async () => {
        const place = await openPlace()
        const log = await openAt(place)
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        await consumeCount(log, { group: 'g' }, 2)
        await log.append(TOPIC, [event('c', 'k', '3')])
        await log[Symbol.asyncDispose]()
        expect(texts(await consumeCount(await openAt(place), { group: 'g' }, 1))).toEqual(['3'])
      })

      test('gives each group all events', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2')])
        expect(texts(await consumeCount(log, { group: 'one' }, 2))).toEqual(['1', '2'])
        expect(texts(await consumeCount(log, { group: 'two' }, 2))).toEqual(['1', '2'])
      })

      test('keeps the progress of a group for each topic', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', 'block')])
        await log.append('beacon.epochs', [event('b', 'k', 'epoch')])
        const blocks = startConsumer(log, { group: 'g' })
        const epochs = startConsumer(log, { group: 'g', topic: 'beacon.epochs' })
        await Promise.all([blocks.received(1), epochs.received(1)])
        await Promise.all([blocks.stop(), epochs.stop()])
        expect([texts(blocks.events), texts(epochs.events)]).toEqual([['block'], ['epoch']])
      })

      test('gives each event to one of two consumers of a group', async () => {
        const log = await openLog()
        const consumers = [startConsumer(log, { group: 'g' }), startConsumer(log, { group: 'g' })]
        await log.append(
          TOPIC,
          Array.from({ length: 50 }, (_, i) => event(`${i}`, `key-${i % 10}`)),
        )
        await log.append(TOPIC, [event('last', 'k')])
        await lagGone(log, 'g')
        await Promise.all(consumers.map((consumer) => consumer.stop()))
        const ids = consumers.flatMap(({ events }) => events.map(({ event }) => event.id))
        expect(ids.length).toBe(51)
        expect(new Set(ids).size).toBe(51)
      })

      test('shares the events of a group among processes, and each event is handled', async () => {
        const place = await openPlace()
        const log = await openAt(place)
        const lease = await log.lease('shared', never)
        const ids = Array.from({ length: 400 }, (_, i) => `event-${i}`)
        const append = async (slice: readonly string[]) => {
          for (const [i, id] of slice.entries()) {
            await (i % 2 === 0 ? lease : log).append(TOPIC, [event(id, `key-${i % 10}`)])
          }
        }
        const start = async () => {
          const started = startProcess('consume-events.ts', [JSON.stringify(place.where), 'g'])
          expect(await started.line()).toBe('ready')
          return started
        }
        const processes = [await start()]
        await append(ids.slice(0, 100))
        processes.push(await start())
        await append(ids.slice(100, 300))
        processes.push(await start())
        await append(ids.slice(300))
        await lagGone(log, 'g')
        const handled = await Promise.all(
          processes.map((process) => {
            process.child.kill('SIGTERM')
            return process.lines()
          }),
        )
        for (const { child } of processes) {
          if (child.exitCode === null) await once(child, 'exit')
          expect(child.exitCode).toBe(0)
        }
        expect(new Set(handled.flat())).toEqual(new Set(ids))
        expect(await log.lag(TOPIC, 'g')).toBe(0n)
      })

      test('rejects with the error of a failed handler and delivers the batch again to the next one', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1'), event('b', 'k', '2'), event('c', 'k', '3')])
        const seen: string[][] = []
        const failing = log.consume({
          topic: TOPIC,
          group: 'g',
          maxBatch: 1,
          signal: never,
          async handle(batch) {
            seen.push(texts(batch))
            if (seen.length === 2) throw new Error('the warehouse is away')
          },
        })
        await expect(failing).rejects.toThrow('the warehouse is away')
        expect(seen).toEqual([['1'], ['2']])
        expect(texts(await consumeCount(log, { group: 'g', maxBatch: 1 }, 2))).toEqual(['2', '3'])
      })

      test('delivers in order again after a handler failed', async () => {
        const log = await openLog()
        const names = Array.from({ length: 30 }, (_, i) => String(i))
        await log.append(
          TOPIC,
          names.map((name) => event(name, 'k', name)),
        )
        const done: string[] = []
        for (let failures = 0; done.length < names.length; failures++) {
          const controller = new AbortController()
          const consumption = log.consume({
            topic: TOPIC,
            group: 'g',
            maxBatch: 4,
            signal: controller.signal,
            async handle(batch) {
              if (failures < 2 && done.length >= 8 * (failures + 1)) throw new Error('not now')
              done.push(...texts(batch))
              if (done.length === names.length) controller.abort()
            },
          })
          if (failures < 2) await expect(consumption).rejects.toThrow('not now')
          else await consumption
        }
        expect(done).toEqual(names)
      })

      test('ends after the running batch when the signal aborts, and that batch is done', async () => {
        const log = await openLog()
        await log.append(TOPIC, [event('a', 'k', '1')])
        const controller = new AbortController()
        const started = Promise.withResolvers<void>()
        const release = Promise.withResolvers<void>()
        let ended = false
        const consumption = log.consume({
          topic: TOPIC,
          group: 'g',
          maxBatch: 10,
          signal: controller.signal,
          async handle() {
            started.resolve()
            await release.promise
          },
        })
        const settled = consumption.then(() => {
          ended = true
        })
        await started.promise
        controller.abort()
        await new Promise((resolve) => setTimeout(resolve, 50)) // time in which it must not end
        expect(ended).toBe(false)
        release.resolve()
        await settled
        expect(await log.lag(TOPIC, 'g')).toBe(0n)
      })

      test('ends when the signal aborts while there is nothing to do', async () => {
        const log = await openLog()
        const consumer = startConsumer(log, { group: 'g' })
        await log.append(TOPIC, [event('a', 'k')])
        await consumer.received(1)
        await consumer.stop()
        await log.consume({ ...consumeOptions({ group: 'g' }), signal: AbortSignal.abort(), handle: async () => {} })
      })

      test('ends when the log is closed', async () => {
        const log = await openLog()
        const consumer = startConsumer(log, { group: 'g' })
        await log.append(TOPIC, [event('a', 'k')])
        await consumer.received(1)
        await log[Symbol.asyncDispose]()
        await consumer.ended
      })

      test('is waited for by the closing of the log, and its running batch is then done', async () => {
        const place = await openPlace()
        const log = await openAt(place)
        await log.append(TOPIC, [event('a', 'k')])
        const started = Promise.withResolvers<void>()
        const release = Promise.withResolvers<void>()
        const consumption = log.consume({
          ...consumeOptions({ group: 'g' }),
          signal: never,
          async handle() {
            started.resolve()
            await release.promise
          },
        })
        await started.promise
        const closed = log[Symbol.asyncDispose]()
        release.resolve()
        await Promise.all([closed, consumption])
        expect(await (await openAt(place)).lag(TOPIC, 'g')).toBe(0n)
      })

      test('carries events of 400 kB, many in one append', async () => {
        const log = await openLog()
        const events = Array.from({ length: 60 }, (_, i) => ({
          ...event(String(i), 'k'),
          data: new Uint8Array(400_000).fill(i),
        }))
        const positions = await log.append('beacon.epochs', events)
        expect(isAscending(positions.map(({ offset }) => offset))).toBe(true)
        const stored = await consumeCount(log, { group: 'g', topic: 'beacon.epochs', maxBatch: 1_000 }, events.length)
        expect(stored.map(({ event }) => event.id)).toEqual(events.map(({ id }) => id))
        for (const [i, { event }] of stored.entries()) {
          expect(Buffer.compare(event.data, events[i]?.data ?? Buffer.alloc(0)), `event ${i}`).toBe(0)
        }
      })
    })

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
