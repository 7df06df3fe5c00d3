import { expect, onTestFinished, test } from 'vitest'
import { Bill, CLIENT_LEFT } from '../../api/gateway/bill.ts'
import { METHODS_OF_KEY_MAX, OTHER_METHOD, Usage, type UsageOf } from '../../api/gateway/usage.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { USAGE_ROWS_MAX, usageCounted } from '../../schemas/events/usage.ts'
import { quantileMs, TIME_BUCKETS, timeBoundMs, timeBucketOf } from '../../schemas/usage-times.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { silentLog } from './silent-log.ts'

const log = eventLogOfEachTest()
const NOON = Date.parse('2026-11-20T04:00:00Z')
const OF: UsageOf = { account: 'acme', tokenHash: 'ab'.repeat(32), place: 'ethereum/mainnet' }
const CALL = { billed: 1, ms: 3, requestBytes: 10, answerBytes: 20 }

function openUsage(eventLog: Pick<EventLog, 'append'> = log()): Usage {
  const usage = new Usage({ eventLog, log: silentLog })
  onTestFinished(() => usage[Symbol.asyncDispose]())
  return usage
}

/** Of the newest event of each part: method, calls and units. */
async function told(): Promise<readonly (readonly [string, number, number])[]> {
  const parts = new Map<string, readonly (readonly [string, number, number])[]>()
  for await (const { event } of log().read({ topic: 'usage', signal: new AbortController().signal })) {
    const { method, calls, billed } = decodeEvent(usageCounted, event).columns
    parts.set(
      event.key,
      method.map((name, row) => [Buffer.from(name).toString(), Number(calls[row]), Number(billed[row])]),
    )
  }
  return [...parts.values()].flat()
}

test('what was told is told again as it stands: units that are given back later go down in their own minute', async () => {
  const usage = openUsage()
  const row = usage.minuteAt(NOON).rowOf(OF, 'eth_call', 200)
  row.count(CALL)
  row.count(CALL)
  await usage.tell()
  expect(await told()).toEqual([['eth_call', 2, 2]])
  usage
    .minuteAt(NOON + 120_000)
    .rowOf(OF, 'eth_call', 200)
    .count(CALL)
  row.giveBack(1)
  await usage.tell()
  expect(await told()).toEqual([
    ['eth_call', 1, 1],
    ['eth_call', 2, 1],
  ])
})

/** What is given back to it. */
function givenMeter(usage: Usage) {
  const back: (readonly [unknown, number])[] = []
  const meter = {
    minuteAt: (nowMs: number) => usage.minuteAt(nowMs),
    giveBack: (...given: readonly [unknown, number]) => void back.push(given),
  }
  return { meter, back }
}

test('calls of a batch that nobody has answered cost nothing, and the others do', async () => {
  const usage = openUsage()
  const passed = { status: 'passed' } as const
  const { meter, back } = givenMeter(usage)
  const bill = new Bill({ meter, take: () => passed, of: OF, now: () => NOON })
  const calls = ['eth_call', 'eth_getLogs', 'eth_chainId'].map((method) => ({ method }))
  bill.asks(calls, 30, new Map([[calls[2] as object, 403]]))
  bill.take()
  bill.failedOf(calls.slice(1), 502)
  bill.answered(200, 30)
  expect(back).toEqual([[passed, 1]])
  await usage.tell()
  expect(await told()).toEqual([
    ['eth_call', 1, 1],
    ['eth_getLogs', 1, 0],
    ['eth_chainId', 1, 0],
  ])
})

test('who leaves while units are asked for gets them back, and has no bill', async () => {
  const usage = openUsage()
  const passed = { status: 'passed' } as const
  const { meter, back } = givenMeter(usage)
  const bill = new Bill({ meter, take: async () => passed, of: OF, now: () => NOON })
  bill.asks([{ method: 'eth_call' }, { method: 'eth_call' }], 10)
  const taken = bill.take()
  bill.answered(CLIENT_LEFT, 0)
  expect(await taken).toBe(passed)
  bill.failed(500)
  expect(back).toEqual([[passed, 2]])
  await usage.tell()
  expect(await told()).toEqual([['eth_call', 2, 0]])
})

test('what the log does not take is told when it does', async () => {
  let isAway = true
  const usage = openUsage({
    append: (...asked) => (isAway ? Promise.reject(new AppError('event_log', 'away')) : log().append(...asked)),
  })
  const row = usage.minuteAt(NOON).rowOf(OF, 'eth_call', 200)
  row.count(CALL)
  await usage.tell()
  expect(await told()).toEqual([])
  row.count(CALL)
  isAway = false
  await usage.tell()
  expect(await told()).toEqual([['eth_call', 2, 2]])
})

test('no row is lost when the clock is put back', async () => {
  const usage = openUsage()
  for (const atMs of [NOON, NOON + 60_000, NOON, NOON + 60_000])
    usage.minuteAt(atMs).rowOf(OF, 'eth_call', 200).count(CALL)
  await usage.tell()
  expect(await told()).toEqual(Array.from({ length: 4 }, () => ['eth_call', 1, 1]))
})

test('names of methods are bounded, and no call is lost by it', async () => {
  const usage = openUsage()
  const minute = usage.minuteAt(NOON)
  const calls = METHODS_OF_KEY_MAX + 50
  for (let i = 0; i < calls; i++) minute.rowOf(OF, `method_${i}`, 200).count(CALL)
  minute.rowOf(OF, 'method_0', 200).count(CALL)
  await usage.tell()
  const rows = await told()
  expect(rows).toHaveLength(METHODS_OF_KEY_MAX + 1)
  expect(rows.find(([method]) => method === OTHER_METHOD)).toEqual([OTHER_METHOD, 50, 50])
  expect(rows.find(([method]) => method === 'method_0')).toEqual(['method_0', 2, 2])
})

test('a minute of many keys is told in parts, each of which fits an event of a topic', async () => {
  const usage = openUsage()
  const minute = usage.minuteAt(NOON)
  const keys = USAGE_ROWS_MAX + 1
  for (let i = 0; i < keys; i++) {
    const tokenHash = (BigInt(i) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834n).toString(16).padStart(64, '0').slice(-64)
    minute.rowOf({ ...OF, account: `account ${i}`, tokenHash }, 'x'.repeat(128), 200).count(CALL)
  }
  await usage.tell()
  expect(await told()).toHaveLength(keys)
})

test('a bound that 99 of a hundred have not exceeded is at most half more than the true time', () => {
  const times = Array.from({ length: 1_000 }, (_, i) => 0.5 * 1.011 ** i)
  const counts = Array.from({ length: TIME_BUCKETS }, () => 0)
  for (const [i, ms] of times.entries()) {
    counts[timeBucketOf(ms)] = (counts[timeBucketOf(ms)] as number) + 1
    const exact = times[Math.ceil(0.99 * (i + 1)) - 1] as number
    const bound = quantileMs(counts, 0.99) as number
    expect(bound, String(ms)).toBeGreaterThanOrEqual(exact)
    expect(bound, String(ms)).toBeLessThanOrEqual(1.5 * exact)
  }
  expect(quantileMs([], 0.99)).toBeUndefined()
  expect(timeBucketOf(Number.MAX_SAFE_INTEGER)).toBe(TIME_BUCKETS - 1)
  expect(timeBoundMs(TIME_BUCKETS - 1)).toBe(65_536)
})
