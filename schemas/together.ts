/** As streams of Node hold back what is written. */
export interface Held {
  cork(): void
  uncork(): void
}

/**
 * Lets what is written to a stream in one turn leave in one piece: for each piece the system is called, which takes longer than all
 * else that is done for a small message.
 */
export class Together {
  readonly #stream: Held
  #isHeld = false

  constructor(stream: Held) {
    this.#stream = stream
  }

  /** To be called before something is written. */
  hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#stream.cork()
    process.nextTick(() => {
      this.#isHeld = false
      this.#stream.uncork()
    })
  }
}
