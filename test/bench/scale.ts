import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../infra/config/config.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../../infra/open-ports.ts'
import { DERIVING_JOBS } from '../../processors/derive.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { RANGE_VALIDATORS } from '../../schemas/events/beacon-epoch.ts'
import { type Environment, eventually, startProgram } from '../e2e/processes.ts'
import { startClickhouse } from '../servers/clickhouse.ts'
import { startKafka } from '../servers/kafka.ts'
import { startRedis } from '../servers/redis.ts'
import { silentLog } from '../unit/silent-log.ts'
import { type LogChunk, type LogSize, syntheticLog } from '../unit/synthetic-log.ts'
import { Report } from './report.ts'

/** Three networks of four ranges each, and ordinary blocks: decoding and columns are most of a process's work. */
const SIZE: LogSize = {
  chains: ['mainnet', 'hoodi', 'sepolia'],
  epochs: 24,
  validators: 4 * RANGE_VALIDATORS,
  rangeValidators: RANGE_VALIDATORS,
  owned: 100,
  transactions: 150,
  logs: 300,
}
const PARTITIONS = 12
const PROCESSES = [1, 2, 3]
const GIVE_UP_MS = 900_000
const ROOT = join(import.meta.dirname, '../..')

/**
 * Measures how fast 1, 2 and 3 processes work off equal backlogs, each with topics and tables of its own, on servers that it
 * starts itself. The clock runs from the start of the processes, so that the work is the same each time, until nothing is left to
 * consume or to derive; the seconds in which programs start and groups form are in it.
 */
export async function benchScale(): Promise<boolean> {
  const report = new Report()
  await using resources = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'epochline-scale-'))
  resources.defer(() => rmSync(directory, { recursive: true, force: true }))
  const redis = resources.use(required(await startRedis({ directory, install: false })))
  const kafka = resources.use(required(await startKafka({ directory, cacheDirectory: join(ROOT, '.cache') })))
  const clickhouse = resources.use(await startClickhouse({ directory }))
  const { chains, epochs, validators, transactions, logs } = SIZE
  report.heading(`${chains.length} chains, ${epochs} epochs, ${validators.toLocaleString('en')} validators each;`)
  report.heading(`blocks of ${transactions} transactions and ${logs} logs; ${PARTITIONS} partitions a topic`)
  report.heading(
    `${availableParallelism()} cores for all: processes, Kafka, and the warehouse, which is ${clickhouse.what}, one request at a time`,
  )
  const backlog = [...syntheticLog(SIZE)]
  const rates: number[] = []
  for (const processes of PROCESSES) {
    const name = `scale_${processes}`
    const figures = await measure(processes, backlog, {
      EPOCHLINE_DATA: directory,
      KAFKA_BROKERS: kafka.address,
      KAFKA_TOPIC_PREFIX: `${name}.`,
      KAFKA_PARTITIONS: String(PARTITIONS),
      REDIS_URL: redis.address,
      CLICKHOUSE_URL: clickhouse.address,
      CLICKHOUSE_DATABASE: name,
    })
    const rate = figures.events / figures.seconds
    rates.push(rate)
    report.heading(`${processes} ${processes === 1 ? 'process' : 'processes'}, ${figures.events} events`)
    report.info('seconds until all is consumed and derived', figures.seconds, 1, 's')
    report.info('events per second', rate, 0)
    report.info('ratio to one process', rate / (rates[0] ?? rate), 2)
  }
  return report.within
}

function required<Server extends object>(server: Server | { readonly missing: string }): Server {
  if ('missing' in server) throw new Error(`the measurement needs every server: ${server.missing}`)
  return server
}

interface Figures {
  readonly events: number
  readonly seconds: number
}

async function measure(processes: number, backlog: readonly LogChunk[], env: Environment): Promise<Figures> {
  const config = readConfig(env)
  await using eventLog = await openEventLog(config, silentLog)
  await using jobQueue = await openJobQueue(config, silentLog)
  for (const { topic, events } of backlog) await eventLog.append(topic, events)
  const lag = async (): Promise<number> => {
    const lags = await Promise.all(PROJECTORS.map(({ topic, group }) => eventLog.lag(topic, group)))
    return lags.reduce((sum, one) => sum + Number(one), 0)
  }
  const jobs = async (): Promise<number> => {
    const pending = await Promise.all(DERIVING_JOBS.map((name) => jobQueue.pending(name)))
    return pending.reduce((sum, one) => sum + one, 0)
  }
  await (await openMigratedWarehouse(config, silentLog))[Symbol.asyncDispose]()
  const events = await lag()
  await using running = new AsyncDisposableStack()
  const start = performance.now()
  for (let i = 0; i < processes; i++) running.use(await startProgram(['process'], env, { announces: false }))
  await eventually(
    'the end of the backlog',
    async () => ((await lag()) === 0 && (await jobs()) === 0 ? true : undefined),
    GIVE_UP_MS,
  )
  return { events, seconds: (performance.now() - start) / 1_000 }
}
