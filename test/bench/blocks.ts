import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openThreadedExecutionSource } from '../../infra/execution/threaded-source.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { backfillBlocks } from '../../ingest/execution/block-backfill.ts'
import { runProcessing } from '../../processors/run-processing.ts'
import { Report } from './report.ts'
import { LOGS_PER_BLOCK, TRANSACTIONS_PER_BLOCK } from './synthetic-blocks.ts'

const BLOCKS = 1_200
/** Before the clock starts: they compile the code. */
const WARM_UP_BLOCKS = 150
const BLOCKS_PER_SECOND_MIN = 60
const CONCURRENCY = 16
const LOOK_MS = 10
const CHAIN = 'mainnet'

const log: Log = {
  debug: () => {},
  info: () => {},
  warn: (_, message) => void process.stderr.write(`${message}\n`),
  error: (_, message) => void process.stderr.write(`${message}\n`),
}

/** Measures how fast blocks come from a node, every one of them verified, into the tables. */
export async function benchBlocks(): Promise<boolean> {
  const report = new Report()
  const directory = mkdtempSync(join(tmpdir(), 'bench-blocks-'))
  const blocks = Number(process.env.BENCH_BLOCKS ?? BLOCKS)
  const node = fork(join(import.meta.dirname, 'blocks-node.ts'), [String(WARM_UP_BLOCKS + blocks + 1)])
  try {
    const [{ url }] = (await once(node, 'message')) as [{ readonly url: string }]
    report.heading(
      `blocks of ${TRANSACTIONS_PER_BLOCK} transactions and ${LOGS_PER_BLOCK} logs, from a node to the tables`,
    )
    await measure(url, directory, { blocks, report })
  } finally {
    node.kill()
    rmSync(directory, { recursive: true, force: true })
  }
  return report.within
}

async function measure(
  url: string,
  directory: string,
  { blocks, report }: { readonly blocks: number; readonly report: Report },
): Promise<void> {
  await using eventLog = await openSqliteEventLog({ file: join(directory, 'event-log.sqlite') })
  await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await using jobQueue = await openSqliteJobQueue({ file: join(directory, 'jobs.sqlite') })
  await using execution = await openThreadedExecutionSource({ urls: [url], log, binding: 'ethereum' })
  const stop = new AbortController()
  const processing = runProcessing({ eventLog, warehouse, jobQueue, log, now: () => Date.now() / 1000 }, stop.signal)
  const fill = async (fromBlock: number, toBlock: number): Promise<number> => {
    const given = {
      chain: CHAIN,
      writer: eventLog,
      eventLog,
      unnamedChain: CHAIN,
      log,
      execution,
      concurrency: CONCURRENCY,
    }
    const begin = performance.now()
    await backfillBlocks(given, { fromBlock, toBlock }, stop.signal)
    const read = performance.now()
    await Promise.race([processed(eventLog), processing])
    report.info(`blocks ${fromBlock} to ${toBlock}, until they are in the log`, (read - begin) / 1_000, 1, 's')
    return (performance.now() - begin) / 1_000
  }
  await fill(1, WARM_UP_BLOCKS)
  const cpu = process.cpuUsage()
  const seconds = await fill(WARM_UP_BLOCKS + 1, WARM_UP_BLOCKS + blocks)
  const { user, system } = process.cpuUsage(cpu)
  report.info('processor time per block', (user + system) / 1_000 / blocks, 1, 'ms')
  report.atLeast('blocks per second, verified, in the tables', blocks / seconds, {
    digits: 1,
    unit: '',
    min: BLOCKS_PER_SECOND_MIN,
  })
  const [rows] = await warehouse.query<{ blocks: string; transfers: string }>(
    `SELECT (SELECT count() FROM execution_blocks FINAL) AS blocks, (SELECT count() FROM nft_transfers FINAL) AS transfers`,
  )
  if (Number(rows?.blocks) !== WARM_UP_BLOCKS + blocks) throw new Error(`the tables have ${rows?.blocks} blocks`)
  report.info(
    'transfers of tokens that are one of a kind, per block',
    Number(rows?.transfers) / Number(rows?.blocks),
    0,
  )
  stop.abort()
  await processing
}

async function processed(eventLog: EventLog): Promise<void> {
  const lag = async () =>
    (await eventLog.lag('execution.blocks', 'execution')) + (await eventLog.lag('execution.logs', 'execution-logs'))
  while ((await lag()) > 0n) await wait(LOOK_MS)
}
