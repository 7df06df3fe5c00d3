import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventLog, Lease } from '../../infra/ports/event-log.ts'
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
  startProcess,
  type TestPlace,
  TOPIC,
  texts,
} from './event-log-helpers.ts'

/** Issue and decision: whoever waits takes over within this time from a holder that was killed. */
const TAKEOVER_MAX_MS = 15_000
/** Time in which a lease that somebody holds must not be got. */
const HELD_MS = 1_500
const NAME = 'ingest:mainnet'

export interface LeaseAdapter {
  /** Whether a holder that is stopped for long is taken for dead. If so, it can write nothing when it goes on. */
  readonly replacesStoppedHolder: boolean
}

/** What a lease must do on every event log: the guarantees of infra/ports/event-log.ts, each as a test. */
export function leaseContract(name: string, newPlace: () => Promise<TestPlace>, adapter: LeaseAdapter): void {
  async function openPlace(): Promise<TestPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  describe(`lease contract: ${name}`, { timeout: 2 * TAKEOVER_MAX_MS + 30_000 }, () => {
    test('is held by one at a time, and the next one has it when it is given back', async () => {
      const place = await openPlace()
      const first = await (await openAt(place)).lease(NAME, never)
      const waiting = watch((await openAt(place)).lease(NAME, never))
      await delay(HELD_MS)
      expect(waiting.got()).toBe(false)
      await first.append(TOPIC, [event('a', 'k', 'of the first')])
      await first[Symbol.asyncDispose]()
      const second = await waiting.lease
      await second.append(TOPIC, [event('b', 'k', 'of the second')])
      expect(texts(await readAll(await openAt(place)))).toEqual(['of the first', 'of the second'])
    })

    test('is held by one at a time within one opening of the log', async () => {
      const log = await openAt(await openPlace())
      const first = await log.lease(NAME, never)
      const waiting = [1, 2, 3, 4].map(() => watch(log.lease(NAME, never)))
      await delay(HELD_MS)
      expect(waiting.filter(({ got }) => got()).length).toBe(0)
      await first.append(TOPIC, [event('a', 'k')])
      await first[Symbol.asyncDispose]()
      const second = await Promise.any(waiting.map(({ lease }) => lease))
      await second.append(TOPIC, [event('b', 'k')])
      await delay(HELD_MS)
      expect(waiting.filter(({ got }) => got()).length).toBe(1)
      for (const { lease } of waiting) lease.catch(() => undefined) // they end with the log
    })

    test('stays with its holder while others come, wait and go', async () => {
      const place = await openPlace()
      const log = await openAt(place)
      const lease = await log.lease(NAME, never)
      const waitingMs = [500, 1_000, 1_500]
      const waits = waitingMs.map(async (ms) => (await openAt(place)).lease(NAME, AbortSignal.timeout(ms)))
      await Promise.all(waits.map((wait) => expect(wait).rejects.toMatchObject({ name: 'TimeoutError' })))
      expect(lease.lost.aborted).toBe(false)
      await lease.append(TOPIC, [event('a', 'k', 'still mine')])
      expect(texts(await readAll(log))).toEqual(['still mine'])
    })

    test('of another name is another lease', async () => {
      const log = await openAt(await openPlace())
      await using one = await log.lease('ingest:mainnet', never)
      await using other = await log.lease('ingest:hoodi', never)
      await Promise.all([one.append(TOPIC, [event('a', 'k')]), other.append(TOPIC, [event('b', 'l')])])
      expect((await readAll(log)).length).toBe(2)
    })

    test('writes nothing any more when it was given back', async () => {
      const log = await openAt(await openPlace())
      const lease = await log.lease(NAME, never)
      await lease[Symbol.asyncDispose]()
      await expect(lease.append(TOPIC, [event('a', 'k')])).rejects.toMatchObject({
        code: 'lease_lost',
        retryable: false,
      })
      await lease[Symbol.asyncDispose]()
      expect(await readAll(log)).toEqual([])
    })

    test('is given back by the closing of its log', async () => {
      const place = await openPlace()
      const log = await openAt(place)
      await log.lease(NAME, never)
      await log[Symbol.asyncDispose]()
      await using _ = await (await openAt(place)).lease(NAME, AbortSignal.timeout(TAKEOVER_MAX_MS / 2))
    })

    test('is no longer waited for when the log is closed', async () => {
      const place = await openPlace()
      await using _ = await (await openAt(place)).lease(NAME, never)
      const log = await openAt(place)
      const waiting = log.lease(NAME, never)
      await Promise.all([expect(waiting).rejects.toMatchObject({ code: 'event_log' }), log[Symbol.asyncDispose]()])
    })

    test('appends what is consumed and read in order of the calls for each key, with no lag left', async () => {
      const log = await openAt(await openPlace())
      const lease = await log.lease(NAME, never)
      const consumer = startConsumer(log, { group: 'g' })
      const sent = Array.from({ length: 60 }, (_, i) => event(String(i), `key-${i % 7}`, String(i)))
      const positions = (await Promise.all(sent.map((one) => lease.append(TOPIC, [one])))).flat()
      await lagGone(log, 'g')
      await consumer.stop()
      const read = await readAll(log)
      for (const events of [consumer.events, read]) {
        expect(events.length).toBe(sent.length)
        for (const [key, stored] of byKey(events)) {
          expect(isAscending(texts(stored).map(Number)), `key ${key}`).toBe(true)
        }
        const byId = new Map(events.map((stored) => [stored.event.id, stored.position]))
        expect(sent.map(({ id }) => byId.get(id))).toEqual(positions)
      }
    })

    test('appends what a read that begins right afterwards gives, from its ends on nothing', async () => {
      const log = await openAt(await openPlace())
      const lease = await log.lease(NAME, never)
      for (let i = 0; i < 20; i++) {
        const from = await log.ends(TOPIC)
        await lease.append(TOPIC, [event(String(i), `key-${i % 3}`)])
        expect(
          (await readAll(log, { from })).map((stored) => stored.event.id),
          `round ${i}`,
        ).toEqual([String(i)])
      }
      expect(await readAll(log, { from: await log.ends(TOPIC) })).toEqual([])
    })

    test('appends beside those who need no lease', async () => {
      const log = await openAt(await openPlace())
      const lease = await log.lease(NAME, never)
      for (let i = 0; i < 10; i++) await (i % 2 === 0 ? lease : log).append(TOPIC, [event(String(i), 'k', String(i))])
      expect(texts(await consumeCount(log, { group: 'g' }, 10)).map(Number)).toEqual(
        Array.from({ length: 10 }, (_, i) => i),
      )
      expect(await log.lag(TOPIC, 'g')).toBe(0n)
      await log.rewind(TOPIC, 'g')
      expect((await consumeCount(log, { group: 'g' }, 10)).length).toBe(10)
    })

    test('appends events of 400 kB, many at once', async () => {
      const log = await openAt(await openPlace())
      const lease = await log.lease(NAME, never)
      const events = Array.from({ length: 60 }, (_, i) => ({ ...event(String(i), 'k'), data: new Uint8Array(400_000) }))
      await lease.append(TOPIC, events)
      expect((await readAll(log)).map((stored) => stored.event.id)).toEqual(events.map(({ id }) => id))
      await consumeCount(log, { group: 'g', maxBatch: 7 }, events.length)
      expect(await log.lag(TOPIC, 'g')).toBe(0n)
    })

    test('is taken over when its holder was killed, in time, with all that it had appended', async () => {
      const place = await openPlace()
      const holder = await startHolder(place)
      expect(await appendBy(holder, 'first')).toBe('appended first')
      const log = await openAt(place)
      const waiting = log.lease(NAME, never)
      await delay(HELD_MS)
      const killedAt = performance.now()
      holder.child.kill('SIGKILL')
      const lease = await waiting
      expect(performance.now() - killedAt).toBeLessThan(TAKEOVER_MAX_MS)
      expect(texts(await readAll(log))).toEqual(['first'])
      await lease.append(TOPIC, [event('second', 'k', 'second')])
      expect(texts(await readAll(log))).toEqual(['first', 'second'])
    })

    test.runIf(adapter.replacesStoppedHolder)(
      'does not let a holder that was asleep write over the head of its successor',
      async () => {
        const place = await openPlace()
        const holder = await startHolder(place)
        expect(await appendBy(holder, 'of A')).toBe('appended of A')
        process.kill(holder.pid, 'SIGSTOP')
        const log = await openAt(place)
        const successor = await log.lease(NAME, AbortSignal.timeout(TAKEOVER_MAX_MS))
        expect(texts(await readAll(log))).toEqual(['of A'])
        await successor.append(TOPIC, [event('b', 'k', 'of B, which reverts what is of A')])
        const answer = appendBy(holder, 'late')
        process.kill(holder.pid, 'SIGCONT')
        expect(await answer).toBe('refused late: lease_lost')
        expect(await appendBy(holder, 'later')).toBe('refused later: lease_lost')
        await successor.append(TOPIC, [event('c', 'k', 'of B')])
        expect(texts(await readAll(log))).toEqual(['of A', 'of B, which reverts what is of A', 'of B'])
        expect(texts(await consumeCount(log, { group: 'g' }, 3))).toEqual(texts(await readAll(log)))
        expect(await log.lag(TOPIC, 'g')).toBe(0n)
      },
    )

    test.runIf(!adapter.replacesStoppedHolder)('stays with a holder that is asleep', async () => {
      const place = await openPlace()
      const holder = await startHolder(place)
      process.kill(holder.pid, 'SIGSTOP')
      const log = await openAt(place)
      await expect(log.lease(NAME, AbortSignal.timeout(HELD_MS))).rejects.toMatchObject({ name: 'TimeoutError' })
      const answer = appendBy(holder, 'late')
      process.kill(holder.pid, 'SIGCONT')
      expect(await answer).toBe('appended late')
    })
  })
}

async function startHolder(place: TestPlace): Promise<ReturnType<typeof startProcess>> {
  const holder = startProcess('hold-lease.ts', [JSON.stringify(place.where), NAME])
  expect(await holder.line()).toBe('held')
  return holder
}

async function appendBy(holder: ReturnType<typeof startProcess>, id: string): Promise<string> {
  holder.child.stdin.write(`${id}\n`)
  return holder.line()
}

function watch(lease: ReturnType<EventLog['lease']>): { readonly lease: Promise<Lease>; got(): boolean } {
  let got = false
  const onGot = () => {
    got = true
  }
  lease.then(onGot, () => undefined)
  return { lease, got: () => got }
}
