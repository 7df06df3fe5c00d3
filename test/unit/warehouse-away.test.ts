import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LiveSetting } from '../../commands/live-setting.ts'
import { processRole } from '../../commands/process-role.ts'
import type { Running } from '../../commands/role.ts'
import { Watch } from '../../commands/watch.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { InsertColumns, Warehouse } from '../../infra/ports/warehouse.ts'
import { areTablesWhole } from '../../processors/loop/filled-from.ts'
import { AppError } from '../../schemas/errors.ts'
import { givenChain } from './given-chain.ts'
import { noCounters } from './no-counters.ts'
import { settingsOfFile } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const given = givenChain()
const stores = storesOfFile()
const settings = settingsOfFile()
const AT_START: ReadonlySet<string> = new Set([
  'the start of the processors',
  'the progress line',
  'the watch over chains',
])
const FILLING = 'the filling of tables'

/** The warehouse, away while it is told to be, or for these inserts. */
function withAbsence(warehouse: Warehouse, isAway: (table?: string, columns?: InsertColumns) => boolean): Warehouse {
  const refuse = (...inserted: Parameters<typeof isAway>): void => {
    if (!isAway(...inserted)) return
    throw new AppError('warehouse', 'ClickHouse did not answer (ECONNREFUSED).', { retryable: true })
  }
  return {
    ...warehouse,
    async insert(table, columns) {
      refuse(table, columns)
      await warehouse.insert(table, columns)
    },
    async command(...args) {
      refuse()
      await warehouse.command(...args)
    },
    async query<Row>(...args: Parameters<Warehouse['query']>) {
      refuse()
      return await warehouse.query<Row>(...args)
    },
  }
}

it('a process waits for a warehouse that is away at its start, and when its tables are filled', {
  timeout: TEST_MS,
}, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  const file = join(mkdtempSync(join(tmpdir(), 'epochline-jobs-')), 'jobs.sqlite')
  await using jobQueue = await openSqliteJobQueue({ file, log: silentLog })
  const waited = new Set<string>()
  const told = new Set<string>()
  const filled = Promise.withResolvers<void>()
  let isAway = true
  const tell = (message: string): void => {
    told.add(message.replace(/ after \d+ s$/, ''))
    if (message === 'the tables are filled: what the log held is served') filled.resolve()
  }
  const log = {
    ...silentLog,
    warn(_: object, message: string) {
      const [, name = ''] = /^(.*) waits: ClickHouse did not answer/.exec(message) ?? []
      waited.add(name)
      if (AT_START.isSubsetOf(waited)) isAway = false
    },
    info: (_: object, message: string) => tell(message),
    debug: (_: object, message: string) => tell(message),
  }
  const { config, screen } = settings()
  const running: Running = {
    ...{ config, screen, log, devnet: undefined, chains: new LiveSetting([]) },
    gateway: new LiveSetting({ networks: [], hosts: [] }),
    ...{
      nodes: new Map(),
      nodeHeads: new Map(),
      stoppedRoles: new Map(),
      vault: new Watch(),
      upstreams: new Watch(),
      progress: { update() {}, [Symbol.dispose]() {} },
    },
  }
  const stop = new AbortController()
  /** What ends a filling. */
  const isLast = (table?: string, { is_whole: isWhole = [] }: InsertColumns = {}) =>
    table === 'filled_from' && isWhole instanceof Uint8Array && isWhole[0] === 1
  const ports = {
    ...{ eventLog, jobQueue, counters: noCounters, clientCounters: noCounters },
    warehouse: withAbsence(warehouse, (...insert) => isAway || (isLast(...insert) && !waited.has(FILLING))),
  }
  const ended = processRole.run(ports, running, stop.signal)
  await Promise.race([filled.promise, ended])
  expect(await areTablesWhole(warehouse)).toBe(true)
  stop.abort()
  await ended
  for (const name of [...AT_START, FILLING]) expect(told).toContain(`${name} goes on`)
})
