import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWebhook, listWebhooks, revokeWebhook } from '../../commands/admin/webhooks.ts'
import { LiveSetting } from '../../commands/live-setting.ts'
import type { Running } from '../../commands/role.ts'
import { webhooksRoleOf } from '../../commands/webhooks/role.ts'
import { readWebhooks } from '../../commands/webhooks-status.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import { markFilled } from '../../processors/loop/filled-from.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { exitRequested } from '../../schemas/events/exits.ts'
import { created, tracked, watched } from '../unit/account-facts.ts'
import { noCounters } from '../unit/no-counters.ts'
import { settingsOfFile, type TestSetting } from '../unit/setting-of-file.ts'
import { silentLog } from '../unit/silent-log.ts'
import {
  type ApiFixture,
  epochRow,
  insertOwners,
  insertRows,
  NEWEST_EPOCH,
  openApiFixture,
  pubkeyOf,
} from './api-fixture.ts'

// The role with all that it has in the program but its process: a log and a queue on disk, tables, a server that is told.

const LOOK_MS = 25
const TOLD_WITHIN_MS = 20_000
const settings = settingsOfFile()
const never = new AbortController().signal

interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let fixture: ApiFixture
let server: Server
let setting: TestSetting
let eventLog: EventLog
let jobQueue: JobQueue
const asked: Asked[] = []
/** What the server answers at a path; 204 where nothing is said. */
const answers = new Map<string, () => { readonly status: number; readonly location?: string } | 'hang up'>()

beforeAll(async () => {
  fixture = await openApiFixture()
  server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request as AsyncIterable<Buffer>)).join('')
    const path = request.url ?? ''
    const answer = answers.get(path)?.() ?? { status: 204 }
    if (answer === 'hang up') return void request.socket.destroy()
    asked.push({ path, headers: request.headers, body })
    response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location }).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  setting = settings({ WEBHOOK_ALLOWED_SERVER: hostOfServer() })
  eventLog = await openEventLog(setting.config, silentLog)
  if (setting.config.mode.kind !== 'embedded') throw new Error('tests are embedded')
  const { jobsFile } = setting.config.mode
  jobQueue = await openSqliteJobQueue({ file: jobsFile, log: silentLog, retryDelayMs: 20, restMs: 100 })
  await eventLog.append('accounts', [
    created('demo'),
    created('other'),
    tracked('demo', [10, 11].map(pubkeyOf)),
    tracked('other', [pubkeyOf(20)]),
    watched('other', [pubkeyOf(10)]),
  ])
  await insertRows(fixture.warehouse, 'watched_validators', [
    { account: 'other', pubkey: pubkeyOf(10), version: 1, is_deleted: 0 },
  ])
  await insertOwners(fixture.warehouse, [{ account: '', pubkey: pubkeyOf(12), version: 9 }])
  await markFilled(fixture.warehouse, await openLogFacts(eventLog, 0, never), { now: 1, isWhole: true })
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await jobQueue[Symbol.asyncDispose]()
  await eventLog[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const hostOfServer = () => `127.0.0.1:${(server.address() as AddressInfo).port}`
const urlOf = (path: string) => `http://${hostOfServer()}${path}`

async function newWebhook(account: string, url: string, kind?: readonly string[]) {
  setting.printed()
  await createWebhook(setting, { account, url, ...(kind === undefined ? {} : { kind }) })
  const [id = '', secret = ''] = setting.printed().trim().split('\n')
  return { id, secret }
}

/** Runs the role for as long as the work takes. */
async function whileTelling(work: () => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const running = {
    config: setting.config,
    log: silentLog,
    chains: new LiveSetting(setting.config.chains),
    devnet: undefined,
  } as Partial<Running> as Running
  const counters = { counters: noCounters, clientCounters: noCounters }
  const ports = { eventLog, jobQueue, warehouse: fixture.warehouse, ...counters }
  const told = webhooksRoleOf({ lookMs: LOOK_MS }).run(ports, running, stop.signal)
  const failed = told.then(() => {
    throw new Error('the role has ended')
  })
  try {
    await Promise.race([work(), failed])
  } finally {
    stop.abort()
    await told
    failed.catch(() => {}) // it was stopped
  }
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TOLD_WITHIN_MS
  while (!(await isSo())) {
    if (performance.now() > deadline)
      throw new Error(`${what} did not happen; asked were ${asked.map(({ path }) => path).join(' ')}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

const hasBegun = async (id: string) => {
  const events = await Array.fromAsync(eventLog.read({ topic: 'webhooks', signal: never }))
  return events.some(({ event }) => event.id === `webhook.began:${id}`)
}
const at = (path: string) => asked.filter((one) => one.path === path)
const bodiesAt = (path: string) =>
  at(path).map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> })

let epoch = NEWEST_EPOCH
/** A further epoch that is complete, with the statuses of validators at its end. */
async function nextEpoch(statuses: Readonly<Record<number, number>>): Promise<void> {
  epoch++
  const rows = Object.entries(statuses).map(([index, status]) =>
    epochRow(epoch, '2026-11-20', Number(index), { status, version: epoch }),
  )
  await insertRows(fixture.warehouse, 'validator_epochs', rows)
  await insertRows(fixture.warehouse, 'epochs', [
    { epoch, first_slot: epoch * 32, last_slot: epoch * 32 + 31, blocks: 32, version: 1 },
  ])
}
const [ACTIVE, EXITING, EXITED] = [2, 3, 5]

test('a receiver is told of changes, exits and closed days of its own validators, signed, and of nothing twice', async () => {
  const mine = await newWebhook('demo', urlOf('/mine?key=of-the-receiver'))
  const others = await newWebhook('other', urlOf('/others'))
  const days = await newWebhook('demo', urlOf('/days'), ['day.closed'])
  const path = '/mine?key=of-the-receiver'
  await whileTelling(async () => {
    await until(
      'the beginning',
      async () => (await hasBegun(mine.id)) && (await hasBegun(others.id)) && hasBegun(days.id),
    )
    await nextEpoch({ 10: ACTIVE, 11: EXITING, 20: ACTIVE })
    await until('the first message', () => at(path).length === 1)
    expect(bodiesAt(path)).toMatchObject([
      {
        type: 'validator.status',
        data: {
          ...{ chain: 'mainnet', pubkey: pubkeyOf(11) },
          ...{ previous_status: 'active_ongoing', status: 'active_exiting', epoch: NEWEST_EPOCH + 1 },
        },
      },
    ])
    const asking = {
      chain: 'mainnet',
      account: 'demo',
      requestId: crypto.randomUUID(),
      actor: 'ab',
      pubkeys: [pubkeyOf(10)],
    }
    const envelope = { key: 'accounts', time: '2026-11-20T01:00:00.000Z' }
    await eventLog.append('accounts', [encodeEvent(exitRequested, { ...envelope, id: 'request', data: asking })])
    await insertRows(fixture.warehouse, 'closed_days', [
      {
        day: '2026-11-20',
        first_slot: 14_384,
        last_slot: 21_583,
        validators: 4,
        validators_unexplained: 0,
        version: 1,
      },
    ])
    await until('the exit and the day', () => at(path).length === 3 && at('/days').length === 1)
    const rest = bodiesAt(path).slice(1)
    expect(rest.find(({ type }) => type === 'validator.exit')?.data).toMatchObject({
      pubkey: pubkeyOf(10),
      step: 'requested',
    })
    expect(rest.find(({ type }) => type === 'day.closed')?.data).toEqual({ chain: 'mainnet', day: '2026-11-20' })
    // The other account only watches validator 10; the day is its as well.
    await until('the other account’s day', () => at('/others').length === 1)
  })
  expect(bodiesAt('/others').map(({ type }) => type)).toEqual(['day.closed'])
  expect(bodiesAt('/days').map(({ type }) => type)).toEqual(['day.closed'])
  for (const { headers, body } of at(path)) {
    const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
    const key = Buffer.from(mine.secret.replace('whsec_', ''), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).toBeLessThan(60)
  }
  expect(new Set(asked.map(({ headers }) => headers['webhook-id'])).size).toBe(5)

  // Started anew, with a queue that has lost its jobs as well: the log knows what was told.
  const before = asked.length
  await whileTelling(async () => {
    await nextEpoch({ 10: EXITING, 11: EXITING, 20: ACTIVE })
    await until('the next message', () => asked.length > before)
  })
  expect(asked.slice(before).map(({ body }) => JSON.parse(body).data)).toMatchObject([
    { pubkey: pubkeyOf(10), status: 'active_exiting' },
  ])
  for (const { id } of [mine, others, days]) await revokeWebhook(setting, id)
})

test('a receiver that fails, redirects or is no public one holds up nobody, and is told by status until it has taken all', async () => {
  let failures = 2
  answers.set('/flaky', () => (failures-- > 0 ? { status: 500 } : { status: 200 }))
  let hangs = true
  answers.set('/away', () => (hangs ? 'hang up' : { status: 204 }))
  answers.set('/moved', () => ({ status: 307, location: '/elsewhere' }))
  const [flaky, away, moved, good] = [
    await newWebhook('demo', urlOf('/flaky')),
    await newWebhook('demo', urlOf('/away')),
    await newWebhook('demo', urlOf('/moved')),
    await newWebhook('demo', urlOf('/good')),
  ]
  // Its name leads to this machine, which nothing at its creation could know.
  const inside = await newWebhook('demo', `https://localhost:${(server.address() as AddressInfo).port}/inside`)
  const all = [flaky, away, moved, good, inside]
  await whileTelling(async () => {
    await until('the beginning', async () =>
      (await Promise.all(all.map(({ id }) => hasBegun(id)))).every((begun) => begun),
    )
    await nextEpoch({ 10: EXITED, 11: EXITED, 20: ACTIVE })
    await until('the good one’s messages', () => at('/good').length === 2)
    await until('the repetition', () => at('/flaky').length === 4)
    const isKnown = async () =>
      (await readWebhooks(eventLog, jobQueue)).filter(({ reason }) => reason !== null).length === 3
    await until('the reasons', isKnown)
    const status = new Map((await readWebhooks(eventLog, jobQueue)).map((one) => [one.webhook, one]))
    expect(status.get(moved.id)).toMatchObject({
      ...{ account: 'demo', waiting: 2, given_up: 0 },
      reason: 'The receiver has answered 307; messages are not sent on to another address.',
    })
    expect(status.get(inside.id)?.reason).toBe(
      'The receiver was not told: it has an address that is not of the public internet.',
    )
    expect(status.get(away.id)?.reason).toMatch(/^The receiver was not told: the server could not be asked \(\w+\)\.$/)
    expect([...status.keys()].sort()).toEqual([moved.id, inside.id, away.id].sort())
    hangs = false
    await until('what was missed', () => at('/away').length === 2)
  })
  expect(at('/elsewhere')).toEqual([])
  expect(at('/inside')).toEqual([])
  const [first, second, ...again] = at('/flaky').map(({ headers }) => headers['webhook-id'])
  expect(new Set(again)).toEqual(new Set([first, second])) // the same messages
  expect(
    at('/away')
      .map(({ body }) => body)
      .sort(),
  ).toEqual(
    at('/good')
      .map(({ body }) => body)
      .sort(),
  )

  await listWebhooks(setting, 'demo')
  const lines = setting.printed().trim().split('\n')
  expect(lines.find((line) => line.startsWith(good.id))).toMatch(/2 delivered, 0 waiting, 0 given up$/)
  expect(lines.find((line) => line.startsWith(moved.id))).toMatch(/0 delivered, 2 waiting, 0 given up$/)
  for (const { id } of all) await revokeWebhook(setting, id)
})
