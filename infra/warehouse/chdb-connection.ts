import { mkdirSync, writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { ClickHouseClientConfigOptions } from '@clickhouse/client'
import { drainPending, Session } from 'chdb'
import { createChdbConnection } from 'chdb/connection'
import { AppError } from '../../schemas/errors.ts'
import { lockDirectory } from '../directory-lock.ts'
import { hasSeveralStatements } from './statements.ts'

/** What `createClient({ connection })` takes: the client does not export the type's name. */
export type ClientConnection = NonNullable<ClickHouseClientConfigOptions['connection']>

export interface EngineOptions {
  readonly directory: string
  /** Above it the engine refuses queries; the whole process counts, JavaScript's heap too. */
  readonly memoryBytesMax: number
  readonly threads: number
}

/** Parts of one table: merging falls behind when every insert of a time-lapse makes one. The default is 3000. */
const PARTS_TO_THROW = 10_000
const MARK_CACHE_BYTES = 64 * 1024 * 1024

/** ClickHouse inside this process. */
export interface ChdbEngine extends AsyncDisposable {
  /** A connection of @clickhouse/client to one of its databases, created when it is missing. */
  connect(database: string): Promise<ClientConnection>
}

/**
 * Starts the engine. One of its connections runs one statement at a time, so each database has three: inserts, commands and
 * queries do not wait for each other. Each has a queue here because a waiting statement would block one of Node's four pool
 * threads. Its connections are closed before it is disposed.
 * Throws AppError `usage` when the directory, or the engine of this process, is taken.
 */
export async function openChdbEngine(options: EngineOptions): Promise<ChdbEngine> {
  mkdirSync(options.directory, { recursive: true })
  const lock = lockDirectory(options.directory)
  const path = join(options.directory, 'store')
  const configFile = writeEngineConfig(options)
  // A closed engine of this process needs until here to let go of its directory.
  await drainPending()
  let connections = 0
  return {
    connect: (database) => connect({ options, path, configFile, database, number: connections++ }),
    async [Symbol.asyncDispose]() {
      await drainPending()
      lock[Symbol.dispose]()
    },
  }
}

interface Connecting {
  readonly options: EngineOptions
  readonly path: string
  readonly configFile: string
  readonly database: string
  /** Connections insert through files of their own. */
  readonly number: number
}

async function connect({ options, path, configFile, database, number }: Connecting): Promise<ClientConnection> {
  const inserts = openSession(path, configFile)
  const start = startStatements(options, database)
  try {
    await inserts.queryAsync(`CREATE DATABASE IF NOT EXISTS ${database}`)
    for (const statement of start) await inserts.queryAsync(statement)
  } catch (error) {
    inserts.close()
    await drainPending()
    throw error
  }
  const runInsert = createLane()
  const commands = await openStatementConnection(path, start)
  const queries = await openStatementConnection(path, start)
  const file = resolve(options.directory, `insert-${number}.bytes`)

  return {
    ping: () => commands.run({ query: 'SELECT 1' }, (connection) => connection.ping({ select: true })),
    query: (params) => queries.run(params, (connection, once) => connection.query(once)),
    command: (params) => commands.run(params, (connection, once) => connection.command(once)),
    insert: (params) => commands.run(params, (connection, once) => connection.insert(once)),
    exec: (params) => {
      const body = params.values
      if (body === undefined) return commands.run(params, (connection, once) => connection.exec(once))
      return runInsert(async () => {
        await insertBytes(inserts, params.query, { body, file })
        return { stream: Readable.from([]), query_id: '', response_headers: {}, http_status_code: 200 }
      })
    },
    close: async () => {
      // Closing under a running statement would abort the engine for the rest of the process.
      await Promise.all([runInsert(async () => {}), commands.close(), queries.close()])
      inserts.close()
      await drainPending()
    },
  }
}

interface StatementConnection {
  /** Runs one statement after those before it; `once` are the parameters without settings that are set already. */
  run<Params extends { query: string; clickhouse_settings?: object }, Result>(
    params: Params,
    call: (connection: ClientConnection, once: Params) => Promise<Result>,
  ): Promise<Result>
  close(): Promise<void>
}

async function openStatementConnection(path: string, start: readonly string[]): Promise<StatementConnection> {
  const lane = createLane()
  let connection = await open()
  // Settings stay with an engine connection, and setting them again costs as much as a small query.
  let settings = ''
  let closed = false

  async function open(): Promise<ClientConnection> {
    // The two packages declare the same contract twice, one with and one without exact optional properties.
    const opened = createChdbConnection({ path }) as unknown as ClientConnection
    for (const query of start) await opened.command({ query })
    return opened
  }

  return {
    run: (params, call) =>
      lane(async () => {
        if (closed) throw new AppError('usage', 'The warehouse is closed.')
        if (hasSeveralStatements(params.query)) {
          throw new Error('Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
        }
        const wanted = JSON.stringify(params.clickhouse_settings ?? {})
        try {
          const once = wanted === settings ? { ...params, clickhouse_settings: {} } : params
          const result = await call(connection, once)
          settings = wanted
          return result
        } catch (error) {
          // What a failed statement had produced so far would be handed out in front of the next one's result.
          const failed = connection
          connection = await open()
          settings = ''
          await failed.close()
          throw error
        }
      }),
    close: () =>
      lane(async () => {
        closed = true
        await connection.close()
      }),
  }
}

/** What every engine connection is told first. A server has such limits in its user's profile. */
function startStatements({ memoryBytesMax, threads }: EngineOptions, database: string): string[] {
  const memoryBytes = Math.floor(memoryBytesMax / 2)
  // Without implicit_select the engine refuses what a server refuses: `1 + 1` is no statement.
  return [`USE ${database}`, `SET max_threads = ${threads}, max_memory_usage = ${memoryBytes}, implicit_select = 0`]
}

function openSession(path: string, configFile: string): Session {
  try {
    return new Session(path, { connectionArgs: [`--config-file=${configFile}`] })
  } catch (error) {
    throw new AppError(
      'usage',
      'The in-process ClickHouse could not be opened: one process holds one warehouse directory at a time; close the ' +
        'open one first, or check that the directory is complete and writable.',
      { cause: error },
    )
  }
}

/** Settings of the server, not of a query, so they have to be in a file before the engine starts. */
function writeEngineConfig(options: EngineOptions): string {
  const file = join(options.directory, 'engine.xml')
  writeFileSync(
    file,
    `<clickhouse>
  <!-- The level alone is for a log file: with a terminal on standard input the engine writes everything to the console. -->
  <logger><level>none</level><console>0</console></logger>
  <max_server_memory_usage>${options.memoryBytesMax}</max_server_memory_usage>
  <mark_cache_size>${MARK_CACHE_BYTES}</mark_cache_size>
  <index_mark_cache_size>${MARK_CACHE_BYTES / 4}</index_mark_cache_size>
  <background_pool_size>${options.threads}</background_pool_size>
  <background_schedule_pool_size>${options.threads}</background_schedule_pool_size>
  <merge_tree>
    <!-- The consumer's offset moves when an insert has returned: the rows must survive a power cut by then. -->
    <fsync_after_insert>1</fsync_after_insert>
    <fsync_part_directory>1</fsync_part_directory>
    <min_rows_to_fsync_after_merge>1</min_rows_to_fsync_after_merge>
    <!-- Merged parts are kept in memory and on disk until a cleanup, by default for minutes: thousands in a time-lapse. -->
    <cleanup_delay_period>2</cleanup_delay_period>
    <max_cleanup_delay_period>10</max_cleanup_delay_period>
    <cleanup_delay_period_random_add>1</cleanup_delay_period_random_add>
    <parts_to_delay_insert>${PARTS_TO_THROW / 2}</parts_to_delay_insert>
    <parts_to_throw_insert>${PARTS_TO_THROW}</parts_to_throw_insert>
  </merge_tree>
</clickhouse>
`,
  )
  return file
}

/**
 * Runs `INSERT … FORMAT x` with the bytes of `body`. They go through a file, because behind the text of a statement the
 * engine takes two line feeds for the end of the data, and binary data holds such bytes.
 */
async function insertBytes(session: Session, statement: string, source: { body: Readable; file: string }) {
  const format = /\sFORMAT \w+$/
  if (!format.test(statement)) throw new AppError('warehouse', 'An insert of bytes ends with FORMAT and its name.')
  const literal = source.file.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  await writeFile(source.file, source.body)
  try {
    await session.queryAsync(statement.replace(format, (end) => ` FROM INFILE '${literal}'${end}`))
  } finally {
    await rm(source.file, { force: true })
  }
}

/** Runs tasks one after the other, in the order of the calls; a task's failure is its caller's alone. */
function createLane(): <T>(task: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = tail.then(task)
    tail = result.catch(() => {})
    return result
  }
}
