/** Work that is done one after the other, in the order of asking. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work)
    // What fails is its asker's; the next one has its turn all the same.
    this.#last = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }
}
