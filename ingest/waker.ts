import { pause } from '../schemas/wait.ts'

/** Lets a loop sleep until something happens; a wake while nobody sleeps is kept for the next sleep. */
export class Waker {
  #sleep = new AbortController()

  readonly wake = (): void => this.#sleep.abort()

  /** Resolves at a wake, after the time, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, AbortSignal.any([signal, this.#sleep.signal]))
    this.#sleep = new AbortController()
  }
}
