import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'

const BOOKKEEPING = ['filled_from', 'dropped_chains', 'rebuild_exchanges']

export interface TestStores {
  /** One of each file: a process has one engine. */
  readonly warehouse: Warehouse
  /** A new log with these events. */
  openLog(events?: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<EventLog>
  /** Empties every table. */
  empty(): Promise<void>
}

/** A migrated warehouse for all tests of a file, and logs, in a folder that goes with them. */
export function storesOfFile(): () => TestStores {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-stores-'))
  let stores: TestStores | undefined
  let logs = 0
  beforeAll(async () => {
    const warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
    await migrate(warehouse, await readMigrations())
    stores = {
      warehouse,
      async openLog(events = new Map()) {
        const eventLog = await openSqliteEventLog({ file: join(directory, `log-${logs++}.sqlite`) })
        for (const [topic, list] of events) await eventLog.append(topic, list)
        return eventLog
      },
      async empty() {
        for (const table of [...Object.keys(PROJECTIONS), ...BOOKKEEPING]) {
          await warehouse.command(`TRUNCATE TABLE ${table}`)
        }
      },
    }
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
