import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import { TOPICS } from '../../schemas/events/envelope.ts'
import { PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { dumpTables, rebuildFrom } from './projecting.ts'

// Logs that release 0.1 wrote, and the tables that it built from them: one log by hand with whole days, one that its ingesters
// wrote while they followed the devnet through a reorg. Its events name no chain, have one key per topic, and lie in the file
// format of that release.

type Row = Record<string, unknown>

const FIXTURES = join(import.meta.dirname, '../fixtures/release-0.1')
/** What the tables have besides since then. */
const NEW_COLUMNS = ['chain', 'has_rewards', 'log_parts']
const RENAMED: Readonly<Record<string, Projection>> = { chain: 'chains' }
const never = new AbortController().signal

const unpack = (name: string): Buffer => zstdDecompressSync(readFileSync(join(FIXTURES, `${name}.zst`)))

function withoutNewColumns(row: unknown): Row {
  return Object.fromEntries(Object.entries(row as Row).filter(([name]) => !NEW_COLUMNS.includes(name)))
}

const directory = mkdtempSync(join(tmpdir(), 'epochline-earlier-'))
let warehouse: Warehouse

beforeAll(async () => {
  warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
})

afterAll(async () => {
  await warehouse[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

describe.each(['given-chain', 'devnet'])('a log of release 0.1 (%s)', (name) => {
  it('gives the tables that its release built, but for the new columns', { timeout: 60_000 }, async () => {
    const file = join(directory, `${name}.sqlite`)
    writeFileSync(file, unpack(`${name}.sqlite`))
    await using eventLog = await openSqliteEventLog({ file })
    await rebuildFrom(eventLog, warehouse)
    expect((await readLogFacts(eventLog, never))?.unnamedChain).toBe('mainnet')
    const tables = await dumpTables(warehouse)
    const before = JSON.parse(unpack(`${name}.tables.json`).toString()) as Record<string, Row[]>
    const tablesBefore = new Set<string>()
    for (const [table, rows] of Object.entries(before)) {
      const now = RENAMED[table] ?? table
      tablesBefore.add(now)
      const expected = rows.map(({ network, ...row }) => row)
      expect(tables[now]?.map(withoutNewColumns), table).toEqual(expected)
      for (const row of tables[now] ?? [])
        if ('chain' in (row as Row)) expect(row, table).toMatchObject({ chain: 'mainnet' })
    }
    expect(tables.dead_letters).toEqual([])
    expect(Object.keys(PROJECTIONS).filter((table) => !tablesBefore.has(table))).toEqual([
      'epoch_parts',
      'execution_finality',
      'execution_log_parts',
      'validator_owners',
      'watched_validators',
      'settlement_corrections',
    ])
  })

  it('holds events of every topic that was written then', async () => {
    await using eventLog = await openSqliteEventLog({ file: join(directory, `${name}.sqlite`) })
    for (const topic of TOPICS.filter((one) => !['dead-letters', 'execution.logs', 'log'].includes(one))) {
      const events = await Array.fromAsync(eventLog.read({ topic, signal: never }))
      expect(events.length, topic).toBeGreaterThan(0)
      for (const { event } of events) expect(event.version, event.id).toBe(1)
    }
  })
})
