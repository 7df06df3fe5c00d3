/** Does one piece of work after the other, in the order in which they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves or rejects as the work does; the next one has its turn in any case. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work, work)
    this.#last = done
    return done
  }
}
