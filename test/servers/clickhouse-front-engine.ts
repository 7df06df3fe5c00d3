import { rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { drainPending, Session } from 'chdb'
import { pause } from '../../schemas/wait.ts'

/** A failure as ClickHouse tells it: `Code: 60. DB::Exception: … (UNKNOWN_TABLE)`. */
export class EngineError extends Error {
  readonly code: number
  /** The whole line, with the code in front. */
  readonly text: string

  constructor(code: number, message: string) {
    super(message)
    this.code = code
    this.text = `Code: ${code}. DB::Exception: ${message}`
  }
}

export interface Done {
  readonly bytes: Uint8Array
  readonly rowsRead: number
  readonly bytesRead: number
  readonly rowsWritten: number
  readonly bytesWritten: number
  readonly elapsedMs: number
}

export interface Engine {
  readonly version: string
  /** Runs one request at a time: settings and the database belong to the engine's connection. */
  exclusive<T>(task: () => Promise<T>): Promise<T>
  use(database: string): Promise<void>
  /** Of the statements that follow; others are as they are by default. */
  set(settings: ReadonlyMap<string, string>): Promise<void>
  run(text: string, format: string, params: Readonly<Record<string, string>>): Promise<Done>
  stream(text: string, format: string, params: Readonly<Record<string, string>>): AsyncIterable<Uint8Array>
  insert(text: string, values: Buffer): Promise<Done>
  /** Ends what runs, until `ended` aborts. */
  kill(ended: AbortSignal): Promise<void>
  /** A question about what runs, answered beside it. */
  look(text: string, format: string): Promise<Uint8Array>
  close(): Promise<void>
}

interface NativeResult {
  readonly bytes: Uint8Array
  readonly rowsRead?: number
  readonly bytesRead?: number
  readonly rowsWritten?: number
  readonly bytesWritten?: number
  readonly elapsed?: number
}

/**
 * The calls below the package's own functions: those would escape parameters, which come from the HTTP client escaped
 * already.
 */
interface NativeModule {
  QueryAsyncConnection(
    connection: unknown,
    text: string,
    format: string,
    params?: Readonly<Record<string, string>>,
  ): Promise<NativeResult>
  StreamQuery(connection: unknown, text: string, format: string, params?: Readonly<Record<string, string>>): unknown
  StreamFetch(stream: unknown): Promise<{ readonly done: boolean; readonly bytes: Uint8Array }>
  StreamCancel(stream: unknown): void
}

/** What the engine's list of running statements has for those of requests. */
const RUNNING = 'request'
/** Tables have a few rows here: to hand each of their reads and answers to other threads takes longer than they do. */
const FEW_ROWS =
  "local_filesystem_read_method = 'pread', use_top_k_dynamic_filtering = 0, output_format_parallel_formatting = 0"
/** Between attempts to end a statement: it may not have begun. */
const KILL_AGAIN_MS = 50

export async function openEngine(directory: string): Promise<Engine> {
  const session = new Session(join(directory, 'front-store'))
  await session.queryAsync(`SET log_comment = '${RUNNING}', ${FEW_ROWS}`)
  const watcher = new Session(join(directory, 'front-store'))
  const native = loadNative()
  const version = session.query('SELECT version()', 'TabSeparated').trim()
  let tail: Promise<unknown> = Promise.resolve()
  let database = ''
  let settings: ReadonlyMap<string, string> = new Map()

  async function run(text: string, format: string, params: Readonly<Record<string, string>> = {}): Promise<Done> {
    const started = performance.now()
    const result = await native.QueryAsyncConnection(session.connection, text, format, params).catch(rethrow)
    return {
      bytes: result.bytes,
      rowsRead: result.rowsRead ?? 0,
      bytesRead: result.bytesRead ?? 0,
      rowsWritten: result.rowsWritten ?? 0,
      bytesWritten: result.bytesWritten ?? 0,
      elapsedMs: performance.now() - started,
    }
  }

  return {
    version,
    exclusive(task) {
      const result = tail.then(task)
      tail = result.catch(() => {})
      return result
    },
    async use(name) {
      if (name === database) return
      await run(`USE \`${name.replaceAll('`', '')}\``, 'Null')
      database = name
    },
    async set(wanted) {
      const unknown = [...wanted.keys()].find((name) => !/^\w+$/.test(name))
      if (unknown !== undefined) throw new EngineError(115, `Unknown setting '${unknown}'. (UNKNOWN_SETTING)`)
      const left = [...settings.keys()].filter((name) => !wanted.has(name))
      const changed = [...wanted].filter(([name, value]) => settings.get(name) !== value)
      const assignments = [
        ...left.map((name) => `${name} = DEFAULT`),
        ...changed.map(([name, value]) => `${name} = '${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
      ]
      if (assignments.length === 0) return
      try {
        await run(`SET ${assignments.join(', ')}`, 'Null')
        settings = wanted
      } catch (error) {
        // One that could not be set cannot be reset either.
        for (const name of [...settings.keys(), ...wanted.keys()])
          await run(`SET ${name} = DEFAULT`, 'Null').catch(() => {})
        settings = new Map()
        throw error
      }
    },
    run,
    async *stream(text, format, params) {
      let stream: unknown
      let done = false
      try {
        stream = native.StreamQuery(session.connection, text, format, params)
        for (;;) {
          const chunk = await native.StreamFetch(stream)
          done = chunk.done
          if (done) break
          yield chunk.bytes
        }
      } catch (error) {
        rethrow(error)
      } finally {
        if (!done && stream !== undefined) {
          native.StreamCancel(stream)
          // The engine lists it as running until its connection has something else to do.
          await run(`SET log_comment = '${RUNNING}'`, 'Null')
        }
      }
    },
    async insert(text, values) {
      const file = resolve(directory, 'front-insert.bytes')
      await writeFile(file, values)
      try {
        return await run(
          text.replace(/(\sSETTINGS [\w ,=]+)?\s+FORMAT\s+\w+\s*$/i, (end) => ` FROM INFILE '${file}'${end}`),
          'Null',
        )
      } finally {
        await rm(file, { force: true })
      }
    },
    async kill(ended) {
      while (!ended.aborted) {
        await watcher.queryAsync(`KILL QUERY WHERE Settings['log_comment'] = '${RUNNING}' ASYNC`).catch(() => {})
        await pause(KILL_AGAIN_MS, ended)
      }
    },
    async look(text, format) {
      return (await native.QueryAsyncConnection(watcher.connection, text, format).catch(rethrow)).bytes
    },
    async close() {
      await tail
      watcher.close()
      session.close()
      await drainPending()
    },
  }
}

function loadNative(): NativeModule {
  const require = createRequire(import.meta.url)
  const requireOfChdb = createRequire(require.resolve('chdb/package.json'))
  return (requireOfChdb('./dist/loader.js') as { loadNative(): NativeModule }).loadNative()
}

function rethrow(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error)
  const [, code, message] = /Code: (\d+)\. DB::Exception: (.*)$/s.exec(text) ?? []
  throw code === undefined ? error : new EngineError(Number(code), message ?? text)
}
