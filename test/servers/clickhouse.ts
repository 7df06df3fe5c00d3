import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, startChild, type TestServer } from './child-server.ts'

const FRONT_FILE = join(import.meta.dirname, 'clickhouse-front.ts')
const READY_TIMEOUT_MS = 60_000

/**
 * ClickHouse over HTTP: a small front over the in-process engine (see clickhouse-front.ts). Debian's clickhouse-server is
 * 18.16, which lacks most of the SQL that we use; a real server can be given by EPOCHLINE_TEST_CLICKHOUSE.
 */
export async function startClickhouse(options: { readonly directory: string }): Promise<TestServer> {
  const port = await freePort()
  const data = join(options.directory, 'clickhouse-data')
  await mkdir(data, { recursive: true })
  const logFile = join(options.directory, 'clickhouse.log')
  const stop = await startChild({
    command: process.execPath,
    args: [FRONT_FILE, '--port', String(port), '--directory', data],
    logFile,
    readyTimeoutMs: READY_TIMEOUT_MS,
    ready: async () => (await readFile(logFile, 'utf8')).includes('listening '),
  })
  return {
    address: `http://127.0.0.1:${port}`,
    what: 'HTTP front over the in-process engine',
    [Symbol.asyncDispose]: stop,
  }
}
