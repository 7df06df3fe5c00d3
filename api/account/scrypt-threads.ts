import type { ScryptOptions } from 'node:crypto'
import { Worker } from 'node:worker_threads'

export interface ScryptStart {
  /** Of what is derived. */
  readonly bytes: number
  readonly options: ScryptOptions
}

export interface ScryptAsked {
  readonly password: string
  readonly salt: Uint8Array
}

/** Threads that derive by scrypt, as many as were asked at a time. What else runs here goes before them, and they keep no program from its end. */
export class ScryptThreads {
  readonly #start: ScryptStart
  readonly #idle: Worker[] = []

  constructor(start: ScryptStart) {
    this.#start = start
  }

  derive(password: string, salt: Uint8Array): Promise<Uint8Array> {
    const thread =
      this.#idle.pop() ?? new Worker(new URL('./scrypt-thread.ts', import.meta.url), { workerData: this.#start })
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    thread.ref()
    thread.once('error', reject)
    thread.once('message', (derived: Uint8Array) => {
      thread.off('error', reject)
      thread.unref()
      this.#idle.push(thread)
      resolve(derived)
    })
    const asked: ScryptAsked = { password, salt }
    thread.postMessage(asked)
    return promise
  }
}
