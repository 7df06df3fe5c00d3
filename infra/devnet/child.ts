import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { AppError, type ErrorCode } from '../../schemas/errors.ts'

/** What the devnet's process tells the one that started it. */
export type DevnetMessage =
  | {
      readonly kind: 'ready'
      readonly beaconUrl: string
      readonly executionUrl: string
      /** JSON-RPC of the second chain, when there is one. */
      readonly secondExecutionUrl?: string | undefined
      /** The Keymanager API of its validator client. */
      readonly keymanagerUrl?: string | undefined
      readonly genesisTimeSec: number
    }
  | { readonly kind: 'progress'; readonly slot: number; readonly targetSlot: number }
  /** How far the Ethereum's clock is ahead of this machine's, where that has changed or is not 0. */
  | { readonly kind: 'clock'; readonly aheadSec: number }
  /** The devnet ends because of an AppError. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }

/** Where a devnet listens. */
export interface DevnetUrls {
  readonly beaconUrl: string
  readonly executionUrl: string
  /** JSON-RPC of the second chain, when there is one. */
  readonly secondExecutionUrl: string | undefined
}

export interface DevnetProcess extends DevnetUrls, AsyncDisposable {
  readonly genesisTimeSec: number
  /** The Keymanager API of its validator client; its token is in `tokenFileOf` the devnet's folder. */
  readonly keymanagerUrl: string | undefined
  /** Seconds that the Ethereum's clock is ahead of this machine's: time-lapse has led it there. */
  readonly aheadSec: number
  /** Rejects when the devnet ends without having been asked to. */
  readonly ended: Promise<never>
}

/** A devnet that does not stop by itself in this time is killed: its chain goes on from the newest checkpoint anyway. */
const STOP_TIMEOUT_MS = 5_000

/**
 * Runs `main.ts devnet` as a child process of lower priority, so that history is produced on its own core; resolves when its
 * servers listen. The child ends with us: it watches the channel between the two processes.
 */
export async function openDevnetProcess(options: {
  readonly mainFile: string
  /** Variables that it gets besides those of this process: what options have said. */
  readonly env: Readonly<Record<string, string>>
  readonly onProgress: (slot: number, targetSlot: number) => void
  /** Whole lines of its log. */
  readonly onLogLine: (line: string) => void
}): Promise<DevnetProcess> {
  const child = fork(options.mainFile, ['devnet'], {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true, // the Ctrl-C of a terminal reaches us, and we end it: while it starts, it would say that it failed
  })
  // History that is made faster than the program reads it only keeps the program from reading: its first day is served later.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  // Written to our terminal by itself, it would destroy what we draw there.
  if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => options.onLogLine(`${line}\n`))
  const exited = once(child, 'exit')
  const disconnected = once(child, 'disconnect')
  let stopping = false
  let failure: AppError | undefined
  let aheadSec = 0
  const ended = exited.then(async ([code, signal]) => {
    await disconnected // what it has told last may still be on its way
    if (stopping) return new Promise<never>(() => {})
    if (failure !== undefined) throw failure
    throw new AppError('usage', `The devnet ended by itself (${signal ?? `exit code ${code}`}): what it said is above.`)
  })
  const ready = new Promise<Extract<DevnetMessage, { kind: 'ready' }>>((resolve) => {
    child.on('message', (message) => {
      const told = message as DevnetMessage
      if (told.kind === 'ready') resolve(told)
      else if (told.kind === 'clock') aheadSec = told.aheadSec
      else if (told.kind === 'failed') failure = new AppError(told.code, told.message)
      else options.onProgress(told.slot, told.targetSlot)
    })
  })
  const { beaconUrl, executionUrl, secondExecutionUrl, keymanagerUrl, genesisTimeSec } = await Promise.race([
    ready,
    ended,
  ])
  return {
    beaconUrl,
    executionUrl,
    secondExecutionUrl,
    keymanagerUrl,
    genesisTimeSec,
    get aheadSec() {
      return aheadSec
    },
    ended,
    async [Symbol.asyncDispose]() {
      stopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      child.kill('SIGTERM')
      await exited
      clearTimeout(kill)
    },
  }
}
