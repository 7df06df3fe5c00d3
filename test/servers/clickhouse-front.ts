import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import zlib from 'node:zlib'
import { hasSeveralStatements } from '../../infra/warehouse/statements.ts'
import { type Engine, EngineError, openEngine } from './clickhouse-front-engine.ts'
import { bodyOfInsert, httpStatus } from './clickhouse-front-text.ts'

/**
 * ClickHouse's HTTP interface over the in-process engine, for machines without a ClickHouse server: what
 * @clickhouse/client sends (parameters, settings, compression, credentials) is answered as a server answers it.
 *
 *     node test/servers/clickhouse-front.ts --port 0 --directory /tmp/front [--user default] [--password '']
 *
 * Not there: sessions, roles, several requests at the same moment (they wait for each other, but for those that look at
 * `system.processes`).
 */

/** URL parameters that are no settings of the engine. */
const NOT_SETTINGS = new Set([
  'query',
  'database',
  'query_id',
  'user',
  'password',
  'default_format',
  'wait_end_of_query',
  'enable_http_compression',
  'http_zlib_compression_level',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'session_id',
  // The engine would never let go of it.
  'readonly',
  'cancel_http_readonly_queries_on_client_close',
])

const READS = /^\s*(SELECT|WITH|SHOW|DESCRIBE|DESC|EXISTS|EXPLAIN)\b/i
const WRITES = /^\s*(INSERT|CREATE|ALTER|DROP|TRUNCATE|RENAME|OPTIMIZE|KILL)\b/i

const COMPRESSORS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: () => zlib.createGzip({ level: 3 }),
  zstd: () => zlib.createZstdCompress(),
  br: () => zlib.createBrotliCompress({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
}

const DECOMPRESSORS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: (body) => zlib.gunzipSync(body),
  zstd: (body) => zlib.zstdDecompressSync(body),
  br: (body) => zlib.brotliDecompressSync(body),
}

interface Statement {
  readonly text: string
  /** Bytes of an INSERT's values; undefined when the statement is complete without. */
  readonly values: Buffer | undefined
  readonly params: Readonly<Record<string, string>>
  readonly url: URLSearchParams
}

interface Credentials {
  readonly user: string
  readonly password: string
}

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    directory: { type: 'string' },
    user: { type: 'string', default: 'default' },
    password: { type: 'string', default: '' },
  },
})
if (options.directory === undefined) {
  console.error('usage: clickhouse-front.ts --port N --directory D')
  process.exit(2)
}
mkdirSync(options.directory, { recursive: true })
const engine = await openEngine(options.directory)
const expected: Credentials = { user: options.user, password: options.password }

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy()
    else sendError(response, error)
  })
})
server.listen(Number(options.port), '127.0.0.1', () => {
  console.log(`listening http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => {
  server.close(() => engine.close())
  server.closeAllConnections()
})

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://front')
  if (request.method === 'GET' && url.pathname === '/ping') {
    response.end('Ok.\n')
    return
  }
  if (url.pathname !== '/') {
    response.writeHead(404).end(`There is no handle ${url.pathname}\n`)
    return
  }
  response.setHeader('X-ClickHouse-Query-Id', url.searchParams.get('query_id') ?? randomUUID())
  checkCredentials(request, url.searchParams)
  const statement = await readStatement(request, url.searchParams)
  if (hasSeveralStatements(statement.text)) {
    throw new EngineError(62, 'Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
  }
  const isReadonly = Number(statement.url.get('readonly') ?? '0') > 0
  if (isReadonly && WRITES.test(statement.text)) {
    throw new EngineError(164, 'Cannot execute query in readonly mode. (READONLY)')
  }
  if (statement.text.includes('FROM system.processes')) {
    response.end(await engine.look(statement.text, formatOf(statement)))
    return
  }
  const isCancelled = isReadonly && statement.url.get('cancel_http_readonly_queries_on_client_close') === '1'
  await engine.exclusive(() => (isCancelled ? answerUntilGone : answer)(statement, request, response))
}

/** As a server does with the statement of a client that has closed its connection. */
async function answerUntilGone(
  statement: Statement,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (response.destroyed) return
  const ended = new AbortController()
  let killing: Promise<void> | undefined
  const kill = (): void => {
    killing = engine.kill(ended.signal)
  }
  response.once('close', kill)
  try {
    await answer(statement, request, response)
  } finally {
    response.off('close', kill)
    ended.abort()
    await killing
  }
}

function formatOf({ url }: Statement): string {
  return url.get('default_format') ?? 'TabSeparated'
}

function checkCredentials(request: IncomingMessage, url: URLSearchParams): void {
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  const [user, ...rest] = basic === undefined ? [] : Buffer.from(basic, 'base64').toString().split(':')
  const given: Credentials = {
    user: user ?? String(request.headers['x-clickhouse-user'] ?? url.get('user') ?? 'default'),
    password:
      basic === undefined ? String(request.headers['x-clickhouse-key'] ?? url.get('password') ?? '') : rest.join(':'),
  }
  if (given.user === expected.user && given.password === expected.password) return
  throw new EngineError(
    516,
    `${given.user}: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)`,
  )
}

async function readStatement(request: IncomingMessage, url: URLSearchParams): Promise<Statement> {
  const sent = await buffer(request)
  const encoding = request.headers['content-encoding']
  const body = encoding === undefined ? sent : (DECOMPRESSORS[encoding]?.(sent) ?? sent)
  const fields = new URLSearchParams(url)
  let inBody: Buffer = body
  if (/^multipart\/form-data/.test(request.headers['content-type'] ?? '')) {
    inBody = Buffer.alloc(0)
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': String(request.headers['content-type']) },
    }).formData()
    for (const [name, value] of form) fields.append(name, String(value))
  }
  const params: Record<string, string> = {}
  for (const [name, value] of fields) if (name.startsWith('param_')) params[name.slice('param_'.length)] = value
  const queryInUrl = fields.get('query')
  if (queryInUrl !== null && inBody.length > 0) return { text: queryInUrl, values: inBody, params, url }
  const { text, values } = queryInUrl === null ? bodyOfInsert(inBody) : { text: queryInUrl, values: undefined }
  return { text, values, params, url }
}

async function answer(statement: Statement, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url } = statement
  const format = formatOf(statement)
  await engine.use(url.get('database') ?? 'default')
  await engine.set(new Map([...url].filter(([name]) => !NOT_SETTINGS.has(name) && !name.startsWith('param_'))))
  const compressed = url.get('enable_http_compression') === '1' ? acceptedEncoding(request) : undefined
  if (statement.values !== undefined) {
    sendSummary(response, await engine.insert(statement.text, statement.values))
    response.end()
  } else if (READS.test(statement.text)) {
    const chunks = engine.stream(statement.text, format, statement.params)
    await sendChunks(response, url.get('wait_end_of_query') === '1' ? await collect(chunks) : chunks, compressed)
  } else {
    const done = await engine.run(statement.text, format, statement.params)
    sendSummary(response, done)
    await sendChunks(response, [done.bytes], compressed)
  }
}

function acceptedEncoding(request: IncomingMessage): string | undefined {
  const accepted = String(request.headers['accept-encoding'] ?? '').split(/\s*,\s*/)
  return accepted.find((encoding) => encoding in COMPRESSORS)
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

/** A failure before the first byte is thrown (and becomes a status); a later one becomes the server's exception block. */
async function sendChunks(
  response: ServerResponse,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: string | undefined,
): Promise<void> {
  const tag = randomUUID().slice(0, 16).replaceAll('-', 'x')
  const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]()
  const first = await iterator.next()
  response.setHeader('X-ClickHouse-Exception-Tag', tag)
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8')
  if (encoding !== undefined) response.setHeader('Content-Encoding', encoding)
  const source = Readable.from(withExceptionBlock(first, iterator, tag), { objectMode: false })
  const compressor = encoding === undefined ? new PassThrough() : COMPRESSORS[encoding]?.()
  try {
    await pipeline(source, compressor as NodeJS.ReadWriteStream, response as Writable)
  } finally {
    // Of a client that has gone the statement would go on, and be in the way of the next one.
    await iterator.return?.()
  }
}

async function* withExceptionBlock(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
  tag: string,
): AsyncGenerator<Uint8Array> {
  try {
    for (let item = first; item.done !== true; item = await rest.next()) yield item.value
  } catch (error) {
    const message = `${errorText(error)}\n`
    const length = Buffer.byteLength(message)
    yield Buffer.from(`\r\n__exception__\r\n${tag}\r\n${message}${length} ${tag}\r\n__exception__\r\n`)
  }
}

function sendSummary(response: ServerResponse, done: Awaited<ReturnType<Engine['run']>>): void {
  const summary = {
    read_rows: String(done.rowsRead),
    read_bytes: String(done.bytesRead),
    written_rows: String(done.rowsWritten),
    written_bytes: String(done.bytesWritten),
    total_rows_to_read: '0',
    result_rows: '0',
    result_bytes: '0',
    elapsed_ns: String(Math.round(done.elapsedMs * 1e6)),
  }
  response.setHeader('X-ClickHouse-Summary', JSON.stringify(summary))
}

function sendError(response: ServerResponse, error: unknown): void {
  const code = error instanceof EngineError ? error.code : 1002
  for (const name of ['Content-Encoding', 'X-ClickHouse-Exception-Tag']) response.removeHeader(name)
  response.writeHead(httpStatus(code), { 'X-ClickHouse-Exception-Code': code, 'Content-Type': 'text/plain' })
  response.end(`${errorText(error)}\n`)
}

function errorText(error: unknown): string {
  const text =
    error instanceof EngineError ? error.text : `Code: 1002. DB::Exception: ${String(error)}. (UNKNOWN_EXCEPTION)`
  return `${text} (version ${engine.version})`
}
