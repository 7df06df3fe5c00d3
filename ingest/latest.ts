export interface LatestOptions<Value> {
  readonly ask: () => Promise<Value>
  /** Unix milliseconds from which a value is asked for again. `announced`: it came by itself, and so may the next one. */
  readonly freshUntilMs: (since: { readonly sinceMs: number; readonly announced: boolean }) => number
  /** How far a value is. A stream that announces nothing further than before counts as silent, however much it talks. */
  readonly heightOf: (value: Value) => number
  /** Unix milliseconds. */
  readonly now: () => number
}

/** A value that changes: announced by a node's event stream, asked for where the stream is silent. */
export class Latest<Value> {
  readonly #options: LatestOptions<Value>
  #value: Value | undefined
  #freshUntilMs = 0
  #highest = Number.NEGATIVE_INFINITY
  #changes = 0
  #asking: Promise<Value> | undefined

  constructor(options: LatestOptions<Value>) {
    this.#options = options
  }

  /** The stream has announced a new value. */
  update(value: Value): void {
    this.#set(value, true)
  }

  /** Something may have happened that was not announced. */
  invalidate(): void {
    this.#changes++
    this.#value = undefined
    this.#highest = Number.NEGATIVE_INFINITY
  }

  /** The value that was announced or answered last, while it is fresh; otherwise asks. */
  async get(): Promise<Value> {
    if (this.#value !== undefined && this.freshForMs > 0) return this.#value
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<Value> {
    const changes = this.#changes
    const answer = await this.#options.ask()
    // News that came meanwhile are newer than the answer, and after a gap that came meanwhile it may be old.
    if (changes === this.#changes) this.#set(answer, false)
    return this.#value ?? answer
  }

  /** Milliseconds for which the value need not be asked for. */
  get freshForMs(): number {
    return this.#value === undefined ? 0 : Math.max(0, this.#freshUntilMs - this.#options.now())
  }

  #set(value: Value, announced: boolean): void {
    this.#changes++
    this.#value = value
    const { heightOf, freshUntilMs, now } = this.#options
    const height = heightOf(value)
    if (!announced || height > this.#highest) this.#freshUntilMs = freshUntilMs({ sinceMs: now(), announced })
    this.#highest = Math.max(this.#highest, height)
  }
}
