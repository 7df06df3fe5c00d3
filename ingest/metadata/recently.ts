/** Tables follow the log within seconds: after so long they have what was told. */
const STANDS_MS = 60_000
const MEMBERS_MAX = 100_000

/** What was read a moment ago and tables may not have yet: it is not read again for that. */
export class Recently {
  readonly #now: () => number
  /** The oldest one first. */
  readonly #readMs = new Map<string, number>()

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  add(what: string): void {
    this.#readMs.delete(what)
    this.#readMs.set(what, this.#now())
    for (const [oldest, atMs] of this.#readMs) {
      if (this.#readMs.size <= MEMBERS_MAX && atMs > this.#now() - STANDS_MS) break
      this.#readMs.delete(oldest)
    }
  }

  has(what: string): boolean {
    return (this.#readMs.get(what) ?? Number.NEGATIVE_INFINITY) > this.#now() - STANDS_MS
  }
}
