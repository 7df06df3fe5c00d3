import { pauseUnlessWoken } from '../schemas/wait.ts'

/** Wakes those who wait for a change of something, by its name. Changes by other processes need a time limit beside it. */
export class WakeUps {
  readonly #sleepers = new Map<string, Set<() => void>>()

  wake(name: string): void {
    for (const wake of this.#sleepers.get(name) ?? []) wake()
  }

  /** Resolves at the next `wake` of the name, after `timeoutMs`, or when the signal aborts. */
  async wait(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const sleepers = this.#sleepers.get(name) ?? new Set()
    let sleeper: (() => void) | undefined
    await pauseUnlessWoken(timeoutMs, signal, (wake) => {
      sleeper = wake
      this.#sleepers.set(name, sleepers.add(wake))
    })
    if (sleeper !== undefined) sleepers.delete(sleeper)
    if (sleepers.size === 0 && this.#sleepers.get(name) === sleepers) this.#sleepers.delete(name)
  }
}
