import { fstatSync, mkdirSync, type Stats, writeFileSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { drainPending, Session } from 'chdb'
import { createChdbConnection } from 'chdb/connection'
import { AppError } from '../../schemas/errors.ts'
import { lockDirectory } from '../directory-lock.ts'
import { poolThreads } from '../thread-pool.ts'
import { createLane } from './lane.ts'
import { type ClientConnection, openStatementPool, type StatementPool } from './statement-pool.ts'

export interface EngineOptions {
  readonly directory: string
  /** Above it the engine refuses queries; the whole process counts, JavaScript's heap too. */
  readonly memoryBytesMax: number
  readonly threads: number
}

/** Parts of one table: merging falls behind when every insert of a time-lapse makes one. The default is 3000. */
const PARTS_TO_THROW = 10_000
/**
 * A merge gathers so much of what it writes before it sorts it anew, for tables that have their rows in a second order: of the engine's default, 256
 * MiB, a merge of a million daily rewards took half a gigabyte.
 */
const MERGED_AT_ONCE_BYTES = 32 * 1024 * 1024
const MARK_CACHE_BYTES = 64 * 1024 * 1024
/** More would only share the same cores; with fewer, long questions of a few accounts would hold up everybody's. */
const QUERIES_MAX = 6
const QUERIES_MIN = 2
/** A head block has rows for seven tables, and its fold for five; most of the time a small insert waits for the disk. */
const INSERTS_AT_ONCE = 7
/** The inserts, a command, a merge, the end of a query, and a file. */
const OTHER_THREADS = INSERTS_AT_ONCE + 4
/** It may take minutes, for which no other command is to wait. */
const MERGE = /^OPTIMIZE\b/
/** A statement, or what binds all of its parameters: each of these may have 128 KiB (`PARAMETER_BYTES_MAX`). */
const STATEMENT_BYTES_MAX = 64 * 1024 * 1024

/** ClickHouse inside this process. */
export interface ChdbEngine extends AsyncDisposable {
  /** A connection of @clickhouse/client to one of its databases, created when it is missing. */
  connect(database: string): Promise<ClientConnection>
}

/**
 * Starts the engine. Its connections run side by side, each one statement at a time: every database has seven for inserts, one for
 * commands, one for merges that are asked for, and a few for queries. What waits for one of them waits here, because in the engine it would block a thread of Node's
 * pool. Its connections are closed before it is disposed.
 * Throws AppError `usage` when the directory, or the engine of this process, is taken.
 */
export async function openChdbEngine(options: EngineOptions): Promise<ChdbEngine> {
  neverWaitForInput()
  const path = storeOf(options.directory)
  const { lock, configFile } = prepareDirectory(options)
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

/**
 * At each insert the engine looks whether standard input has something, too: it tells the descriptor not to wait, reads, and puts back what
 * the descriptor was told before. Of two inserts side by side one puts that back before the other reads, which then waits for an input that never
 * comes, and with it everything. A pipe that does not wait beforehand never will; Node makes one of it that is asked for as a stream.
 */
function neverWaitForInput(): void {
  const input = inputStats()
  // To ask for it is all: nothing is read of it, and it holds no program up.
  if (input?.isFIFO() === true || input?.isSocket() === true) Reflect.get(process, 'stdin')
}

/** Undefined: there is no standard input. */
function inputStats(): Stats | undefined {
  try {
    return fstatSync(0)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EBADF') return undefined
    throw error
  }
}

/** Where the engine keeps its tables: it is there once a warehouse has been opened in the directory. */
export function storeOf(directory: string): string {
  return join(directory, 'store')
}

function queriesAtOnce(): number {
  return Math.max(QUERIES_MIN, Math.min(QUERIES_MAX, poolThreads() - OTHER_THREADS))
}

function prepareDirectory(options: EngineOptions): { lock: Disposable; configFile: string } {
  try {
    mkdirSync(options.directory, { recursive: true })
    return { lock: lockDirectory(options.directory), configFile: writeEngineConfig(options) }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error) || error instanceof AppError) throw error
    const full =
      error.code === 'ENOSPC' ? 'its disk is full: free some space' : 'see to its disk, its owner and its rights'
    throw new AppError(
      'warehouse',
      `The warehouse folder ${options.directory} cannot be written to (${error.code}): ${full}.`,
    )
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
  const inserters = Array.from({ length: INSERTS_AT_ONCE }, (_, place) => ({
    session: openSession(path, configFile),
    run: createLane(),
    file: resolve(options.directory, `insert-${number}-${place}.bytes`),
    waiting: 0,
  }))
  const start = startStatements(options, database)
  const open = () => openStarted(path, start)
  let commands: StatementPool | undefined
  let merges: StatementPool | undefined
  let queries: StatementPool
  try {
    for (const { session } of inserters) {
      await session.queryAsync(`CREATE DATABASE IF NOT EXISTS ${database}`)
      for (const statement of start) await session.queryAsync(statement)
    }
    commands = await openStatementPool(open, 1)
    merges = await openStatementPool(open, 1)
    queries = await openStatementPool(open, queriesAtOnce())
  } catch (error) {
    await commands?.close()
    await merges?.close()
    for (const { session } of inserters) session.close()
    await drainPending()
    throw error
  }
  async function insert(statement: string, body: Readable) {
    const inserter = inserters.reduce((least, one) => (one.waiting < least.waiting ? one : least))
    inserter.waiting++
    try {
      await inserter.run(() => insertBytes(inserter.session, statement, { body, file: inserter.file }))
      return { stream: Readable.from([]), query_id: '', response_headers: {}, http_status_code: 200 }
    } finally {
      inserter.waiting--
    }
  }

  return {
    ping: () => commands.run({ query: 'SELECT 1' }, (connection) => connection.ping({ select: true })),
    query: (params) => queries.run(params, (connection, bound) => connection.query(bound)),
    command: (params) =>
      (MERGE.test(params.query) ? merges : commands).run(params, (connection, bound) => connection.command(bound)),
    insert: (params) => commands.run(params, (connection, bound) => connection.insert(bound)),
    exec: (params) => {
      const body = params.values
      if (body === undefined) return queries.run(params, (connection, bound) => connection.exec(bound))
      return insert(params.query, body)
    },
    close: async () => {
      // Closing under a running statement would abort the engine for the rest of the process.
      const pools = [commands, merges, queries]
      await Promise.all([...inserters.map(({ run }) => run(async () => {})), ...pools.map((pool) => pool.close())])
      for (const { session } of inserters) session.close()
      await drainPending()
    },
  }
}

/** What every engine connection is told first. A server has such limits in its user's profile. */
function startStatements({ memoryBytesMax, threads }: EngineOptions, database: string): string[] {
  const memoryBytes = Math.floor(memoryBytesMax / 2)
  // Without implicit_select the engine refuses what a server refuses: `1 + 1` is no statement.
  return [
    `USE ${database}`,
    `SET max_threads = ${threads}, max_memory_usage = ${memoryBytes}, max_query_size = ${STATEMENT_BYTES_MAX}, implicit_select = 0`,
    // Most statements read a few rows of every part: to hand each of these reads to another thread, and to look for the newest rows of
    // a limit before they are read, took as long as the rest of a lookup.
    // The profile has another one, for merges.
    'SET min_insert_block_size_bytes = DEFAULT',
    "SET local_filesystem_read_method = 'pread', use_top_k_dynamic_filtering = 0",
    // To translate an expression to machine code takes a quarter of a second, again in every process: what comes first waits for it. Statements
    // over millions of rows ask for it (`processors/compiled-sums.ts`).
    'SET compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0',
  ]
}

async function openStarted(path: string, start: readonly string[]): Promise<ClientConnection> {
  // The two packages declare the same contract twice, one with and one without exact optional properties.
  const connection = createChdbConnection({ path }) as unknown as ClientConnection
  try {
    for (const query of start) await connection.command({ query })
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

function openSession(path: string, configFile: string): Session {
  try {
    return new Session(path, { connectionArgs: [`--config-file=${configFile}`] })
  } catch (error) {
    throw new AppError(
      'usage',
      `The in-process ClickHouse could not open ${path}: one process holds one warehouse folder at a time. If none does, it is ` +
        'damaged, or its disk is full: move the warehouse folder away, and the next start fills a new one from the event log.',
      { cause: error },
    )
  }
}

/** What holds where no connection says otherwise: for merges. The user is the one that the engine has without such a file. */
const ENGINE_PROFILE = `<clickhouse>
  <profiles><default><min_insert_block_size_bytes>${MERGED_AT_ONCE_BYTES}</min_insert_block_size_bytes></default></profiles>
  <users>
    <default>
      <password></password>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
  </users>
  <quotas><default></default></quotas>
</clickhouse>
`

function xmlOf(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** Settings of the server, not of a query, so they have to be in a file before the engine starts. */
function writeEngineConfig(options: EngineOptions): string {
  const file = join(options.directory, 'engine.xml')
  const profileFile = resolve(options.directory, 'engine-profile.xml')
  writeFileSync(profileFile, ENGINE_PROFILE)
  writeFileSync(
    file,
    `<clickhouse>
  <!-- The level alone is for a log file: with a terminal on standard input the engine writes everything to the console. -->
  <logger><level>none</level><console>0</console></logger>
  <users_config>${xmlOf(profileFile)}</users_config>
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
    <!-- Each row is written anew less often, for some more parts that a question reads: at the default of 5 merges of what heads bring took
         a fifth of what blocks cost, and two thirds of what months did. -->
    <merge_selector_base>10</merge_selector_base>
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
  const format = /(\sSETTINGS [\w ,=]+)?\sFORMAT \w+$/
  if (!format.test(statement)) throw new AppError('warehouse', 'An insert of bytes ends with FORMAT and its name.')
  const literal = source.file.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  try {
    await writePieces(source.file, await source.body.toArray())
    await session.queryAsync(statement.replace(format, (end) => ` FROM INFILE '${literal}'${end}`))
  } finally {
    await rm(source.file, { force: true })
  }
}

/** In one call: the pieces are memory of columns, which nobody needs to copy or to hand over one by one. */
async function writePieces(file: string, pieces: readonly Uint8Array[]): Promise<void> {
  await using handle = await open(file, 'w')
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  const { bytesWritten } = await handle.writev(pieces)
  if (bytesWritten < bytes)
    throw new AppError(
      'warehouse',
      `Of an insert's ${bytes} bytes ${bytesWritten} fitted into ${file}: free some space.`,
    )
}
