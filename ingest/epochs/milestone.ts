/** A number that only grows, and whose values can be waited for. */
export class Milestone {
  #reached: number
  readonly #waiting = new Map<() => void, number>()

  constructor(reached: number) {
    this.#reached = reached
  }

  reach(value: number): void {
    this.#reached = Math.max(this.#reached, value)
    for (const [go, wanted] of this.#waiting) {
      if (wanted > this.#reached) continue
      this.#waiting.delete(go)
      go()
    }
  }

  /** Resolves when it is as great as the value. */
  async reached(value: number): Promise<void> {
    if (value > this.#reached) await new Promise<void>((resolve) => this.#waiting.set(resolve, value))
  }
}
