import { expect, onTestFinished, test, vi } from 'vitest'
import { Budget, Quotas } from '../../api/gateway/quotas.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import { AppError } from '../../schemas/errors.ts'
import { noCounters } from './no-counters.ts'
import { silentLog } from './silent-log.ts'

/** 2026-11-20 12:00 in UTC+8. */
const NOON = Date.parse('2026-11-20T04:00:00Z')
const NEXT_DAY = Date.parse('2026-11-20T16:00:00Z')
const away: Counters = { ...noCounters, take: () => Promise.reject(new AppError('counters', 'Redis: ECONNREFUSED')) }

interface Clock {
  nowMs: number
}

/** Counters that take as long as those of a server, and what they were asked for. */
async function openCounters(): Promise<{ readonly counters: Counters; readonly taken: number[]; at: Counters }> {
  const counters = await openMemoryCounters()
  onTestFinished(() => counters[Symbol.asyncDispose]())
  const taken: number[] = []
  const slow: Counters = {
    ...counters,
    async take(key, cost, ...rest) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      taken.push(cost)
      return counters.take(key, cost, ...rest)
    },
    giveBack: (...given) => counters.giveBack(...given),
    async [Symbol.asyncDispose]() {},
  }
  return { counters: slow, taken, at: counters }
}

const of = (units: number, limit: number, { nowMs }: Clock = { nowMs: NOON }) => ({ units, limit, nowMs })

function quotasOf(counters: Counters, clock: Clock = { nowMs: NOON }): Quotas {
  const quotas = new Quotas({ counters, log: silentLog, now: () => clock.nowMs })
  onTestFinished(() => quotas[Symbol.asyncDispose]())
  return quotas
}

test('counters that are away are said once, and that they are back', async () => {
  const { at } = await openCounters()
  const said: string[] = []
  const log = { ...silentLog, warn: (fields: object, text: string) => said.push(`${JSON.stringify(fields)} ${text}`) }
  const told = { ...log, info: (_fields: object, text: string) => said.push(text) }
  let isAway = true
  const take: Counters['take'] = (...asked) => (isAway ? away : at).take(...asked)
  const quotas = new Quotas({ counters: { ...noCounters, take, giveBack: async () => {} }, log: told, now: () => NOON })
  onTestFinished(() => quotas[Symbol.asyncDispose]())
  expect((await quotas.take('acme', of(1, 100))).status).toBe('unknown')
  expect((await quotas.take('acme', of(1, 100))).status).toBe('unknown')
  isAway = false
  expect((await quotas.take('acme', of(1, 100))).status).toBe('passed')
  expect(said).toEqual([
    '{"reason":"Redis: ECONNREFUSED"} the counters do not answer: requests that need them are refused',
    'the counters answer again',
  ])
})

test.each([1, 7, 100, 2_500])('of %i units exactly so many pass, of 100 clients of two processes', async (limit) => {
  const { counters } = await openCounters()
  const processes = [quotasOf(counters), quotasOf(counters)]
  let passed = 0
  const client = async (number: number): Promise<void> => {
    const quotas = processes[number % 2] as Quotas
    while ((await quotas.take('acme', of(1, limit))).status === 'passed') passed++
  }
  await Promise.all(Array.from({ length: 100 }, (_, number) => client(number)))
  expect(passed).toBe(limit)
})

test.each([10, 250])(
  'of %i units none is lost where the counters take some and their answers do not come',
  async (limit) => {
    const { counters } = await openCounters()
    let asked = 0
    // Of three answers two are lost: done, and not known to be.
    const losing: Counters = {
      ...counters,
      async take(...given) {
        const taken = await counters.take(...given)
        if (++asked % 3 !== 0) throw new AppError('counters', 'Redis: ETIMEDOUT')
        return taken
      },
    }
    const quotas = quotasOf(losing)
    const ended = { passed: 0, unknown: 0, limited: 0 }
    while (ended.limited === 0) ended[(await quotas.take('acme', of(1, limit))).status]++
    expect(ended.passed).toBe(limit)
    expect(ended.unknown).toBeGreaterThan(0)
  },
)

test('nobody waits, and no promise is made, while units are leased; a server is asked seldom', async () => {
  const { counters, taken } = await openCounters()
  const quotas = quotasOf(counters)
  await quotas.take('acme', of(1, 100_000))
  for (let i = 0; i < 999; i++) expect(quotas.take('acme', of(1, 100_000))).toBeInstanceOf(Budget)
  expect(taken).toEqual([1_000])
  expect(quotas.take('acme', of(1, 100_000))).toBeInstanceOf(Promise)
})

test('leases shrink to what is asked for near the limit', async () => {
  const { counters, taken } = await openCounters()
  const quotas = quotasOf(counters)
  for (let i = 0; i < 1_000; i++) await quotas.take('acme', of(1, 1_000))
  expect(taken[0]).toBe(10)
  expect(taken.slice(-39)).toEqual(Array.from({ length: 39 }, () => 1))
  expect(await quotas.take('acme', of(1, 1_000))).toEqual({
    ...{ status: 'limited', reason: 'daily_quota', units: 1, limit: 1_000, remaining: 0 },
    ...{ resetSec: 12 * 3_600, retryAfterSec: 12 * 3_600 },
  })
})

test('a batch is taken as a whole or not at all', async () => {
  const quotas = quotasOf((await openCounters()).counters)
  expect(await quotas.take('acme', of(60, 100))).toMatchObject({ status: 'passed' })
  expect(await quotas.take('acme', of(41, 100))).toMatchObject({ status: 'limited', remaining: 40 })
  expect(await quotas.take('acme', of(40, 100))).toMatchObject({ status: 'passed' })
})

test('what is given back passes again, in another process after a second too', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const counters = await openMemoryCounters()
  const clock = { nowMs: NOON }
  const [one, other] = [quotasOf(counters, clock), quotasOf(counters, clock)]
  const budget = (await one.take('acme', of(5, 5, clock))) as Budget
  expect(await other.take('acme', of(1, 5, clock))).toMatchObject({ status: 'limited' })
  one.giveBack(budget, 2)
  expect(await one.take('acme', of(1, 5, clock))).toMatchObject({ status: 'passed' })
  clock.nowMs += 1_500
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await other.take('acme', of(1, 5, clock))).toMatchObject({ status: 'passed' })
  expect(await other.take('acme', of(1, 5, clock))).toMatchObject({ status: 'limited' })
})

test('a process that ends returns what it has leased', async () => {
  const { counters } = await openCounters()
  const one = quotasOf(counters)
  await one.take('acme', of(1, 1_000))
  await one[Symbol.asyncDispose]()
  const other = quotasOf(counters)
  expect(await other.take('acme', of(999, 1_000))).toMatchObject({ status: 'passed' })
})

test('the day begins at midnight of UTC+8, and gives nobody units of the day before', async () => {
  const { counters } = await openCounters()
  const clock = { nowMs: NEXT_DAY - 1 }
  const quotas = quotasOf(counters, clock)
  const before = (await quotas.take('acme', of(10, 10, clock))) as Budget
  expect(await quotas.take('acme', of(1, 10, clock))).toMatchObject({ status: 'limited', retryAfterSec: 1 })
  clock.nowMs = NEXT_DAY
  expect(await quotas.take('acme', of(4, 10, clock))).toMatchObject({ status: 'passed' })
  quotas.giveBack(before, 10)
  expect(await quotas.take('acme', of(6, 10, clock))).toMatchObject({ status: 'passed' })
  expect(await quotas.take('acme', of(1, 10, clock))).toMatchObject({ status: 'limited', retryAfterSec: 86_400 })
})

test('what a day has left over, and what is given back once it is over, is still that day’s', async () => {
  const counters = await openMemoryCounters()
  const clock = { nowMs: NEXT_DAY - 1 }
  const sums = new Map<string, number>()
  const add = (key: string, units: number): void => void sums.set(key, (sums.get(key) ?? 0) + units)
  const summed: Counters = {
    async take(key, units, ...rest) {
      const taken = await counters.take(key, units, ...rest)
      if (taken.allowed) add(key, units)
      return taken
    },
    async giveBack(key, units, ...rest) {
      await counters.giveBack(key, units, ...rest)
      add(key, -units)
    },
    async [Symbol.asyncDispose]() {},
  }
  const quotas = quotasOf(summed, clock)
  const before = (await quotas.take('acme', of(5, 1_000, clock))) as Budget
  await quotas.take('idle', of(3, 1_000, clock))
  clock.nowMs = NEXT_DAY
  await quotas.take('acme', of(7, 1_000, clock))
  quotas.giveBack(before, 2)
  // The plan is another one from here on.
  await quotas.take('acme', of(1, 2_000, clock))
  await quotas[Symbol.asyncDispose]()
  const [last, first] = [NEXT_DAY - 1, NEXT_DAY].map((ms) => Math.floor((ms + 8 * 3_600_000) / 86_400_000))
  expect(Object.fromEntries(sums)).toEqual({
    ...{ [`quota:${last}:acme`]: 3, [`quota:${last}:idle`]: 3, [`quota:${first}:acme`]: 8 },
  })
})

test('without counters leases are used up; then nothing is known, until they are back', async () => {
  const { counters, at } = await openCounters()
  let isAway = false
  const coming: Counters = { ...counters, take: (...asked) => (isAway ? away.take(...asked) : at.take(...asked)) }
  const quotas = quotasOf(coming)
  await quotas.take('acme', of(1, 1_000))
  isAway = true
  for (let i = 0; i < 9; i++) expect(await quotas.take('acme', of(1, 1_000))).toMatchObject({ status: 'passed' })
  expect(await quotas.take('acme', of(1, 1_000))).toEqual({ status: 'unknown' })
  isAway = false
  expect(await quotas.take('acme', of(1, 1_000))).toMatchObject({ status: 'passed' })
})
