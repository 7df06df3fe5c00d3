import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Request } from 'autocannon'
import { readConfig } from '../../infra/config/config.ts'
import type { Config } from '../../infra/config/types.ts'
import { openEventLog, openMigratedWarehouse } from '../../infra/open-ports.ts'
import { markFilled } from '../../processors/loop/filled-from.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { silentLog } from '../unit/silent-log.ts'
import { benchAccounts } from './api-accounts.ts'
import { writeApiConfiguration } from './api-configuration.ts'
import { ask } from './api-load.ts'
import { BENCH_DAYS, BENCH_TOKEN, BENCH_VALIDATORS, benchPubkey, fillApiRows } from './api-rows.ts'
import { Report } from './report.ts'
import { type ServerChild, startServerChild } from './server-child.ts'

/** Of repeated questions by 50 clients: an answer that is kept costs little more than HTTP. */
const REPEATED_PER_SECOND_MIN = 2_000
/** Of first questions by one client. */
const FIRST_P50_MS_MAX = 8
const CLIENTS = [1, 50] as const
const WARM_UP_REQUESTS = 20
const FIRST_REQUESTS = 100
const REPEATED_SECONDS = 3
const START_MS = 60_000

/** A question in as many forms as are asked for; the server has answered none of them before. */
interface Question {
  readonly name: string
  readonly ask: (form: number) => Request
}

const today = dayOfInstant(Date.now() / 1_000)
const base = `/ethereum/mainnet/${BENCH_TOKEN}`
const get = (path: string): Request => ({ method: 'GET', path: `${base}${path}` })
const post = (path: string, body: object): Request => ({
  method: 'POST',
  path: `${base}${path}`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Days `[from, to)` that differ for each form, between 1 and 30 long. */
function windowOf(form: number): { readonly from: string; readonly to: string } {
  const start = today - BENCH_DAYS + (form % (BENCH_DAYS - 30))
  const days = 1 + (Math.floor(form / (BENCH_DAYS - 30)) % 30)
  return { from: formatDay(start), to: formatDay(start + days) }
}

const QUESTIONS: readonly Question[] = [
  {
    name: 'daily-rewards',
    ask: (form) => {
      const { from, to } = windowOf(form)
      return get(`/api/v1/validator/daily-rewards?start_date=${from}&end_date=${to}&limit=31`)
    },
  },
  { name: 'total-rewards', ask: (form) => get(`/api/v1/validator/total-rewards?page=1&limit=${10 + (form % 990)}`) },
  {
    name: 'settled-rewards',
    ask: (form) => {
      const { from, to } = windowOf(form)
      return get(`/api/v1/cloud/validator/el/settle/rewards?start_date=${from}&end_date=${to}&limit=50`)
    },
  },
  {
    name: 'validator status',
    ask: (form) =>
      post('/api/v1/validator/details', {
        pubkeys: [benchPubkey(form % BENCH_VALIDATORS)],
        limit: 1 + (Math.floor(form / BENCH_VALIDATORS) % 1_000),
      }),
  },
  {
    name: 'GraphQL: validators with a week of days',
    ask: (form) => {
      const { from } = windowOf(form)
      const query = `query ($first: Int, $from: String, $to: String) {
        validators(first: $first) { nodes { index status days(from: $from, to: $to) { date totalReward { eth } residual { gwei } } } }
      }`
      const to = formatDay(today - BENCH_DAYS + (form % (BENCH_DAYS - 30)) + 7)
      return post('/graphql', { query, variables: { first: 10 + Math.floor(form / (BENCH_DAYS - 30)), from, to } })
    },
  },
]

/**
 * Measures the API over an embedded warehouse of one account, as the program serves it, in a process of its own: each question
 * again and again, and in forms that were never asked before, by one client and by fifty; then over one of many accounts. True when all
 * limits hold.
 */
export async function benchApi(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-api-'))
  try {
    const env = writeApiConfiguration(directory)
    await fillWarehouse(readConfig(env))
    await using server = await startServerChild('api-server.ts', env)
    report.heading(
      `${BENCH_VALIDATORS} validators, ${BENCH_DAYS} closed days; the machine's load was ${loadavg()[0]?.toFixed(1)} before`,
    )
    for (const question of QUESTIONS) {
      report.heading(question.name)
      await ask(server, [question.ask(0)], { clients: 1, amount: WARM_UP_REQUESTS })
      for (const clients of CLIENTS) {
        await reportFirst(report, server, question, clients)
        await reportRepeated(report, server, question, clients)
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  await benchAccounts(report)
  return report.within
}

async function reportFirst(report: Report, server: ServerChild, question: Question, clients: number): Promise<void> {
  const from = clients === 1 ? 1 : FIRST_REQUESTS + 1
  const forms = Array.from({ length: FIRST_REQUESTS }, (_, form) => question.ask(from + form))
  const { p50Ms, cpuMs, perSecond } = await ask(server, forms, { clients, amount: FIRST_REQUESTS })
  const name = `first, ${clients} at once: p50`
  if (clients === 1) report.limited(name, p50Ms, { digits: 2, unit: 'ms', max: FIRST_P50_MS_MAX })
  else report.info(name, p50Ms, 2, 'ms')
  report.info(`first, ${clients} at once: per second`, perSecond, 0)
  report.info(`first, ${clients} at once: CPU each`, cpuMs, 2, 'ms')
}

async function reportRepeated(report: Report, server: ServerChild, question: Question, clients: number): Promise<void> {
  const load = { clients, seconds: REPEATED_SECONDS }
  const { p50Ms, cpuMs, perSecond } = await ask(server, [question.ask(0)], load)
  const name = `repeated, ${clients} at once: per second`
  if (clients === 1) report.info(name, perSecond, 0)
  else report.atLeast(name, perSecond, { digits: 0, unit: '', min: REPEATED_PER_SECOND_MIN })
  report.info(`repeated, ${clients} at once: p50`, p50Ms, 2, 'ms')
  report.info(`repeated, ${clients} at once: CPU each`, cpuMs, 3, 'ms')
}

/** The tables, of a log that holds nothing else. */
async function fillWarehouse(config: Config): Promise<void> {
  const now = Date.now() / 1_000
  await using eventLog = await openEventLog(config, silentLog)
  await using warehouse = await openMigratedWarehouse(config)
  await fillApiRows(warehouse, now)
  const facts = await openLogFacts(eventLog, now, AbortSignal.timeout(START_MS))
  await markFilled(warehouse, facts, { now, isWhole: true })
}
