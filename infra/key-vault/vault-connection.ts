import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import type { FromVault, RestoreOptions, ToVault, VaultMethods, VaultOptions } from './messages.ts'
import type { RestoreOutcome } from './restore-vault.ts'

const VAULT_PROCESS = join(import.meta.dirname, 'vault-process.ts')

/**
 * Starts Node so that it leaves no core dump. A limit of 0 keeps it from being written to a file; where the kernel pipes dumps to a
 * program, it looks at no limit but 1, which keeps it from both (core(5); fs/coredump.c).
 */
const WITHOUT_CORE_DUMP = 'prlimit --pid $$ --core=1:1 2>/dev/null || ulimit -c 0 || exit; exec "$0" "$@"'
/** Nobody looks into it by an inspector, whatever was asked of this process; signal USR1 would open one. */
const NODE_FLAGS = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning']

/** A process that does not answer and end in this time is killed: all that it has answered is on the disk. */
const STOP_TIMEOUT_MS = 5_000

/** Of a call: a hundred keys are made in a fifth of a second, and on a machine with other work in some seconds. */
const CALL_TIMEOUT_MS = 20_000
/** Of calls that wait for the folder, for Web3Signer or a validator client, may run the command for the key, or derive keys from passwords. */
const LONG_CALL_TIMEOUT_MS = 90_000
/** Of calls that write all of the file. */
const WHOLE_FILE_TIMEOUT_MS = 300_000
/** Of the call that opens every key, at a millisecond or two each. */
const EVERY_KEY_TIMEOUT_MS = 3_600_000
const TIMEOUTS_MS: Readonly<Partial<Record<keyof VaultMethods, number>>> = {
  open: LONG_CALL_TIMEOUT_MS,
  restore: EVERY_KEY_TIMEOUT_MS,
  backup: WHOLE_FILE_TIMEOUT_MS,
  commit: LONG_CALL_TIMEOUT_MS,
  signExits: LONG_CALL_TIMEOUT_MS,
  presignExits: LONG_CALL_TIMEOUT_MS,
  exportKeys: LONG_CALL_TIMEOUT_MS,
  giveKeys: LONG_CALL_TIMEOUT_MS,
  importKeys: LONG_CALL_TIMEOUT_MS,
}

interface Waiting {
  readonly timer: NodeJS.Timeout
  readonly answer: Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** One process of a vault, from its start to its end. */
export class VaultConnection {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  /** Why nobody answers any more. */
  #ended: AppError | undefined
  readonly #callTimeoutMs: number
  #asked = 0

  private constructor(callTimeoutMs = CALL_TIMEOUT_MS) {
    this.#callTimeoutMs = callTimeoutMs
    const { NODE_OPTIONS: _, ...env } = process.env
    this.#child = fork(VAULT_PROCESS, [], {
      execPath: '/bin/sh',
      execArgv: ['-c', WITHOUT_CORE_DUMP, process.execPath, ...NODE_FLAGS],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A group of its own: the Ctrl-C of a terminal would end it while it starts, before it can say that it goes on.
      detached: true,
    })
    this.#child.on('message', (message) => this.#hear(message as FromVault))
    // What it has told last arrives before this, and comes of a process that is killed as of one that ends.
    this.#child.on('disconnect', () => this.#end('its process has ended'))
    this.#exited = new Promise((resolve) => {
      this.#child.on('exit', () => resolve())
      this.#child.on('error', (error) => {
        this.#end(error.message)
        resolve()
      })
    })
  }

  /** Starts a process and opens the vault in it. Throws what `open` throws; then no process is left. */
  static async open(options: VaultOptions): Promise<VaultConnection> {
    const connection = new VaultConnection(options.callTimeoutMs)
    try {
      await connection.ask('open', options)
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Restores a vault in a process of its own, which ends with it. Throws AppError `usage` or `key_vault`. */
  static async restore(options: RestoreOptions): Promise<RestoreOutcome> {
    const connection = new VaultConnection()
    try {
      return await connection.ask('restore', options)
    } finally {
      await connection.close()
    }
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /**
   * Throws AppError: what the vault says, or `key_vault`, retryable, when its process ends before it has answered, or does not answer in
   * its time, for which it is killed: what it was doing may be done.
   */
  ask<Method extends keyof VaultMethods>(
    method: Method,
    ...args: Parameters<VaultMethods[Method]>
  ): Promise<Awaited<ReturnType<VaultMethods[Method]>>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const id = this.#asked++
    const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>()
    const timeoutMs = TIMEOUTS_MS[method] ?? this.#callTimeoutMs
    const timer = setTimeout(() => this.#kill(timeoutMs), timeoutMs)
    this.#waiting.set(id, { answer, resolve, reject, timer })
    const message: ToVault = { id, method, args }
    // A failure to send is that of a process that ends, and the end rejects all that wait.
    this.#child.send(message, () => {})
    return answer as Promise<Awaited<ReturnType<VaultMethods[Method]>>>
  }

  /**
   * Waits for what was asked, then ends the vault's process, which follows its channel. Returns when it has ended, so that another one
   * may have its folder.
   */
  async close(): Promise<void> {
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await Promise.allSettled([...this.#waiting.values()].map(({ answer }) => answer))
    if (this.#child.connected) this.#child.disconnect()
    await this.#exited
    clearTimeout(kill)
  }

  #hear(message: FromVault): void {
    const waiting = this.#waiting.get(message.id)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(message.id)
    switch (message.kind) {
      case 'answer':
        waiting?.resolve(message.value)
        return
      case 'fault':
        waiting?.reject(new AppError(message.code, message.message, { retryable: message.retryable }))
        return
      case 'defect':
        waiting?.reject(new Error(`the key vault has failed: ${message.trace}`))
    }
  }

  /** A process that was stopped, or waits for a disk that does not come back. */
  #kill(timeoutMs: number): void {
    this.#end(`it took longer than ${timeoutMs / 1_000} s`)
    this.#child.kill('SIGKILL')
  }

  #end(reason: string): void {
    this.#ended ??= new AppError(
      'key_vault',
      `The key vault did not answer: ${reason}. Asked again, it is started again.`,
      {
        retryable: true,
      },
    )
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(this.#ended)
    }
    this.#waiting.clear()
  }
}
