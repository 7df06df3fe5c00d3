import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Request } from 'autocannon'
import { readConfig } from '../../infra/config/config.ts'
import type { Config } from '../../infra/config/types.ts'
import { openEventLog, openMigratedWarehouse } from '../../infra/open-ports.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { markFilled } from '../../processors/loop/filled-from.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { eventually } from '../e2e/processes.ts'
import { projecting } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { writeApiConfiguration } from './api-configuration.ts'
import { ApiHistory, type HistorySize, pubkeyAt, tokenOf, validatorsOf } from './api-history.ts'
import { ask } from './api-load.ts'
import type { Report } from './report.ts'
import { type ServerChild, startServerChild } from './server-child.ts'

const WHOLE: HistorySize = { validators: 100_000, accounts: 1_000, largest: 10_000, days: 365, epochDays: 7 }
const SMALL: HistorySize = { validators: 5_000, accounts: 50, largest: 1_000, days: 70, epochDays: 1 }

const MONTH_P99_MS_MAX = 50
const YEAR_P99_MS_MAX = 100
const TOTALS_P99_MS_MAX = 100
const DETAILS_P99_MS_MAX = 50
const REPEATED_PER_SECOND_MIN = 2_000
const FIRST_PER_SECOND_MIN = 150
const CLIENTS = 50
/** Of a question of the largest account, each in a form that was not asked before as far as there are so many. */
const REQUESTS = 300
const PAGE = 1_000
const MONTH_DAYS = 30
/** An epoch is told so often while clients ask: six times as often as on mainnet. */
const EPOCH_EVERY_MS = 64_000
/** From one epoch to the next: each answer is read anew once, wherever in between it begins. */
const REPEATED_SECONDS = EPOCH_EVERY_MS / 1_000
const NO_MERGES_MS = 600_000
const START_MS = 60_000
/** Less of a core than this: the server has nothing to do. */
const RESTING_CORE_SHARE = 0.1
const RESTING_LOOK_MS = 2_000
const RESTING_MS_MAX = 300_000

/**
 * Measures the API over the history of many accounts that the processors have made rows of: questions of the largest one, and of fifty
 * clients about all the small ones while the processors go on; `--small` over a twentieth of it.
 */
export async function benchAccounts(report: Report): Promise<void> {
  const size = process.argv.includes('--small') ? SMALL : WHOLE
  const directory = mkdtempSync(join(tmpdir(), 'epochline-accounts-'))
  try {
    const env = writeApiConfiguration(directory)
    const config = readConfig(env)
    const startMs = performance.now()
    const history = await fill(config, size)
    const { validators, accounts, days, epochDays } = size
    report.heading(
      `${validators} validators of ${accounts} accounts, ${days} closed days, epochs of ${epochDays} of them`,
    )
    report.info('filled within', (performance.now() - startMs) / 1_000, 0, 's')
    await using server = await startServerChild('api-server.ts', { ...env, BENCH_PROCESSES: '1' })
    const startedMs = performance.now()
    await rested(server)
    report.info('what a start settles is done within', (performance.now() - startedMs) / 1_000, 0, 's')
    report.heading(`an account of ${size.largest} validators, one client`)
    for (const { name, request, max } of QUESTIONS) {
      const requests = Array.from({ length: REQUESTS }, (_, form) => request(size, form))
      const { p50Ms, p99Ms, maxMs } = await ask(server, requests, { clients: 1, amount: REQUESTS })
      report.limited(`${name}: p99`, p99Ms, { digits: 1, unit: 'ms', max })
      report.info(`${name}: p50`, p50Ms, 1, 'ms')
      report.info(`${name}: slowest, the first`, maxMs, 1, 'ms')
    }
    report.heading(
      `${CLIENTS} clients of ${accounts - 1} small accounts, while an epoch is told every ${EPOCH_EVERY_MS / 1_000} s`,
    )
    await using eventLog = await openEventLog(config, silentLog)
    const stop = new AbortController()
    const telling = tellEpochs(history, eventLog, stop.signal)
    const requests = smallQuestions(size)
    const first = await ask(server, requests, { clients: CLIENTS, amount: requests.length })
    report.atLeast('first reads per second', first.perSecond, { digits: 0, unit: '', min: FIRST_PER_SECOND_MIN })
    report.info('first reads: p50', first.p50Ms, 1, 'ms')
    report.info('first reads: p99', first.p99Ms, 1, 'ms')
    report.info('first reads: CPU each', first.cpuMs, 2, 'ms')
    const repeated = await ask(server, requests, { clients: CLIENTS, seconds: REPEATED_SECONDS })
    report.atLeast('repeated per second', repeated.perSecond, { digits: 0, unit: '', min: REPEATED_PER_SECOND_MIN })
    report.info('repeated: p99', repeated.p99Ms, 1, 'ms')
    stop.abort()
    report.info('epochs told meanwhile', await telling, 0)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Resolves once a server does nothing by itself. */
async function rested(server: ServerChild): Promise<void> {
  const used = async () => {
    const { user, system } = await server.ask<NodeJS.CpuUsage>()
    return (user + system) / 1_000
  }
  let before = await used()
  const look = async () => {
    const now = await used()
    const ms = now - before
    before = now
    return ms < RESTING_CORE_SHARE * RESTING_LOOK_MS ? true : undefined
  }
  await delay(RESTING_LOOK_MS)
  await eventually('the rest of the server', look, RESTING_MS_MAX, RESTING_LOOK_MS)
}

interface LargeQuestion {
  readonly name: string
  readonly request: (size: HistorySize, form: number) => Request
  readonly max: number
}

const today = dayOfInstant(Date.now() / 1_000)
const get = (account: number, path: string): Request => ({
  method: 'GET',
  path: `/ethereum/mainnet/${tokenOf(account)}${path}`,
})
const post = (account: number, path: string, body: object): Request => ({
  ...get(account, path),
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const daysBefore = (days: number): string => formatDay(today - days)

const QUESTIONS: readonly LargeQuestion[] = [
  {
    name: 'a month of daily-rewards',
    max: MONTH_P99_MS_MAX,
    request: ({ days }, form) => {
      const end = form % (days - MONTH_DAYS)
      return get(
        0,
        `/api/v1/validator/daily-rewards?start_date=${daysBefore(end + MONTH_DAYS)}&end_date=${daysBefore(end)}&limit=31`,
      )
    },
  },
  {
    name: 'a year by GraphQL',
    max: YEAR_P99_MS_MAX,
    request: ({ days }, form) => {
      const query =
        '{ days(from: $from) { date consensusReward { eth } executionReward { eth } validatorsActiveCount } }'
      const from = daysBefore(days - (form % MONTH_DAYS))
      return post(0, '/graphql', { query: `query ($from: String) ${query}`, variables: { from } })
    },
  },
  {
    name: `total-rewards by ${PAGE}`,
    max: TOTALS_P99_MS_MAX,
    request: ({ largest }, form) =>
      get(
        0,
        `/api/v1/validator/total-rewards?limit=${PAGE - Math.floor(form / 10)}&page=${1 + (form % Math.max(1, largest / PAGE))}`,
      ),
  },
  {
    name: `details by ${PAGE}`,
    max: DETAILS_P99_MS_MAX,
    request: ({ largest }, form) =>
      post(0, '/api/v1/validator/details', {
        limit: PAGE - Math.floor(form / 10),
        page: 1 + (form % Math.max(1, largest / PAGE)),
      }),
  },
]

/** Three questions of each small account, by kinds, so that none finds what the one before it has read. */
function smallQuestions(size: HistorySize): readonly Request[] {
  const accounts = Array.from({ length: size.accounts - 1 }, (_, i) => i + 1)
  return [
    ...accounts.map((account) =>
      get(
        account,
        `/api/v1/validator/daily-rewards?start_date=${daysBefore(MONTH_DAYS)}&end_date=${daysBefore(0)}&limit=31`,
      ),
    ),
    ...accounts.map((account) => get(account, '/api/v1/validator/total-rewards?limit=100')),
    ...accounts.map((account) =>
      post(account, '/api/v1/validator/details', { pubkeys: [pubkeyAt(validatorsOf(size, account).from)] }),
    ),
  ]
}

/** Appends epochs as an ingester does, for the processors of the server; resolves with their number. */
async function tellEpochs(history: ApiHistory, eventLog: EventLog, signal: AbortSignal): Promise<number> {
  let told = 0
  for (; !signal.aborted; told++) {
    const events = history.nextEpoch()
    for (const topic of ['execution.blocks', 'beacon.epochs'] as const) await eventLog.append(topic, events[topic])
    await delay(EPOCH_EVERY_MS, undefined, { signal }).catch(() => {})
  }
  return told
}

async function fill(config: Config, size: HistorySize): Promise<ApiHistory> {
  const now = Date.now() / 1_000
  await using eventLog = await openEventLog(config, silentLog)
  await using warehouse = await openMigratedWarehouse(config)
  const history = new ApiHistory(size, now)
  await history.fill(await projecting(eventLog, warehouse), now)
  const facts = await openLogFacts(eventLog, now, AbortSignal.timeout(START_MS))
  await markFilled(warehouse, facts, { now, isWhole: true })
  await eventually(
    'the end of merges',
    async () => ((await mergesOf(warehouse)) === 0 ? true : undefined),
    NO_MERGES_MS,
  )
  return history
}

async function mergesOf(warehouse: Warehouse): Promise<number> {
  const [row] = await warehouse.query<{ merges: string }>('SELECT count() AS merges FROM system.merges')
  return Number(row?.merges ?? 0)
}
