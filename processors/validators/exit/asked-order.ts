import type { ExitStanding } from './exit-book.ts'

/** Requests whose order is remembered; those before them nobody waits for any more. */
const REMEMBERED_MAX = 100_000

/**
 * When what is done about each validator's exit was asked. A job that has failed is done again later, and jobs come in no promised order:
 * who was told that his exit is cancelled must not see it requested by a request of before, nor the other way round.
 */
export class AskedOrder {
  readonly #sinceMs: number
  /** When it was asked, by chain and public key: Unix milliseconds on the machine of who has asked. */
  readonly #newest = new Map<string, number>()

  /** `sinceMs`: since when this process does what is asked, Unix milliseconds on its machine. The log does not tell when what was done before that was asked. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs
  }

  /** Whether what was asked then, and would change the standing, is or may be older than what the standing comes from. */
  isOvertaken(name: string, askedAtMs: number, standing: ExitStanding): boolean {
    const before = standing === undefined || standing.status === 'ended' ? 0 : this.#sinceMs
    return askedAtMs < (this.#newest.get(name) ?? before)
  }

  note(names: readonly string[], askedAtMs: number): void {
    for (const name of names) {
      const newest = Math.max(askedAtMs, this.#newest.get(name) ?? 0)
      this.#newest.delete(name) // the last to be asked about is the last to be forgotten
      this.#newest.set(name, newest)
    }
    for (const oldest of this.#newest.keys()) {
      if (this.#newest.size <= REMEMBERED_MAX) return
      this.#newest.delete(oldest)
    }
  }
}
