interface Asked<Item> {
  readonly item: Item
  readonly done: PromiseWithResolvers<void>
}

/** Does at once what is asked for while it is busy: of what costs about as much for many as for one. */
export class Gathering<Item> {
  readonly #work: (items: readonly Item[]) => Promise<void>
  readonly #waiting: Asked<Item>[] = []
  #isBusy = false

  /** Of `work` that fails for several each is tried by itself: nobody suffers from what is wrong with another. */
  constructor(work: (items: readonly Item[]) => Promise<void>) {
    this.#work = work
  }

  /** Resolves, or rejects, with the work that began after this call. */
  async do(item: Item): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#waiting.push({ item, done })
    if (!this.#isBusy) void this.#doAll()
    return await done.promise
  }

  async #doAll(): Promise<void> {
    this.#isBusy = true
    // Who asks in the same breath is taken along.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#doTogether(this.#waiting.splice(0))
    this.#isBusy = false
  }

  async #doTogether(asked: readonly Asked<Item>[]): Promise<void> {
    try {
      await this.#work(asked.map(({ item }) => item))
      for (const { done } of asked) done.resolve()
    } catch (error) {
      const [first] = asked
      if (asked.length === 1) first?.done.reject(error)
      else for (const one of asked) await this.#doTogether([one])
    }
  }
}
