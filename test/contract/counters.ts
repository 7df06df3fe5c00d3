import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Counters } from '../../infra/ports/counters.ts'

/** A place for counters, all zero at first. Every `open` shares the windows that survive a restart. */
export interface CountersPlace extends AsyncDisposable {
  open(): Promise<Counters>
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const NOW = Date.UTC(2026, 0, 1)

/** What all counters must do: the guarantees of infra/ports/counters.ts, each as a test. */
export function countersContract(name: string, newPlace: () => Promise<CountersPlace>): void {
  async function openPlace(): Promise<CountersPlace> {
    const place = await newPlace()
    onTestFinished(() => place[Symbol.asyncDispose]())
    return place
  }

  async function openAt(place: CountersPlace): Promise<Counters> {
    const counters = await place.open()
    onTestFinished(() => counters[Symbol.asyncDispose]())
    return counters
  }

  async function openCounters(): Promise<Counters> {
    return openAt(await openPlace())
  }

  describe(`counters contract: ${name}`, () => {
    test('takes until the limit, then refuses and says when the window ends', async () => {
      const counters = await openCounters()
      expect(await counters.take('k', 1, 2, SECOND_MS, NOW)).toEqual({ allowed: true, remaining: 1, resetMs: 1_000 })
      expect(await counters.take('k', 1, 2, SECOND_MS, NOW + 300)).toEqual({
        allowed: true,
        remaining: 0,
        resetMs: 700,
      })
      expect(await counters.take('k', 1, 2, SECOND_MS, NOW + 999)).toEqual({
        allowed: false,
        remaining: 0,
        resetMs: 1,
      })
    })

    test('starts a new window with the first take after the end of the old one', async () => {
      const counters = await openCounters()
      await counters.take('k', 2, 2, SECOND_MS, NOW)
      expect(await counters.take('k', 2, 2, SECOND_MS, NOW + 1_000)).toEqual({
        allowed: true,
        remaining: 0,
        resetMs: 1_000,
      })
      expect(await counters.take('k', 1, 2, SECOND_MS, NOW + 1_999)).toMatchObject({ allowed: false, resetMs: 1 })
      expect(await counters.take('k', 1, 2, SECOND_MS, NOW + 5_000)).toMatchObject({ allowed: true, resetMs: 1_000 })
    })

    test('takes all of a cost or nothing', async () => {
      const counters = await openCounters()
      await counters.take('k', 7, 10, SECOND_MS, NOW)
      expect(await counters.take('k', 4, 10, SECOND_MS, NOW)).toMatchObject({ allowed: false, remaining: 3 })
      expect(await counters.take('k', 3, 10, SECOND_MS, NOW)).toMatchObject({ allowed: true, remaining: 0 })
    })

    test('starts no window with a cost that can never fit', async () => {
      const counters = await openCounters()
      expect(await counters.take('k', 11, 10, SECOND_MS, NOW)).toEqual({ allowed: false, remaining: 10, resetMs: 0 })
      expect(await counters.take('k', 10, 10, SECOND_MS, NOW + 500)).toMatchObject({ allowed: true, resetMs: 1_000 })
    })

    test('counts each key by itself', async () => {
      const counters = await openCounters()
      await counters.take('one', 5, 5, SECOND_MS, NOW)
      expect(await counters.take('two', 5, 5, SECOND_MS, NOW)).toMatchObject({ allowed: true })
      expect(await counters.take('one', 1, 5, SECOND_MS, NOW)).toMatchObject({ allowed: false })
    })

    test('a limit that is lowered within a window holds at once', async () => {
      const counters = await openCounters()
      await counters.take('k', 8, 10, SECOND_MS, NOW)
      expect(await counters.take('k', 1, 5, SECOND_MS, NOW)).toMatchObject({ allowed: false, remaining: 0 })
    })

    test('never lets concurrent takes exceed the limit, and uses what it can', async () => {
      const counters = await openCounters()
      let run = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }),
          fc.integer({ min: 1, max: 60 }),
          fc.constantFrom(SECOND_MS, MINUTE_MS),
          async (costs, limit, windowMs) => {
            const key = `property ${run++}`
            const results = await Promise.all(
              costs.map(async (cost) => ({ cost, ...(await counters.take(key, cost, limit, windowMs, NOW)) })),
            )
            const taken = results.filter(({ allowed }) => allowed).reduce((sum, { cost }) => sum + cost, 0)
            expect(taken).toBeLessThanOrEqual(limit)
            // What was refused did not fit into what was left at the end.
            for (const { allowed, cost } of results) if (!allowed) expect(taken + cost).toBeGreaterThan(limit)
          },
        ),
        { numRuns: 40 },
      )
    })

    test('takes once what is asked for again by the same name, and answers as it did', async () => {
      const counters = await openCounters()
      const first = await counters.take('k', 3, 10, SECOND_MS, NOW, 'a')
      await counters.take('k', 1, 10, SECOND_MS, NOW)
      expect(await counters.take('k', 3, 10, SECOND_MS, NOW + 1, 'a')).toEqual(first)
      expect(await counters.take('k', 7, 10, SECOND_MS, NOW, 'b')).toMatchObject({ allowed: false, remaining: 6 })
      expect(await counters.take('k', 6, 10, SECOND_MS, NOW)).toMatchObject({ allowed: true })
      await counters.giveBack('k', 6, NOW)
      expect(await counters.take('k', 7, 10, SECOND_MS, NOW, 'b')).toMatchObject({ allowed: false, remaining: 6 })
      expect(await counters.take('k', 3, 10, SECOND_MS, NOW, 'c')).toMatchObject({ allowed: true, remaining: 3 })
    })

    test('takes back what was not used, of the running window alone', async () => {
      const counters = await openCounters()
      await counters.take('k', 5, 5, SECOND_MS, NOW)
      await counters.giveBack('k', 2, NOW + 999)
      expect(await counters.take('k', 3, 5, SECOND_MS, NOW + 999)).toMatchObject({ allowed: false, remaining: 2 })
      expect(await counters.take('k', 2, 5, SECOND_MS, NOW + 999)).toEqual({ allowed: true, remaining: 0, resetMs: 1 })
      await counters.take('k', 5, 5, SECOND_MS, NOW + 1_000)
      await counters.giveBack('k', 5, NOW + 2_000)
      await counters.giveBack('never taken', 5, NOW)
      expect(await counters.take('k', 1, 5, SECOND_MS, NOW + 1_999)).toMatchObject({ allowed: false, remaining: 0 })
      expect(await counters.take('never taken', 6, 5, SECOND_MS, NOW)).toMatchObject({ allowed: false, remaining: 5 })
    })

    test('windows of a minute and longer survive closing and opening', async () => {
      const place = await openPlace()
      const before = await openAt(place)
      await before.take('minute', 5, 10, MINUTE_MS, NOW)
      await before.giveBack('minute', 2, NOW)
      await before.take('minute', 1, 10, MINUTE_MS, NOW + 10)
      await before.take('day', 1_000, 1_000, 86_400_000, NOW)
      await before[Symbol.asyncDispose]()
      const after = await openAt(place)
      expect(await after.take('minute', 1, 10, MINUTE_MS, NOW + 20)).toEqual({
        allowed: true,
        remaining: 5,
        resetMs: MINUTE_MS - 20,
      })
      expect(await after.take('day', 1, 1_000, 86_400_000, NOW + 1_000)).toMatchObject({ allowed: false })
    })
  })
}
