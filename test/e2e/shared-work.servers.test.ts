import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../../infra/open-ports.ts'
import type { EventLog, Lease } from '../../infra/ports/event-log.ts'
import { DERIVING_JOBS } from '../../processors/derive.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { withServer } from '../contract/test-servers.ts'
import { dumpTables } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { eventsPerDay, type LogChunk, type LogSize, syntheticLog, wholeDays } from '../unit/synthetic-log.ts'
import { type Environment, eventually, type Running, runCommand, startProgram } from './processes.ts'

const PROCESSES = 3
const PARTITIONS = 12
const SIZE: LogSize = {
  chains: ['mainnet', 'hoodi', 'sepolia'],
  epochs: 48,
  validators: 64,
  rangeValidators: 8,
  owned: 16,
  transactions: 3,
  logs: 4,
}
/** The order of the kills is random and the same in every run; how far the work is at each of them is not. */
const SEED = 20_260_720
const KILLS = 8
const ALIVE_MS = { min: 1_500, max: 4_500 }
const DEAD_MS = { min: 0, max: 1_500 }
/** Share of the log that lies there at the start; the rest comes while processes come and go. */
const BACKLOG_SHARE = 0.5
/** Between two appends. */
const PAUSE_MS = 20
const never = new AbortController().signal

withServer('kafka', (kafka) =>
  withServer('redis', (redis) =>
    withServer('clickhouse', (clickhouse) => {
      describe(`${PROCESSES} processes that share one log`, () => {
        const directory = mkdtempSync(join(tmpdir(), 'epochline-shared-'))
        const run = `shared_${process.pid}`
        const env: Environment = {
          EPOCHLINE_DATA: directory,
          KAFKA_BROKERS: kafka,
          KAFKA_TOPIC_PREFIX: `${run}.`,
          KAFKA_PARTITIONS: String(PARTITIONS),
          REDIS_URL: redis,
          CLICKHOUSE_URL: clickhouse,
          CLICKHOUSE_DATABASE: run,
          LOG_LEVEL: 'debug',
        }
        const alone: Environment = { ...env, CLICKHOUSE_DATABASE: `${run}_alone`, LOG_LEVEL: 'warn' }
        /** All that processes have logged, those that were killed included. */
        const lines: LogLine[] = []
        let tables: Record<string, unknown[]>

        beforeAll(async () => {
          await using eventLog = await openEventLog(readConfig(env), silentLog)
          const chunks = [...syntheticLog(SIZE)]
          const backlog = Math.floor(chunks.length * BACKLOG_SHARE)
          await append(eventLog, chunks.slice(0, backlog))
          await append(eventLog, [{ topic: 'beacon.epochs', events: [undecodable] }])
          // All at once on an empty warehouse: each finds migrations to apply and a log to begin.
          const running = await Promise.all(Array.from({ length: PROCESSES }, () => start(env)))
          try {
            await using lease = await eventLog.lease('ingest:synthetic', never)
            await killAtRandom(running, env, (ended) => lines.push(...linesOf(ended)), {
              duringEach: parts(chunks.slice(backlog), KILLS).map((part) => () => appendWith(lease, part, PAUSE_MS)),
            })
            await untilDone(env, running)
            const codes = await Promise.all(running.map((one) => one.stop()))
            expect(codes, running.map((one) => one.output().slice(-2_000)).join('\n---\n')).toEqual(codes.map(() => 0))
          } finally {
            for (const one of running) {
              await one.kill()
              lines.push(...linesOf(one))
            }
          }
          await using warehouse = await openMigratedWarehouse(readConfig(env))
          tables = await dumpTables(warehouse)
        })

        afterAll(async () => {
          for (const { CLICKHOUSE_DATABASE: database } of [env, alone]) {
            await using warehouse = await openMigratedWarehouse(readConfig(env))
            await warehouse.command(`DROP DATABASE IF EXISTS ${database}`)
          }
          rmSync(directory, { recursive: true, force: true })
        })

        it('builds the tables that one process builds from the same log, versions included', async () => {
          const { code, stderr } = await runCommand(['rebuild'], alone)
          expect(code, stderr).toBe(0)
          await using warehouse = await openMigratedWarehouse(readConfig(alone))
          const expected = await dumpTables(warehouse)
          for (const [table, rows] of Object.entries(expected)) expect(tables[table], table).toEqual(rows)
          expect(expected.validator_epochs).toHaveLength(SIZE.chains.length * SIZE.epochs * SIZE.validators)
        })

        it('closes every whole day of every chain, with figures that prove themselves', async () => {
          const closed = tables.closed_days?.map((row) => `${(row as DayRow).chain} ${(row as DayRow).day}`)
          const expected = SIZE.chains.flatMap((chain) => wholeDays(SIZE).map((day) => `${chain} ${day}`))
          expect(closed).toEqual(expected.sort())
          const { code, stdout } = await runCommand(['verify', '--quiet'], env)
          // All that is missing is the event that nobody can read.
          expect(`${code} ${stdout}`).toMatch(
            /^1 (?:\w+ revenue: [^\n]*\n)+MISSING [^\n]* could not be processed [^\n]*\n[^\n]* 0 wrong; \d+ validator-epochs, 0 unexplained; \d+ settlements, 0 wrong\n$/,
          )
        })

        it('gives work to each process that is there, and sets an event that nobody can read aside once', () => {
          const workers = new Set(lines.filter(({ msg }) => msg === 'batch processed').map(({ pid }) => pid))
          expect(workers.size).toBeGreaterThan(PROCESSES)
          expect(tables.dead_letters).toMatchObject([{ event_id: undecodable.id }])
        })

        it('closes a day by a job once it is complete, not at each batch that touches it', () => {
          for (const chain of SIZE.chains) {
            for (const day of wholeDays(SIZE)) {
              const of = (msg: string) => lines.filter((line) => isOf(line, chain, day) && line.msg === msg)
              const wanted = of('day wanted').length
              const derived = of('day derived').length
              const closed = of('day derived').filter(({ isClosed }) => isClosed === true).length
              const figures = `${chain} ${day}: wanted ${wanted}, derived ${derived}, closed ${closed}`
              expect(closed, figures).toBeGreaterThan(0)
              expect(closed, figures).toBeLessThan(eventsPerDay(SIZE) / 10)
            }
          }
        })

        /** Lines as the program logs them, one JSON value each, among what it prints. */
        function isOf(line: LogLine, chain: string, day: string): boolean {
          return line.chain === chain && line.day === parseDay(day)
        }
      })
    }),
  ),
)

interface DayRow {
  readonly chain: string
  readonly day: string
}

interface LogLine {
  readonly msg: string
  readonly pid: number
  readonly chain?: string
  readonly day?: number
  readonly isClosed?: boolean
}

const undecodable: EncodedEvent = {
  id: 'of a later release',
  type: 'beacon.epoch-blocks',
  version: 99,
  key: 'mainnet',
  time: '2026-01-01T00:00:00.000Z',
  data: new Uint8Array(1),
}

/** Appends as an ingester does: with a lease, in transactions. */
async function append(eventLog: EventLog, chunks: Iterable<LogChunk>): Promise<void> {
  await using lease = await eventLog.lease('ingest:synthetic', never)
  await appendWith(lease, chunks, 0)
}

async function appendWith(lease: Lease, chunks: Iterable<LogChunk>, pauseMs: number): Promise<void> {
  for (const { topic, events } of chunks) {
    if (events.length > 0) await lease.append(topic, events)
    await sleep(pauseMs)
  }
}

/** Cuts into so many parts of about one size, in order. */
function parts<Item>(items: readonly Item[], count: number): readonly (readonly Item[])[] {
  const cut = (part: number) => Math.floor((items.length * part) / count)
  return Array.from({ length: count }, (_, part) => items.slice(cut(part), cut(part + 1)))
}

function start(env: Environment): Promise<Running> {
  return startProgram(['process'], env, { announces: false })
}

/**
 * Kills one process after the other and starts it again, at random moments, with something to do during each of them:
 * the last one is killed while there is work as the first one is. Which process has partitions that carry events is the
 * group's affair, and on a busy machine one may not have begun yet: every second kill meets one that has just worked.
 */
async function killAtRandom(
  running: Running[],
  env: Environment,
  onEnd: (ended: Running) => void,
  { duringEach }: { readonly duringEach: readonly (() => Promise<void>)[] },
): Promise<void> {
  const random = randomNumbers(SEED)
  const between = ({ min, max }: { readonly min: number; readonly max: number }) => min + random() * (max - min)
  for (const [kill, work] of duringEach.entries()) {
    const before = running.map(batchesOf)
    const working = work()
    await sleep(between(ALIVE_MS))
    const hasWorked = (): number | undefined => {
      const at = running.findIndex((one, index) => batchesOf(one) > (before[index] ?? 0))
      return at < 0 ? undefined : at
    }
    const anyone = Math.floor(random() * running.length)
    const at = kill % 2 === 0 ? await eventually('a batch', async () => hasWorked()) : anyone
    const victim = running[at] as Running
    await victim.kill()
    onEnd(victim)
    await sleep(between(DEAD_MS))
    running[at] = await start(env)
    await working
  }
}

function batchesOf(one: Running): number {
  return one.output().split('"msg":"batch processed"').length - 1
}

/** Mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function untilDone(env: Environment, running: readonly Running[]): Promise<void> {
  const config = readConfig(env)
  await using eventLog = await openEventLog(config, silentLog)
  await using jobQueue = await openJobQueue(config, silentLog)
  const left = async (): Promise<bigint> => {
    const lags = await Promise.all(PROJECTORS.map(({ topic, group }) => eventLog.lag(topic, group)))
    const jobs = await Promise.all(DERIVING_JOBS.map((name) => jobQueue.pending(name)))
    return lags.reduce((sum, lag) => sum + lag, 0n) + BigInt(jobs.reduce((sum, pending) => sum + pending, 0))
  }
  try {
    await eventually('the end of the work', async () => ((await left()) === 0n ? true : undefined))
  } catch (error) {
    const outputs = running.map((one) => one.output().slice(-2_000)).join('\n---\n')
    throw new Error(`${await left()} events and jobs are left\n${outputs}`, { cause: error })
  }
}

function linesOf(ended: Running): readonly LogLine[] {
  return ended
    .output()
    .split('\n')
    .flatMap((line) => {
      try {
        return line.startsWith('{') ? [JSON.parse(line) as LogLine] : []
      } catch {
        return [] // cut by the kill
      }
    })
}
