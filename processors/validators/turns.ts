/** Work that is done one after the other, in the order of asking: of each name by itself. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work)
    // What fails is its asker's; the next one has its turn all the same.
    const settled = done.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(name, settled)
    return done
  }
}
