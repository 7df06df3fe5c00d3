import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import type { FromVault, ToVault, VaultMethods, VaultOptions } from './messages.ts'

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

interface Waiting {
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
  #asked = 0

  private constructor() {
    const { NODE_OPTIONS: _, ...env } = process.env
    this.#child = fork(VAULT_PROCESS, [], {
      execPath: '/bin/sh',
      execArgv: ['-c', WITHOUT_CORE_DUMP, process.execPath, ...NODE_FLAGS],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
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
    const connection = new VaultConnection()
    try {
      await connection.ask('open', options)
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Throws AppError: what the vault says, or `key_vault`, retryable, when its process ends before it has answered. */
  ask<Method extends keyof VaultMethods>(
    method: Method,
    ...args: Parameters<VaultMethods[Method]>
  ): Promise<Awaited<ReturnType<VaultMethods[Method]>>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const id = this.#asked++
    const { promise: answer, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { answer, resolve, reject })
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

  #end(reason: string): void {
    this.#ended ??= new AppError(
      'key_vault',
      `The key vault did not answer: ${reason}. Asked again, it is started again.`,
      {
        retryable: true,
      },
    )
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
    this.#waiting.clear()
  }
}
