import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Ends the child, by SIGTERM unless told, and resolves when it has exited. */
export type StopChild = (signal?: 'SIGTERM' | 'SIGKILL') => Promise<void>

const STOP_GRACE_MS = 15_000
const READY_POLL_MS = 100
const LOG_TAIL_LINES = 15

/** A server for the tests; disposing of it stops what was started and nothing else. */
export interface TestServer extends AsyncDisposable {
  /** What the tests get: host:port or a URL. */
  readonly address: string
  /** One line for the reader of the run: what it is and where it came from. */
  readonly what: string
}

/** Why there is no such server here. */
export interface MissingServer {
  readonly missing: string
}

export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  readonly readyTimeoutMs: number
  /** Asked again and again until it answers true; must not throw while the server is still starting. */
  ready(): Promise<boolean>
}

/**
 * Starts a child process with its output in `logFile` and waits until it is ready. Returns a function that stops it by its
 * pid. Throws, with the end of the log, when it exits early or does not get ready in time.
 */
export async function startChild(options: ChildOptions): Promise<StopChild> {
  const log = openSync(options.logFile, 'a')
  const child = spawn(options.command, options.args, {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
  })
  closeSync(log)
  const exited = once(child, 'exit') // rejects when the command cannot be run at all
  const stop: StopChild = (signal = 'SIGTERM') => stopChild(child, exited, signal)
  try {
    await untilReady(child, exited, options)
    return stop
  } catch (error) {
    await stop().catch(() => undefined) // the first failure is the one to report
    const tail = (await readFile(options.logFile, 'utf8')).trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n')
    throw new Error(`${options.command} did not start; the end of its log:\n${tail}`, { cause: error })
  }
}

async function untilReady(child: ChildProcess, exited: Promise<unknown>, options: ChildOptions): Promise<void> {
  const deadline = Date.now() + options.readyTimeoutMs
  const gone = exited.then(() => 'gone')
  while (Date.now() < deadline) {
    if (await Promise.race([options.ready(), gone.then(() => false)])) return
    if ((await Promise.race([gone, delay(READY_POLL_MS)])) === 'gone') throw new Error(`exit code ${child.exitCode}`)
  }
  throw new Error(`not ready after ${options.readyTimeoutMs} ms`)
}

async function stopChild(child: ChildProcess, exited: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal)
    const killing = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
    await exited
    clearTimeout(killing)
  }
}

/** A port of the loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('the listener has no port')
  return address.port
}
