import { globSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readConfig } from '../../infra/config/config.ts'
import { TOPICS } from '../../schemas/events/envelope.ts'
import type { Environment } from './processes.ts'
import type { Place } from './secret-forms.ts'
import { eventsOf, openLog, openTables } from './stores.ts'

/**
 * All that a stopped program of the embedded mode has left: its files as they are, and what is in them, which the warehouse compresses.
 * `keyFiles` are those that are there to hold a key.
 */
export async function placesOf(env: Environment, keyFiles: readonly string[]): Promise<readonly Place[]> {
  return [...filesOf(env, keyFiles), ...(await eventsIn(env)), ...(await tablesIn(env)), ...jobsIn(env)]
}

function filesOf(env: Environment, keyFiles: readonly string[]): readonly Place[] {
  const { dataDirectory } = readConfig(env)
  const files = globSync(`${dataDirectory}/**/*`).filter((file) => statSync(file).isFile() && !keyFiles.includes(file))
  return files.map((file) => ({ name: relative(dataDirectory, file), content: readFileSync(file) }))
}

async function eventsIn(env: Environment): Promise<readonly Place[]> {
  await using eventLog = await openLog(env)
  const places: Place[] = []
  for (const topic of TOPICS) {
    const pieces = (await eventsOf(eventLog, topic)).flatMap(({ event: { data, ...envelope } }) => [
      Buffer.from(JSON.stringify(envelope)),
      Buffer.from(data),
    ])
    places.push({ name: `events of ${topic}`, content: Buffer.concat(pieces) })
  }
  return places
}

async function tablesIn(env: Environment): Promise<readonly Place[]> {
  await using warehouse = await openTables(env)
  const tables = await warehouse.query<{ readonly name: string }>(
    'SELECT name FROM system.tables WHERE database = currentDatabase()',
  )
  const places: Place[] = []
  for (const { name } of tables)
    places.push({ name: `table ${name}`, content: contentOf(await warehouse.query(`SELECT * FROM ${name}`)) })
  return places
}

function jobsIn(env: Environment): readonly Place[] {
  const { mode } = readConfig(env)
  if (mode.kind !== 'embedded') throw new Error('in servers mode jobs are in no file')
  using db = new DatabaseSync(mode.jobsFile, { readOnly: true })
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
  return tables.map(({ name }) => ({
    name: `jobs' table ${name}`,
    content: contentOf(db.prepare(`SELECT * FROM "${name}"`).all()),
  }))
}

function contentOf(rows: readonly object[]): Buffer {
  const asText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
  return Buffer.from(rows.map((row) => JSON.stringify(row, asText)).join('\n'))
}
