import { createHash } from 'node:crypto'
import { cpSync, existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import chdb from 'chdb/package.json' with { type: 'json' }
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { storeOf } from '../infra/warehouse/chdb-connection.ts'
import { migrate, readMigrations } from '../infra/warehouse/migrate.ts'
import { openWarehouse } from '../infra/warehouse/open.ts'

// Tables without rows, for tests that fill them: to apply all migrations takes a second, to copy what they make a fiftieth of it.

/** Gone with every `npm ci`; each text of the migrations has its own. */
const KEPT = join(import.meta.dirname, '../node_modules/.cache/epochline-tables')

/** Opens the warehouse of a folder with every migration applied. As openWarehouse, with the same errors. */
export async function openEmptyWarehouse(directory: string): Promise<Warehouse> {
  await copyEmptyTables(directory)
  const warehouse = await openWarehouse({ directory })
  await migrate(warehouse, await readMigrations()) // finds all of them applied
  return warehouse
}

/** Lays the tables into a folder, if it has none. Whoever asks first makes them, in an engine of this process. */
export async function copyEmptyTables(directory: string): Promise<void> {
  const store = storeOf(directory)
  if (existsSync(store)) return
  const migrations = await readMigrations()
  const key = createHash('sha256')
    .update(JSON.stringify([chdb.version, migrations]))
    .digest('hex')
  const kept = join(KEPT, key)
  if (!existsSync(kept)) await makeTables(kept)
  await mkdir(directory, { recursive: true })
  const copy = `${store}-copy`
  copyStore(kept, copy)
  await rename(copy, store)
}

/** The engine's links are paths from where they lie. The promise of the same copies a file a thread: 20 times the work. */
function copyStore(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

async function makeTables(kept: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-tables-'))
  try {
    const warehouse = await openWarehouse({ directory })
    await migrate(warehouse, await readMigrations())
    await warehouse[Symbol.asyncDispose]()
    const whole = `${kept}-${process.pid}`
    copyStore(storeOf(directory), whole)
    await rename(whole, kept).catch(async (error: unknown) => {
      await rm(whole, { recursive: true })
      if (!existsSync(kept)) throw error // otherwise another process was sooner
    })
  } finally {
    await rm(directory, { recursive: true })
  }
}
