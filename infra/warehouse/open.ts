import { existsSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { Readable } from 'node:stream'
import {
  type BaseQueryParams,
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import { AppError } from '../../schemas/errors.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { memoriesOf } from '../../schemas/tables/column-memories.ts'
import type { InsertColumns, QueryLimits, QueryParams, Warehouse } from '../ports/warehouse.ts'
import { openChdbEngine, storeOf } from './chdb-connection.ts'
import { blockRows, encodeNativeBlock, sliceColumns } from './native.ts'
import { checkParameterSizes } from './parameter-sizes.ts'
import { bytesOf, parseRows, toWords } from './results.ts'
import { TableWrites } from './table-writes.ts'
import { toQueryError, toWarehouseError } from './warehouse-error.ts'

/** A ClickHouse server, single or the entry of a cluster. */
export interface WarehouseServer {
  readonly url: string
  readonly user?: string
  readonly password?: string
  /** PEM bytes; only for certificates that the machine does not trust already. */
  readonly tls?: { readonly caCert: Buffer } | { readonly caCert: Buffer; readonly cert: Buffer; readonly key: Buffer }
}

/** ClickHouse inside this process; the directory belongs to one process at a time. */
export interface WarehouseDirectory {
  readonly directory: string
  readonly memoryBytesMax?: number
  readonly threads?: number
}

export type WarehouseLocation = WarehouseServer | WarehouseDirectory

export interface WarehouseLimits {
  /** Created when missing. Letters, digits and underscores. */
  readonly database?: string
  /** Otherwise only a database that is there is opened. */
  readonly mayCreate?: boolean
  /** Rows of one query's result. */
  readonly rowsMax?: number
}

export const DATABASE_DEFAULT = 'epochline'
export const ROWS_MAX_DEFAULT = 1_000_000
/** Rows of one Native block, which is one part per partition: about what the server would cut itself. */
export const BLOCK_ROWS_MAX = 1_000_000
/** In-process engine: the JavaScript heap is counted with it, other processes want the rest. */
const MEMORY_BYTES_MAX_DEFAULT = Math.min(4 * 1024 ** 3, totalmem() * 0.75)
/** A daily INSERT … SELECT over all validators may take minutes on a busy server. */
const REQUEST_TIMEOUT_MS = 300_000
const CONNECTIONS_MAX = 10

const SETTINGS = {
  // Numbers above 2^53 would arrive as floats.
  output_format_json_quote_64bit_integers: 1,
  // A failure in the middle of a result is a failed request, not a truncated body.
  wait_end_of_query: 1,
} as const

/**
 * Rows of one key within an insert are left to merges, and to FINAL, as those of several inserts are: to look for them first takes as
 * long as to write all rows.
 */
const INSERT_SETTINGS = 'optimize_on_insert = 0'

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
const PARTITION_ID = /^[A-Za-z0-9_-]+$/

/**
 * Opens ClickHouse, at an address or in this process, and creates the database when it is missing, unless it may not.
 * Throws AppError `usage` (directory in use, or nothing there), `config` (bad names or address) or `warehouse`.
 */
export async function openWarehouse(location: WarehouseLocation, limits: WarehouseLimits = {}): Promise<Warehouse> {
  const database = limits.database ?? DATABASE_DEFAULT
  if (!IDENTIFIER.test(database)) {
    throw new AppError('config', `The warehouse database is a name like ${DATABASE_DEFAULT}: letters, digits, _.`)
  }
  const rowsMax = limits.rowsMax ?? ROWS_MAX_DEFAULT
  const { mayCreate = true } = limits
  if (!mayCreate && 'directory' in location && !existsSync(storeOf(location.directory))) throw noWarehouse()
  const engine = 'url' in location ? openServer(location, mayCreate) : await openDirectory(location)
  try {
    return await openDatabase({ engine, rowsMax, closing: () => engine[Symbol.asyncDispose]() }, database)
  } catch (error) {
    await engine[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * A server ends a statement whose client has gone only where the statement may change nothing: 2 forbids that, and still lets a
 * query bring its own settings. It is for queries alone, inserts and commands go over the same client.
 */
const SERVER_QUERY_SETTINGS = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const

function noWarehouse(): AppError {
  return new AppError('usage', 'There is no warehouse yet: the program makes and fills it when it is started.')
}

/** Where databases are: each gets a client of its own. */
interface Engine extends AsyncDisposable {
  /** Of every query, beside its limits. */
  readonly querySettings: ClickHouseSettings
  /** Where nobody else writes. */
  readonly writes?: TableWrites
  /** Whether a merge is told to end with whoever asked for it; otherwise it outlasts them. */
  readonly stopsMerges: boolean
  connect(database: string): Promise<ClickHouseClient>
  /** Rows of a query. */
  select<Row>(client: ClickHouseClient, asked: Asked): Promise<Row[]>
}

type Asked = BaseQueryParams & { readonly query: string }

/** What a query writes, in one piece. */
async function readBytes(client: ClickHouseClient, format: string, { query, ...asked }: Asked): Promise<Buffer> {
  const { stream } = await client.exec({ query: `${query.replace(/[;\s]+$/, '')}\nFORMAT ${format}`, ...asked })
  return await bytesOf(stream, asked.abort_signal)
}

interface Opening {
  readonly engine: Engine
  readonly rowsMax: number
  /** What else ends with the warehouse. */
  readonly closing: () => PromiseLike<void>
}

async function openDatabase(opening: Opening, database: string): Promise<Warehouse> {
  const client = await opening.engine.connect(database)
  return createWarehouse({ ...opening, client, database })
}

async function openDirectory(location: WarehouseDirectory): Promise<Engine> {
  const engine = await openChdbEngine({
    directory: location.directory,
    memoryBytesMax: Math.floor(location.memoryBytesMax ?? MEMORY_BYTES_MAX_DEFAULT),
    threads: location.threads ?? availableParallelism(),
  })
  return {
    // Answers have few rows: threads that write their text side by side take longer to begin than the text does.
    querySettings: { output_format_parallel_formatting: 0 },
    writes: new TableWrites(),
    stopsMerges: true,
    connect: async (database) =>
      createClient({
        connection: await engine.connect(database),
        // To look for what the conditions of an AND imply, and for what the alternatives of an OR share, doubles what a statement of many
        // selects takes to begin.
        clickhouse_settings: { ...SETTINGS, optimize_and_compare_chain: 0, optimize_extract_common_expressions: 0 },
        log: { level: ClickHouseLogLevel.OFF },
      }),
    select: async (client, asked) => parseRows(await readBytes(client, 'JSONEachRow', asked)),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  }
}

function openServer(location: WarehouseServer, mayCreate: boolean): Engine {
  const { url, user, password } = toAddress(location)
  const toClient = (name: string) =>
    createServerClient({
      url,
      database: name,
      ...(user === undefined ? {} : { username: user }),
      ...(password === undefined ? {} : { password }),
      ...(location.tls === undefined ? {} : { tls: toTlsOptions(location.tls) }),
      clickhouse_settings: SETTINGS,
      compression: { request: { codec: 'gzip', level: 1 }, response: true },
      request_timeout: REQUEST_TIMEOUT_MS,
      max_open_connections: CONNECTIONS_MAX,
      // Long lists of keys do not fit into an address.
      use_multipart_params_auto: true,
      // The client's own log prints addresses and parameters; failures are thrown anyway.
      log: { level: ClickHouseLogLevel.OFF },
    })
  return {
    querySettings: SERVER_QUERY_SETTINGS,
    stopsMerges: false,
    async connect(database) {
      const first = toClient('default')
      try {
        // A user without the right to create databases can still use one that is there.
        const found = await first.query({
          query: 'SELECT 1 FROM system.databases WHERE name = {database:String}',
          query_params: { database },
          format: 'JSONEachRow',
        })
        if ((await found.json()).length === 0) {
          if (!mayCreate) throw noWarehouse()
          await first.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}` })
        }
      } catch (error) {
        throw toWarehouseError(error)
      } finally {
        await first.close()
      }
      return toClient(database)
    },
    // The client puts parameters of a statement that is no query into its address, where long lists of keys do not fit.
    async select<Row>(client: ClickHouseClient, asked: Asked) {
      const { abort_signal: signal } = asked
      const result = await client.query({ ...asked, format: 'JSONEachRow' })
      // The client hears of an abort until the answer begins.
      const stop = (): void => result.close()
      signal?.addEventListener('abort', stop, { once: true })
      try {
        signal?.throwIfAborted()
        return await result.json<Row>()
      } finally {
        signal?.removeEventListener('abort', stop)
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/** The client throws where the query of its address (?...) has something else than settings that it knows. */
function createServerClient(config: NonNullable<Parameters<typeof createClient>[0]>): ClickHouseClient {
  try {
    return createClient(config)
  } catch (error) {
    if (new URL(String(config.url)).search === '') throw error
    throw new AppError(
      'config',
      'CLICKHOUSE_URL has something after ? that is no setting of the client: user and password are CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, or stand before the host, e.g. http://user:password@127.0.0.1:8123.',
    )
  }
}

/**
 * The address without a user and a password, and these beside it: given both ways the client prints a warning of its own. What
 * is in the URL counts, as it does for the client.
 */
function toAddress(location: WarehouseServer): Pick<WarehouseServer, 'url' | 'user' | 'password'> {
  if (!URL.canParse(location.url) || !/^https?:/.test(location.url)) {
    throw new AppError('config', 'The warehouse address is a URL like http://127.0.0.1:8123.')
  }
  const url = new URL(location.url)
  const { user = location.user, password = location.password } = credentialsOf(url)
  url.username = ''
  url.password = ''
  return { url: url.href, ...(user === undefined ? {} : { user }), ...(password === undefined ? {} : { password }) }
}

function credentialsOf({ username, password }: URL): { readonly user?: string; readonly password?: string } {
  try {
    return {
      ...(username === '' ? {} : { user: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    }
  } catch {
    throw new AppError('config', 'The user or the password in CLICKHOUSE_URL has a % that is not written as %25.')
  }
}

function toTlsOptions(tls: NonNullable<WarehouseServer['tls']>) {
  return 'cert' in tls ? { ca_cert: tls.caCert, cert: tls.cert, key: tls.key } : { ca_cert: tls.caCert }
}

/** The one code path above both connections. */
function createWarehouse(
  opened: Opening & { readonly client: ClickHouseClient; readonly database: string },
): Warehouse {
  const { client, database, engine, rowsMax } = opened
  const { writes } = engine
  const writing = writes ?? new TableWrites()
  let closing: Promise<void> | undefined
  const typesOfTable = new Map<string, Readonly<Record<string, string>>>()

  async function columnTypes(table: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const cached = typesOfTable.get(table)
    // A column that is not there yet may have come with a migration since.
    if (cached !== undefined && names.every((name) => cached[name] !== undefined)) return cached
    const rows = await select<{ name: string; type: string }>(
      'SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
      { table },
    )
    if (rows.length === 0) throw new AppError('warehouse', `The warehouse has no table ${table}: run the migrations.`)
    const types = Object.fromEntries(rows.map((row) => [row.name, row.type]))
    const unknown = names.find((name) => types[name] === undefined)
    if (unknown !== undefined) throw new AppError('warehouse', `Table ${table} has no column ${unknown}.`)
    typesOfTable.set(table, types)
    return types
  }

  /** What a query is asked with, and how its failure is told. */
  async function limited<Result>(
    { signal, timeMsMax = 0, rowsReadMax = 0 }: QueryLimits,
    resultRowsMax: number,
    ask: (asked: Pick<BaseQueryParams, 'clickhouse_settings' | 'abort_signal'>) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted()
    try {
      const result = await ask({
        clickhouse_settings: {
          ...engine.querySettings,
          // 0 is no limit, everywhere.
          max_result_rows: String(resultRowsMax),
          result_overflow_mode: 'throw',
          max_execution_time: timeMsMax / 1000, // in seconds
          max_rows_to_read: String(rowsReadMax),
        },
        ...(signal === undefined ? {} : { abort_signal: signal }),
      })
      signal?.throwIfAborted()
      return result
    } catch (error) {
      signal?.throwIfAborted()
      throw timeMsMax + rowsReadMax > 0 ? toQueryError(error) : toWarehouseError(error)
    }
  }

  const select = <Row>(sql: string, params: QueryParams, limits: QueryLimits = {}): Promise<Row[]> =>
    limited(limits, rowsMax, (asked) =>
      engine.select<Row>(client, { query: sql, query_params: toClientParams(sql, params), ...asked }),
    )

  const selectWords = (sql: string, params: QueryParams, limits: QueryLimits): Promise<Uint32Array> =>
    limited(limits, 0, async (asked) =>
      toWords(
        await readBytes(client, 'RowBinary', { query: sql, query_params: toClientParams(sql, params), ...asked }),
      ),
    )

  async function insertBlock(table: string, names: readonly string[], block: readonly Uint8Array[]): Promise<void> {
    const columns = names.map((name) => `\`${name}\``).join(', ')
    try {
      const { stream } = await client.exec({
        query: `INSERT INTO ${table} (${columns}) SETTINGS ${INSERT_SETTINGS} FORMAT Native`,
        // Piece by piece: a stream of bytes would join them to copies.
        values: Readable.from(block),
      })
      // The connection is free for the next request when the (empty) answer has been read.
      for await (const _ of stream);
    } catch (error) {
      typesOfTable.delete(table)
      throw toWarehouseError(error)
    }
  }

  return {
    database,
    beside(other) {
      if (!IDENTIFIER.test(other)) throw new AppError('warehouse', 'A database name is letters, digits and _.')
      return openDatabase({ engine, rowsMax, closing: () => Promise.resolve() }, other)
    },
    async insert(table: string, columns: InsertColumns) {
      if (!IDENTIFIER.test(table)) throw new AppError('warehouse', 'A table name is letters, digits and _.')
      const names = Object.keys(columns)
      const types = await columnTypes(table, names)
      const rows = blockRows(columns, types)
      for (let from = 0; from < rows; from += BLOCK_ROWS_MAX) {
        const range = { from, to: Math.min(from + BLOCK_ROWS_MAX, rows) }
        const block = range.to - range.from === rows ? columns : sliceColumns(columns, types, range)
        const pieces = encodeNativeBlock(block, types)
        await writing.insert(table, () => insertBlock(table, names, pieces))
        giveBackWhole(pieces, memoriesOf(columns)) // texts were encoded into memory of their own
      }
    },
    query: (sql, params = {}, limits = {}) => select(sql, params, limits),
    ...(writes === undefined
      ? {}
      : {
          writesOf: (tables: readonly string[]) => writes.of(tables),
          writing: (tables: readonly string[]) => writes.writing(tables),
        }),
    queryWords: (sql, params = {}, limits = {}) => selectWords(sql, params, limits),
    async command(sql, params = {}) {
      if (!/^\s*INSERT\b/i.test(sql)) typesOfTable.clear()
      try {
        await writing.command(sql, () => client.command({ query: sql, query_params: toClientParams(sql, params) }))
      } catch (error) {
        throw toWarehouseError(error)
      }
    },
    async merge(table, partitionId, signal) {
      if (!IDENTIFIER.test(table)) throw new AppError('warehouse', 'A table name is letters, digits and _.')
      if (partitionId !== undefined && !PARTITION_ID.test(partitionId))
        throw new AppError('warehouse', 'A partition has no such id.')
      if (!signal.aborted) await mergeParts({ client, engine, table, partitionId }, signal)
    },
    [Symbol.asyncDispose]() {
      closing ??= client.close().then(opened.closing)
      return closing
    },
  }
}

interface Merging {
  readonly client: ClickHouseClient
  readonly engine: Engine
  readonly table: string
  readonly partitionId: string | undefined
}

/** In this process a merge keeps the engine open and has to end before it; to end its statement does not end it. */
async function mergeParts({ client, engine, table, partitionId }: Merging, signal: AbortSignal): Promise<void> {
  let stopping: Promise<unknown> | undefined
  const stop = (): void => {
    stopping = client.command({ query: `SYSTEM STOP MERGES ${table}` })
    stopping.catch(() => {}) // it is awaited below
  }
  if (engine.stopsMerges) signal.addEventListener('abort', stop, { once: true })
  try {
    await client.command({
      query: `OPTIMIZE TABLE ${table}${partitionId === undefined ? '' : ` PARTITION ID '${partitionId}'`}`,
      ...(engine.stopsMerges ? {} : { abort_signal: signal }),
    })
  } catch (error) {
    if (!signal.aborted) throw toWarehouseError(error)
  } finally {
    signal.removeEventListener('abort', stop)
    if (stopping !== undefined) {
      await stopping
      await client.command({ query: `SYSTEM START MERGES ${table}` })
    }
  }
}

/** Booleans as 1 and 0, which both connections bind to Bool and to integers. Throws where a server would refuse their sizes. */
function toClientParams(sql: string, params: QueryParams): Record<string, unknown> {
  checkParameterSizes(sql, params)
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]),
  )
}
