import { Worker } from 'node:worker_threads'
import { AppError } from '../../schemas/errors.ts'
import { parseNodeUrl } from '../nodes/nodes.ts'
import { errorOf, type ThreadAnswer } from '../nodes/thread-answers.ts'
import type { ExecutionSource } from '../ports/execution-source.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import { type ExecutionSourceOptions, executionNodeName } from './source-options.ts'
import type { Question, ThreadStart, ToThread } from './thread-messages.ts'

/**
 * As `openExecutionSource`, in a thread of its own: a block is a megabyte of JSON, of which a thousand hashes are taken, and whoever else
 * lives in this process has the other core.
 */
export async function openThreadedExecutionSource(options: ExecutionSourceOptions): Promise<ExecutionSource> {
  for (const [i, url] of options.urls.entries()) parseNodeUrl(executionNodeName(i), url)
  return new ThreadedExecutionSource(options)
}

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

class ThreadedExecutionSource implements ExecutionSource {
  readonly #thread: Worker
  readonly #exited: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  #status: readonly NodeStatus[]
  #chainId: Promise<number> | undefined
  /** Why nobody answers any more. */
  #ended: { readonly reason: unknown } | undefined
  #asked = 0

  constructor({ log, onStatus: _, ...start }: ExecutionSourceOptions) {
    this.#status = start.urls.map((__, i) => ({ name: executionNodeName(i), state: 'unknown' }))
    const workerData: ThreadStart = start
    this.#thread = new Worker(new URL('./source-thread.ts', import.meta.url), { workerData })
    this.#thread.on('message', (message: ThreadAnswer) => {
      if (message.kind === 'log') log[message.level](message.fields, message.message)
      else this.#hear(message)
    })
    this.#exited = new Promise((resolve) => this.#thread.once('exit', () => resolve()))
    this.#thread.on('error', (error) => this.#end(error))
    this.#thread.on('exit', () => this.#end(closed()))
  }

  readonly head = () => this.#ask('head')
  readonly finalized = () => this.#ask('finalized')
  readonly blockByNumber = (number: number) => this.#ask('blockByNumber', number)
  readonly blockByHash = (hash: string) => this.#ask('blockByHash', hash)
  readonly balanceChanges: ExecutionSource['balanceChanges'] = (addresses, block) =>
    this.#ask('balanceChanges', addresses, block)

  /** Asked at the first use, then remembered. */
  chainId(): Promise<number> {
    this.#chainId ??= this.#ask('chainId').catch((error: unknown) => {
      this.#chainId = undefined
      throw error
    })
    return this.#chainId
  }

  status(): readonly NodeStatus[] {
    return this.#status
  }

  /** Ends the questions that are being asked. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(closed())
    this.#tell({ kind: 'close' })
    await this.#exited
  }

  #ask<Name extends Question>(question: Name, ...args: readonly unknown[]): ReturnType<ExecutionSource[Name]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended.reason) as ReturnType<ExecutionSource[Name]>
    const id = this.#asked++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject })
    this.#tell({ kind: 'ask', id, question, args })
    return promise as ReturnType<ExecutionSource[Name]>
  }

  #tell(message: ToThread): void {
    this.#thread.postMessage(message)
  }

  #hear(message: Exclude<ThreadAnswer, { readonly kind: 'log' }>): void {
    if (message.kind === 'status') {
      this.#status = message.status
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.kind === 'answer') waiting?.resolve(message.value as never)
    else waiting?.reject(errorOf(message))
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason }
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }
}

function closed(): AppError {
  return new AppError('usage', 'The execution source is closed.')
}
