import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { CONTRACT_ROWS_MAX, warehouseContract } from './warehouse.ts'

const folder = await mkdtemp(join(tmpdir(), 'epochline-warehouse-'))
const INSERTER = join(import.meta.dirname, 'warehouse-inserter.ts')

afterAll(() => rm(folder, { recursive: true, force: true }))

warehouseContract('warehouse in this process (chdb)', () =>
  openWarehouse({ directory: join(folder, 'contract') }, { rowsMax: CONTRACT_ROWS_MAX }),
)

test('a merge in this process ends soon when it is told to, and others go on', async () => {
  await using warehouse = await openWarehouse({ directory: join(folder, 'merged') })
  await warehouse.command('CREATE TABLE rows (x UInt64, text String) ENGINE = MergeTree ORDER BY x')
  for (let part = 0; part < 2; part++)
    await warehouse.command('INSERT INTO rows SELECT rand64(), hex(randomString(200)) FROM numbers(1000000)')
  const parts = async () => {
    const [row] = await warehouse.query<{ count: string }>(
      "SELECT count() AS count FROM system.parts WHERE active AND table = 'rows'",
    )
    return Number(row?.count)
  }
  const before = await parts()
  expect(before).toBeGreaterThan(1)
  const end = new AbortController()
  const merging = warehouse.merge('rows', 'all', end.signal)
  const isMerging = () =>
    warehouse.query<{ progress: number }>("SELECT progress FROM system.merges WHERE table = 'rows'")
  while ((await isMerging()).length === 0);
  await warehouse.command('CREATE TABLE others (x UInt8) ENGINE = MergeTree ORDER BY x')
  expect(await isMerging()).toHaveLength(1)
  end.abort()
  await merging
  expect([await parts(), await isMerging()]).toEqual([before, []])
  await warehouse.merge('rows', 'all', new AbortController().signal)
  expect(await parts()).toBe(1)
})

test('a merge of rows that have a second order gathers few of them at once, and an insert as many as ever', async () => {
  // In a folder whose name says something to those who read settings.
  await using warehouse = await openWarehouse({ directory: join(folder, "a & <b> 'c'") })
  await warehouse.command(
    'CREATE TABLE rows (x UInt64, text String, v UInt8, PROJECTION other (SELECT * ORDER BY text)) ENGINE = ReplacingMergeTree(v) ' +
      "ORDER BY x SETTINGS deduplicate_merge_projection_mode = 'rebuild'",
  )
  for (let part = 0; part < 2; part++)
    await warehouse.command('INSERT INTO rows SELECT rand64(), repeat(hex(rand64()), 12), 1 FROM numbers(600000)')
  const parts = await warehouse.query("SELECT rows FROM system.parts WHERE active AND table = 'rows'")
  expect(parts).toHaveLength(2)
  let isOver = false
  const merging = warehouse.merge('rows', 'all', new AbortController().signal).finally(() => {
    isOver = true
  })
  let bytesMax = 0
  while (!isOver) {
    const sql = "SELECT memory_usage AS bytes FROM system.merges WHERE table = 'rows'"
    for (const { bytes } of await warehouse.query<{ bytes: string }>(sql)) bytesMax = Math.max(bytesMax, Number(bytes))
  }
  await merging
  expect(bytesMax).toBeGreaterThan(0)
  expect(bytesMax).toBeLessThan(250e6)
})

describe('the directory of a warehouse in this process', () => {
  /** A process that inserts batches of 100 rows for ever and says so after each one. */
  function startInserter(directory: string): { child: ChildProcess; lines: AsyncIterable<string> } {
    const child = spawn(process.execPath, [INSERTER, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    if (child.stdout === null) throw new Error('no pipe')
    return { child, lines: createInterface({ input: child.stdout }) }
  }

  test('holds every acknowledged row after a kill -9', async () => {
    const directory = join(folder, 'killed')
    const { child, lines } = startInserter(directory)
    const exit = once(child, 'exit')
    let acknowledged = 0
    for await (const line of lines) {
      acknowledged = Number(line)
      if (acknowledged >= 2_000) child.kill('SIGKILL')
    }
    await exit
    await using warehouse = await openWarehouse({ directory })
    const [row] = await warehouse.query<{ n: string; batches: string }>(
      'SELECT count() AS n, uniqExact(intDiv(a, 100)) AS batches FROM inserted',
    )
    expect(Number(row?.n)).toBeGreaterThanOrEqual(acknowledged)
    // A batch is there as a whole or not at all.
    expect(Number(row?.n)).toBe(Number(row?.batches) * 100)
  })

  test('belongs to one process, and the refusal says to which', async () => {
    const directory = join(folder, 'held')
    const { child, lines } = startInserter(directory)
    const exit = once(child, 'exit')
    for await (const _ of lines) break
    const error = await openWarehouse({ directory }).catch((reason: unknown) => reason)
    child.kill('SIGKILL')
    await exit
    expect(error).toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`in use by process ${child.pid}: stop that process first`),
    })
    // The killed process left its files behind; the lock itself went with it.
    const warehouse = await openWarehouse({ directory })
    await warehouse[Symbol.asyncDispose]()
  })

  test('is refused a second time in one process while it is open', async () => {
    const directory = join(folder, 'twice')
    await using warehouse = await openWarehouse({ directory })
    for (const other of [directory, join(folder, 'another')]) {
      await expect(openWarehouse({ directory: other })).rejects.toMatchObject({ code: 'usage' })
    }
    expect(await warehouse.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('closes after the calls that are running', async () => {
    const directory = join(folder, 'closing')
    const warehouse = await openWarehouse({ directory })
    const running = warehouse.query('SELECT sleep(0.5) AS slept')
    await warehouse[Symbol.asyncDispose]()
    expect(await running).toEqual([{ slept: 0 }])
  })

  test('does not stop the event loop during a long query', async () => {
    await using warehouse = await openWarehouse({ directory: join(folder, 'loop') })
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    await warehouse.query('SELECT sleep(1)')
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(20)
  })
})

describe('statements in this process', () => {
  const ENDLESS = 'SELECT sum(cityHash64(number)) AS s FROM numbers(1000000000000)'
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await openWarehouse({ directory: join(folder, 'lanes') })
  })
  afterAll(() => warehouse[Symbol.asyncDispose]())

  /** Runs endless queries until the work is done; they must end then. */
  async function besideEndless(count: number, work: () => Promise<void>): Promise<void> {
    const gone = new AbortController()
    const endless = Array.from({ length: count }, () =>
      warehouse.query(ENDLESS, {}, { signal: gone.signal }).catch((reason: unknown) => reason),
    )
    try {
      await work()
    } finally {
      gone.abort('enough')
    }
    expect(await Promise.all(endless)).toEqual(endless.map(() => 'enough'))
  }

  const runningStatements = () => warehouse.query('SELECT query FROM system.processes')

  test('a query and an insert are done while another query runs', async () => {
    await warehouse.command('CREATE TABLE beside (a UInt32) ENGINE = MergeTree ORDER BY a')
    await besideEndless(1, async () => {
      await warehouse.insert('beside', { a: Uint32Array.of(1, 2) })
      expect(await warehouse.query('SELECT count() AS n FROM beside WHERE a = {a:UInt32}', { a: 2 })).toEqual([
        { n: '1' },
      ])
    })
  })

  test('a query that nobody waits for is ended in the engine, waiting or running', async () => {
    // More than run at once: those that wait leave the queue.
    await besideEndless(12, () => Promise.resolve())
    expect(await runningStatements()).toHaveLength(1)
  })

  test('queries with parameters at the same time get their own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        warehouse.query<{ n: number; s: string }>('SELECT {n:UInt32} AS n, {s:String} AS s', { n, s: `text ${n}` }),
      ),
    )
    expect(answers).toEqual(answers.map((_, n) => [{ n, s: `text ${n}` }]))
  })

  test('a parameter of an earlier query is not that of the next', async () => {
    await warehouse.query('SELECT {once:String} AS once', { once: 'x' })
    const again = Array.from({ length: 8 }, () => warehouse.query('SELECT {once:String} AS once'))
    for (const { status } of await Promise.allSettled(again)) expect(status).toBe('rejected')
  })
})
