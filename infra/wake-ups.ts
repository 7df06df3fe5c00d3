import { pause } from '../schemas/wait.ts'

/** Wakes those who wait for a change of something, by its name. Changes by other processes need a time limit beside it. */
export class WakeUps {
  readonly #sleepers = new Map<string, Set<() => void>>()

  wake(name: string): void {
    for (const wake of this.#sleepers.get(name) ?? []) wake()
  }

  /** Resolves at the next `wake` of the name, after `timeoutMs`, or when the signal aborts. */
  async wait(name: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const woken = new AbortController()
    const wake = () => woken.abort()
    const sleepers = this.#sleepers.get(name) ?? new Set()
    this.#sleepers.set(name, sleepers.add(wake))
    signal.addEventListener('abort', wake)
    try {
      await pause(timeoutMs, woken.signal)
    } finally {
      signal.removeEventListener('abort', wake)
      sleepers.delete(wake)
      if (sleepers.size === 0 && this.#sleepers.get(name) === sleepers) this.#sleepers.delete(name)
    }
  }
}
