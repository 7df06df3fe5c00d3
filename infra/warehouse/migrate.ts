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
 * which is why its statements are of the kind CREATE … IF NOT EXISTS.
 * Throws AppError `usage` when the text of an applied migration has changed, before anything runs.
 */
export async function migrate(warehouse: Warehouse, migrations: readonly Migration[]): Promise<MigrateResult> {
  await warehouse.command(APPLIED_TABLE)
  const rows = await warehouse.query<{ name: string; sha256: string }>(
    'SELECT name, sha256 FROM schema_migrations FINAL ORDER BY name',
  )
  const recorded = new Map(rows.map((row) => [row.name, row.sha256]))
  const pending = migrations.filter((migration) => !isApplied(migration, recorded))
  for (const migration of pending) {
    for (const statement of splitStatements(migration.text)) await warehouse.command(statement)
    await warehouse.insert('schema_migrations', {
      name: [migration.name],
      sha256: [sha256(migration.text)],
      applied_at: Uint32Array.of(Math.floor(Date.now() / 1000)),
    })
  }
  const applied = pending.map(({ name }) => name)
  return { applied, skipped: migrations.map(({ name }) => name).filter((name) => !applied.includes(name)) }
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
