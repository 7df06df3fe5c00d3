import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import {
  byKey,
  consumeCount,
  consumeOptions,
  event,
  isAscending,
  lagGone,
  never,
  openAt,
  startConsumer,
  startProcess,
  type TestPlace,
  TIME,
  TOPIC,
  texts,
} from './event-log-helpers.ts'

/** Opens places for one test each. */
export interface Opening {
  openPlace(): Promise<TestPlace>
  openLog(): Promise<EventLog>
}

/** What every event log must do for its consumers. */
export function eventLogConsumes({ openPlace, openLog }: Opening): void {
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
}
