import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { Usage } from '../../api/gateway/usage.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { insertAll } from '../../processors/loop/rows.ts'
import { projectUsage } from '../../processors/usage/project-usage.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows } from './api-fixture.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'
import { networkOn, openStub, rpcAnswer, type Stub, untilHealthy } from './given-gateway.ts'

// Two processes whose clocks pass 16:00 UTC, where the day of the service begins.

const PLACE = 'ethereum/mainnet'
const CHANGE_MS = Date.parse('2026-11-20T16:00:00Z')
const DAYS = ['2026-11-20', '2026-11-21']
const DAY_MS = 86_400_000
const KEY = 'acme-1'
const never = new AbortController().signal

const clock = { nowMs: CHANGE_MS - 30_000 }
/** What the counters hold in the end, by the days of their keys. */
const counted = new Map<string, number>()
const open = new AsyncDisposableStack()
let node: Stub
let given: GivenApi
let eventLog: EventLog
let usages: readonly Usage[]
let meters: readonly Meter[]
let apis: readonly Api[]

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-usage-days-'))
  open.defer(() => rm(directory, { recursive: true }))
  eventLog = open.use(await openSqliteEventLog({ file: join(directory, 'log.sqlite') }))
  node = open.use(await openStub('ethereum', 'mainnet'))
  given = open.use(await openGivenApi())
  const key = { token_hash: hashToken(KEY), account: 'acme', version: 1, is_deleted: 0 }
  await insertRows(given.warehouse, 'access_tokens', [key])
  const upstreams = open.use(
    openUpstreams({ networks: [networkOn(PLACE, node)], log: silentLog, secret: 'secret', probeMs: 100 }),
  )
  const counters = countedBy(open.use(await openMemoryCounters()))
  const planOf = () => ({ name: 'default', requestsPerDay: 1_000 })
  const now = () => clock.nowMs
  usages = [1, 2].map(() => open.use(new Usage({ eventLog, log: silentLog })))
  meters = usages.map((usage) => new Meter({ counters, clientCounters: counters, planOf, usage, log: silentLog, now }))
  const parts = { ...given.partsOf([]), upstreams, host: '127.0.0.1', port: 0 }
  apis = await Promise.all(meters.map((meter) => openApi({ ...parts, meter })))
  for (const api of apis) open.use(api)
  await untilHealthy({ upstreams }, PLACE)
})
afterAll(() => open.disposeAsync())

function countedBy(counters: Counters): Counters {
  const add = (key: string, units: number): void => {
    const day = new Date(Number(key.split(':')[1]) * DAY_MS).toISOString().slice(0, 10)
    counted.set(day, (counted.get(day) ?? 0) + units)
  }
  return {
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
}

async function call(process: number, method = 'eth_chainId', calls = 1): Promise<number> {
  const one = { jsonrpc: '2.0', id: 7, method, params: [] }
  const body = JSON.stringify(calls === 1 ? one : Array(calls).fill(one))
  const response = await fetch(`${apis[process]?.url}/${PLACE}/${KEY}`, { method: 'POST', body })
  await response.text()
  return response.status
}

/** By days of the service, as the tables have them. */
async function billed(): Promise<Record<string, number>> {
  for (const usage of usages) await usage.tell()
  const events = await Array.fromAsync(eventLog.read({ topic: 'usage', signal: never }))
  await insertAll(
    given.warehouse,
    events.flatMap((event) => projectUsage(event).rows),
  )
  const rows = await given.warehouse.query<{ day: string; billed: string }>(`
    SELECT toString(toDate(minute, 'Asia/Shanghai')) AS day, sum(billed) AS billed
    FROM usage_minutes FINAL WHERE account = 'acme' GROUP BY day`)
  return Object.fromEntries(rows.map((row) => [row.day, Number(row.billed)]))
}

test('what is billed is what the quota has counted on both sides of the day’s change, at calls under way too', async () => {
  const held: (() => void)[] = []
  node.answer = (got, response) => {
    if (got.body.includes('eth_gasPrice')) held.push(() => rpcAnswer(got, response))
    else if (got.body.includes('eth_sendTransaction')) held.push(() => response.destroy())
    else rpcAnswer(got, response)
  }
  for (let i = 0; i < 5; i++) expect(await call(i % 2)).toBe(200)
  expect(await call(1, 'eth_chainId', 3)).toBe(200)
  // One is answered, and one fails, when the day is over.
  const [answered, failing] = [call(0, 'eth_gasPrice'), call(0, 'eth_sendTransaction')]
  await expect.poll(() => held.length).toBe(2)
  clock.nowMs = CHANGE_MS
  expect(await call(0)).toBe(200)
  for (const end of held) end()
  expect([await answered, await failing]).toEqual([200, 502])
  // The other process has used nothing since.
  clock.nowMs += 60_000
  for (let i = 0; i < 3; i++) expect(await call(0)).toBe(200)
  for (const meter of meters) await meter[Symbol.asyncDispose]()
  expect(await billed()).toEqual({ [DAYS[0] as string]: 5 + 3 + 1, [DAYS[1] as string]: 1 + 3 })
  expect(Object.fromEntries(counted)).toEqual(await billed())
})
