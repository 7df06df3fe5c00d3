import { mkdtempSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'
import { openEmptyWarehouse } from '../empty-warehouse.ts'
import { emptyTables, filledTables } from './filled-tables.ts'

const TABLES = [...Object.keys(PROJECTIONS), 'filled_from', 'dropped_chains', 'rebuild_exchanges']

export interface TestStores {
  /** One of each file: a process has one engine. */
  readonly warehouse: Warehouse
  /** A new log with these events. */
  openLog(events?: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<EventLog>
  /** Empties every table. */
  empty(): Promise<void>
  /**
   * The tables as `fill` leaves them, and a log like the one that it resolves with. It is asked once, with empty tables: whoever
   * wants the same stores again is given copies.
   */
  filled(name: string, fill: () => Promise<EventLog>): Promise<EventLog>
}

/** A migrated warehouse for all tests of a file, and logs, in a folder that goes with them. */
export function storesOfFile(): () => TestStores {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-stores-'))
  let stores: TestStores | undefined
  beforeAll(async () => {
    const warehouse = await openEmptyWarehouse(join(directory, 'warehouse'))
    stores = testStores(warehouse, directory)
  })
  afterAll(async () => {
    await stores?.warehouse[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  })
  return () => {
    if (stores === undefined) throw new Error('the stores are open during tests only')
    return stores
  }
}

function testStores(warehouse: Warehouse, directory: string): TestStores {
  const fileOfLog = new WeakMap<EventLog, string>()
  const kept = new Set<string>()
  let logs = 0

  const newFile = (): string => join(directory, `log-${logs++}.sqlite`)
  const keptFile = (name: string): string => join(directory, `kept-${name}.sqlite`)

  async function openFile(file: string): Promise<EventLog> {
    const eventLog = await openSqliteEventLog({ file })
    fileOfLog.set(eventLog, file)
    return eventLog
  }

  const empty = (): Promise<void> => emptyTables(warehouse, TABLES)

  const ownOf = async (database: string) => {
    const filled = await filledTables(warehouse, database)
    return TABLES.filter((table) => filled.has(table))
  }

  async function keep(name: string, eventLog: EventLog): Promise<void> {
    const file = fileOfLog.get(eventLog)
    if (file === undefined) throw new Error('only logs of these stores can be kept')
    await eventLog[Symbol.asyncDispose]() // all of it is in one file then
    await copyFile(file, keptFile(name))
    await warehouse.command(`CREATE DATABASE kept_${name}`)
    for (const table of await ownOf('')) {
      await warehouse.command(`CREATE TABLE kept_${name}.${table} AS ${table}`)
      await warehouse.command(`ALTER TABLE kept_${name}.${table} ATTACH PARTITION ALL FROM ${table}`)
    }
    kept.add(name)
  }

  return {
    warehouse,
    empty,
    async openLog(events = new Map()) {
      const eventLog = await openFile(newFile())
      for (const [topic, list] of events) await eventLog.append(topic, list)
      return eventLog
    },
    async filled(name, fill) {
      await empty()
      if (!kept.has(name)) await keep(name, await fill())
      else {
        for (const table of await ownOf(`kept_${name}`)) {
          await warehouse.command(`ALTER TABLE ${table} ATTACH PARTITION ALL FROM kept_${name}.${table}`)
        }
      }
      const file = newFile()
      await copyFile(keptFile(name), file)
      return openFile(file)
    },
  }
}
