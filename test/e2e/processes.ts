import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { readConfig } from '../../infra/config/config.ts'
import { copyEmptyTables } from '../empty-warehouse.ts'
import type { Command, Periods, Reply } from './devnet-process.ts'

/** How package.json's script starts the program: options of Node, and variables of what runs beneath it (decisions 61 and 66). */
const START = startOf(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
const MAIN = join(import.meta.dirname, '../../main.ts')
const STOP_TIMEOUT_MS = 20_000
/** Whether the program is ready costs it tens of milliseconds of a core, and most waiting is for seconds or minutes of history. */
const POLL_MS = 500
/** A moment to kill at must not pass unseen. */
export const MOMENT_POLL_MS = 200
/**
 * Longest wait for one step of a test, for what hangs: nothing is measured by it, and steps of seconds have taken a minute where two
 * suites shared a slow machine.
 */
export const STEP_TIMEOUT_MS = 300_000
/** Of one that may hang. */
const READY_ANSWER_MS = 20_000
/** Characters: what it ended of is in its last lines. */
const LAST_WORDS = 4_000

export interface DevnetChild extends AsyncDisposable {
  readonly beaconUrl: string
  readonly executionUrl: string
  /** The chain beside the Ethereum, without a beacon chain. */
  readonly secondExecutionUrl: string
  /** The Keymanager API of its validator client, and what opens it. */
  readonly keymanager: { readonly url: string; readonly token: string }
  advanceTo(slot: number): Promise<void>
  advanceSecondTo(number: number): Promise<void>
  /** The next block of the second chain takes the place of its newest ones. */
  orphanSecond(depth: number): Promise<void>
}

/** The devnet of the e2e suites, in a process of its own. */
export async function startDevnetChild(periods: Periods = {}): Promise<DevnetChild> {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = fork(join(import.meta.dirname, 'devnet-process.ts'), [JSON.stringify(periods)], { stdio: [...stdio] })
  const waiting = new Map<number, () => void>()
  const ready = Promise.withResolvers<Extract<Reply, { kind: 'ready' }>>()
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the devnet's process ended with ${code}`)
  })
  ended.catch(() => undefined) // whoever waits for an answer hears of it
  child.on('message', (message) => {
    const told = message as Reply
    if (told.kind === 'ready') ready.resolve(told)
    else waiting.get(told.id)?.()
  })
  let commands = 0
  const command = async (message: DistributiveOmit<Command, 'id'>): Promise<void> => {
    const id = commands++
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(id, resolve)
    child.send({ ...message, id })
    await Promise.race([promise, ended])
    waiting.delete(id)
  }
  const { beaconUrl, executionUrl, secondExecutionUrl, keymanager } = await Promise.race([ready.promise, ended])
  return {
    beaconUrl,
    executionUrl,
    secondExecutionUrl,
    keymanager,
    advanceTo: (slot) => command({ kind: 'advanceTo', slot }),
    advanceSecondTo: (number) => command({ kind: 'advanceSecondTo', number }),
    orphanSecond: (depth) => command({ kind: 'orphanSecond', depth }),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        child.disconnect()
        await once(child, 'exit')
      }
    },
  }
}

type DistributiveOmit<Union, Name extends PropertyKey> = Union extends unknown ? Omit<Union, Name> : never

export type Environment = Readonly<Record<string, string>>

/** The devnet of such a program listens wherever nobody else does. */
export const FREE_DEVNET_PORTS: Environment = {
  DEVNET_BEACON_PORT: '0',
  DEVNET_EXECUTION_PORT: '0',
  DEVNET_SECOND_PORT: '0',
  DEVNET_METADATA_PORT: '0',
  DEVNET_VALIDATOR_PORT: '0',
}

function startOf(packageJson: string): { readonly options: readonly string[]; readonly variables: Environment } {
  const { scripts } = JSON.parse(packageJson) as { readonly scripts: { readonly epochline: string } }
  const words = scripts.epochline.split(' ')
  const variables = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=') as [string, string])
  return { options: words.filter((word) => word.startsWith('--')), variables: Object.fromEntries(variables) }
}

/** Runs one command of the program to its end. */
export async function runCommand(
  args: readonly string[],
  env: Environment,
  input = '',
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [...START.options, MAIN, ...args], {
    env: { ...cleanEnvironment(), ...START.variables, ...env },
  })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number, stdout, stderr }
}

export interface Running extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** Resolves when it has ended: with the signal that has ended it, or null. */
  readonly exited: Promise<NodeJS.Signals | null>
  /** All that it has printed so far. */
  output(): string
  /** Asks its API; where it has ended of itself, the error has what it said last. */
  ask(path: string, init?: RequestInit): Promise<Response>
  /** SIGTERM, as Ctrl-C would: resolves with the exit code, -1 where it had to be killed after `timeoutMs`. */
  stop(timeoutMs?: number): Promise<number>
  /** SIGKILL: nothing is cleaned up. */
  kill(): Promise<void>
  /** SIGSTOP puts it to sleep, SIGCONT wakes it. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
}

/** Starts the program with its API on a free port; resolves when it has announced itself, if it does. */
export async function startProgram(
  args: readonly string[],
  env: Environment,
  { announces = true, makesTables = false }: { readonly announces?: boolean; readonly makesTables?: boolean } = {},
): Promise<Running> {
  if (!makesTables) await giveTables(args, env)
  const port = await freePort()
  const child = spawn(process.execPath, [...START.options, MAIN, ...args], {
    env: { ...cleanEnvironment(), ...START.variables, ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const announced = new Promise<void>((resolve) => {
    const onData = (data: Buffer): void => {
      output += data.toString()
      if (output.includes('Readiness')) resolve()
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
  })
  const exited = once(child, 'exit')
  if (announces)
    await Promise.race([
      announced,
      exited.then(([code]) => {
        throw new Error(`the program ended with ${code} before it was ready:\n${output}`)
      }),
    ])
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    pid: child.pid ?? 0,
    exited: exited.then(([, signal]) => signal),
    output: () => output,
    async ask(path, init) {
      try {
        return await fetch(`${url}${path}`, init)
      } catch (error) {
        if (child.exitCode === null && child.signalCode === null) throw error
        const how = child.exitCode ?? child.signalCode
        throw new Error(`the program has ended with ${how}: ${output.slice(-LAST_WORDS)}`, { cause: error })
      }
    },
    stop: (timeoutMs) => end(child, 'SIGTERM', exited, timeoutMs),
    async kill() {
      await end(child, 'SIGKILL', exited)
    },
    signal(signal) {
      child.kill(signal)
    },
    async [Symbol.asyncDispose]() {
      await end(child, 'SIGKILL', exited)
    },
  }
}

const OPEN_TABLES: ReadonlySet<string> = new Set(['all', 'process', 'api'])

/** To make them takes the program two seconds of a core: that it does so at a first start the terminal's suite shows, which starts it another way. */
async function giveTables([role = '']: readonly string[], env: Environment): Promise<void> {
  const { mode } = readConfig(env)
  if (mode.kind === 'embedded' && OPEN_TABLES.has(role)) await copyEmptyTables(mode.warehouseDirectory)
}

async function end(
  child: ChildProcess,
  signal: NodeJS.Signals,
  exited: Promise<unknown[]>,
  timeoutMs = STOP_TIMEOUT_MS,
): Promise<number> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal)
    const timeout = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    await exited
    clearTimeout(timeout)
  }
  return child.exitCode ?? -1
}

/** The machine's environment without settings that would reach the program. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, LOG_LEVEL: 'warn' }
}

/** A port at which nobody listened just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  server.close()
  await once(server, 'close')
  return address.port
}

/** Asks again until the answer is there, at most `timeoutMs`. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer | undefined>,
  timeoutMs = STEP_TIMEOUT_MS,
  everyMs = POLL_MS,
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

/** Adds to what was waited for in vain what the program says of itself. */
export async function withLastWords<Answer>(program: Running, waiting: Promise<Answer>): Promise<Answer> {
  try {
    return await waiting
  } catch (error) {
    const signal = AbortSignal.timeout(READY_ANSWER_MS)
    const ready = await program.ask('/ready', { signal }).then((answer) => answer.text(), String)
    throw new Error(`${String(error)}\n${ready}\n${program.output().slice(-LAST_WORDS)}`, { cause: error })
  }
}

/** Runs a role until the condition holds, then kills it without warning. */
export async function killWhile(
  args: readonly string[],
  env: Environment,
  until: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  await using role = await startProgram(args, env, { announces: false })
  await eventually(
    `the moment to kill ${args.join(' ')}`,
    async () => ((await until()) ? true : undefined),
    timeoutMs,
    MOMENT_POLL_MS,
  ).catch((error: unknown) => {
    throw new Error(role.output(), { cause: error })
  })
  await role.kill()
}
