import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort, type MissingServer, type StopChild, startChild, type TestServer } from './child-server.ts'
import { runCommand } from './command.ts'

const READY_TIMEOUT_MS = 15_000

export interface RedisServer extends TestServer {
  readonly stop: StopChild
}

/**
 * A private Redis on the loopback, nothing kept on disk unless `isDurable`: then one that is started later at the port and in the directory goes on
 * with what it had, killed or not. `install` fetches Debian's package when there is no redis-server
 * (needs root).
 */
export async function startRedis(options: {
  readonly directory: string
  readonly install: boolean
  readonly isDurable?: boolean
  readonly port?: number
}): Promise<RedisServer | MissingServer> {
  let version = await runCommand('redis-server', ['--version'])
  if (version.status === 'not installed' && options.install) {
    const failure = await installPackage('redis-server')
    if (failure !== undefined) return { missing: failure }
    version = await runCommand('redis-server', ['--version'])
  }
  if (version.status === 'not installed') {
    return { missing: 'no redis-server here (apt-get install redis-server, or --install)' }
  }
  if (version.status === 'failed') return { missing: `redis-server does not run: ${version.output.trim()}` }
  const { isDurable = false, port = await freePort() } = options
  const stop = await startChild({
    command: 'redis-server',
    // BullMQ asks for noeviction: a job that is evicted is a job that is lost.
    args: ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', isDurable ? 'yes' : 'no']
      .concat(['--maxmemory-policy', 'noeviction'])
      .concat(['--dir', options.directory]),
    logFile: join(options.directory, 'redis.log'),
    readyTimeoutMs: READY_TIMEOUT_MS,
    ready: () => answersPing(port),
  })
  return {
    address: `redis://127.0.0.1:${port}`,
    what: `local redis-server ${/v=(\S+)/.exec(version.output)?.[1] ?? ''}`,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Returns what went wrong, if anything. */
async function installPackage(name: string): Promise<string | undefined> {
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', name]]) {
    const result = await runCommand('apt-get', args)
    if (result.status === 'not installed') return `no ${name} here, and no apt-get to install it`
    if (result.status === 'failed') {
      return `apt-get ${args.join(' ')} failed: ${result.output.trim().split('\n').at(-1)}`
    }
  }
  return undefined
}

async function answersPing(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write('PING\r\n')
    const [answer] = await once(socket, 'data')
    return String(answer).startsWith('+PONG')
  } catch {
    return false // refused: it does not listen yet
  } finally {
    socket.destroy()
  }
}
