import { pauseUnlessWoken } from '../schemas/wait.ts'

/** Lets a loop sleep until something happens; a wake while nobody sleeps is kept for the next sleep. */
export class Waker {
  #isWoken = false
  #end: (() => void) | undefined

  readonly wake = (): void => {
    this.#isWoken = true
    this.#end?.()
  }

  /** Resolves at a wake, after the time, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken) {
      await pauseUnlessWoken(ms, signal, (end) => {
        this.#end = end
      })
    }
    this.#end = undefined
    this.#isWoken = false
  }
}
