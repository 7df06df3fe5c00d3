import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import type { Warehouse } from '../ports/warehouse.ts'
import { splitStatements } from './statements.ts'

export interface Migration {
  /** File name without `.sql`; migrations run in the order of their names. */
  readonly name: string
  /** Statements, each ended by a line that ends with `;`. Every one may be repeated without harm. */
  readonly text: string
}

export interface MigrateResult {
  /** Names that ran now, in order. */
  readonly applied: readonly string[]
  /** Names that had run before. */
  readonly skipped: readonly string[]
}

export interface MigrateOptions {
  /**
   * Runs the work while no other process migrates these tables; `lost` aborts when that is no longer sure. Without it, the
   * warehouse is this process's alone.
   */
  readonly alone?: <Result>(work: (lost: AbortSignal) => Promise<Result>) => Promise<Result>
}

const FILE_NAME = /^(\d{4}_[a-z0-9_]+)\.sql$/

const APPLIED_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migrations (name String, sha256 FixedString(64), applied_at DateTime('UTC'))
  ENGINE = ReplacingMergeTree(applied_at) ORDER BY name`

/** The migrations of a folder, by default those of the program, in order. */
export async function readMigrations(folder = join(import.meta.dirname, 'migrations')): Promise<Migration[]> {
  const migrations: Migration[] = []
  for (const file of (await readdir(folder)).sort()) {
    const name = FILE_NAME.exec(file)?.[1]
    if (name !== undefined) migrations.push({ name, text: await readFile(join(folder, file), 'utf8') })
  }
  return migrations
}

/**
 * Brings the tables up to the migrations. There is no dirty flag: one that was interrupted was not recorded and runs again,
 * which is why its statements may be repeated. One at a time, however: a migration that drops tables of an earlier shape,
 * begun by two processes, would drop those that the faster one has made and filled.
 * Throws AppError `usage`, before anything runs, when the text of an applied migration has changed, and `config` when a newer release has
 * migrated these tables: this one would fill them by what it knows, and nothing would ever fill them again.
 */
export async function migrate(
  warehouse: Warehouse,
  migrations: readonly Migration[],
  { alone = (work) => work(NEVER) }: MigrateOptions = {},
): Promise<MigrateResult> {
  await warehouse.command(APPLIED_TABLE)
  const isUpToDate = (await pendingOf(warehouse, migrations)).length === 0
  const applied = isUpToDate ? [] : await alone((lost) => applyPending(warehouse, migrations, lost))
  return { applied, skipped: migrations.map(({ name }) => name).filter((name) => !applied.includes(name)) }
}

/** Whether the tables are those of the migrations. Changes nothing. */
export async function isMigrated(warehouse: Warehouse, migrations: readonly Migration[]): Promise<boolean> {
  const known = await warehouse.query(
    "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'",
  )
  return known.length > 0 && (await pendingOf(warehouse, migrations)).length === 0
}

const NEVER = new AbortController().signal

async function pendingOf(warehouse: Warehouse, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  const rows = await warehouse.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM schema_migrations FINAL ORDER BY name',
  )
  const recorded = new Map(rows.map((row) => [row.name, row.sha256]))
  refuseNewer([...recorded.keys()], migrations)
  return migrations.filter((migration) => !isApplied(migration, recorded))
}

function refuseNewer(recorded: readonly string[], migrations: readonly Migration[]): void {
  const last = migrations.at(-1)?.name ?? ''
  const [newer] = recorded.filter((name) => name > last)
  if (newer === undefined) return
  throw new AppError(
    'config',
    `The warehouse was migrated by a newer release of this program (${newer}): use that one, or name another warehouse (EPOCHLINE_DATA, or ` +
      'CLICKHOUSE_DATABASE), which is filled from the event log.',
  )
}

async function applyPending(
  warehouse: Warehouse,
  migrations: readonly Migration[],
  lost: AbortSignal,
): Promise<readonly string[]> {
  const pending = await pendingOf(warehouse, migrations) // another process may have applied them while this one waited
  for (const migration of pending) {
    for (const statement of splitStatements(migration.text)) {
      lost.throwIfAborted()
      await warehouse.command(statement)
    }
    await warehouse.insert('schema_migrations', {
      name: [migration.name],
      sha256: [sha256(migration.text)],
      applied_at: Uint32Array.of(Math.floor(Date.now() / 1000)),
    })
  }
  return pending.map(({ name }) => name)
}

function isApplied(migration: Migration, recorded: ReadonlyMap<string, string>): boolean {
  const before = recorded.get(migration.name)
  if (before !== undefined && before !== sha256(migration.text)) {
    throw new AppError(
      'usage',
      `Migration ${migration.name} was applied to this warehouse with another text: put its text back and write a new ` +
        'migration, or start with an empty database and run rebuild.',
    )
  }
  return before !== undefined
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
