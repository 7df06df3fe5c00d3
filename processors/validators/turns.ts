/** Work that is done one after the other, in the order of asking: of each name by itself. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Of which something is done or waits. */
  get names(): number {
    return this.#last.size
  }

  take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work)
    // What fails is its asker's; the next one has its turn all the same.
    const settled = done.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(name, settled)
    // Of who waits for nobody nothing is kept: names may be of accounts.
    void settled.then(() => {
      if (this.#last.get(name) === settled) this.#last.delete(name)
    })
    return done
  }
}
